//! The paper's scores of the measured cells, and how far the measured ones are from them.

use tinygram_naglemark::hosts::{Model, PaperHosts};
use tinygram_naglemark::{Cell, Lengths, Measured, MediumKind, Outcome, Plan, TrialType};
use tinygram_papers::mogul::published::{APP_BUFFERS, SOCKET_BUFFERS, Table};
use tinygram_papers::mogul::tables::{Entry, Miss, VARIANTS, entries, mean_distance, misses};
use tinygram_report::units::size;

use super::args::Args;
use super::plan::PAPER_REPETITIONS;

/// Returns the paper's table that has the conditions of these hosts, if there is one. Model, seed
/// and repetitions do not matter.
pub(super) fn table(plan: &Plan, hosts: &PaperHosts) -> Option<&'static Table> {
    let number = match (hosts.medium, hosts.infer) {
        (MediumKind::Ethernet, false) => 4,
        (MediumKind::Fddi, false) => 5,
        (MediumKind::Ethernet, true) => 6,
        (MediumKind::Fddi, true) => 7,
        (MediumKind::EthernetFullDuplex | MediumKind::PointToPoint { .. }, _) => return None,
    };
    let as_in_the_paper = hosts.is_the_papers()
        && plan.requests_per_connection.is_none()
        && plan.multiplier == Plan::PAPER_MULTIPLIER
        && plan.lengths == Lengths::PAPER;
    Table::numbered(number).filter(|_| as_in_the_paper)
}

/// Returns whether the paper's tables have this cell.
pub(super) fn is_published(cell: &Cell) -> bool {
    VARIANTS.contains(&cell.policy.label())
        && APP_BUFFERS.contains(&cell.app_buffer)
        && SOCKET_BUFFERS.contains(&cell.socket_buffer)
}

/// Returns the paper's table, if it is measured with all four trial types: its scores are the worst
/// of the four.
pub(super) fn whole_table(plan: &Plan, hosts: &PaperHosts) -> Option<&'static Table> {
    table(plan, hosts).filter(|_| plan.trial_types.len() == TrialType::ALL.len())
}

/// Returns the notes beneath the scores of a medium: how far they are from the paper's, and so those of the other model.
pub(super) fn notes(
    args: &Args,
    plan: &Plan,
    hosts: &PaperHosts,
    outcome: &Outcome,
    of_other: Option<&Outcome>,
) -> Vec<String> {
    let Some(table) = whole_table(plan, hosts) else {
        return Vec::new();
    };
    let mut notes = vec![distance(table, hosts.model, plan, &outcome.cells)];
    if args.paper && hosts.model == Model::Fitted {
        notes.push(verdict(table, plan, &outcome.cells));
    }
    let model = other(hosts.model);
    notes.extend(of_other.map(|it| distance(table, model, &once(plan), &it.cells)));
    notes
}

/// Returns the model with which another is compared.
pub(super) fn other(model: Model) -> Model {
    match model {
        Model::Literal => Model::Fitted,
        Model::Fitted => Model::Literal,
    }
}

/// Returns the plan with one repetition, which is enough for a model's distance from the paper.
pub(super) fn once(plan: &Plan) -> Plan {
    plan.clone().repetitions(1)
}

/// Returns how far the cells are from the paper's.
fn distance(table: &Table, model: Model, plan: &Plan, cells: &[Measured]) -> String {
    let mean = mean_distance(table, &entries(cells));
    format!(
        "Mean distance of the {} model from the paper's scores: {mean:.2} points (repetitions: {}).",
        model.name(),
        plan.repetitions
    )
}

/// Returns the entries that are outside the tolerance of the fitted model.
fn verdict(table: &Table, plan: &Plan, cells: &[Measured]) -> String {
    let entries = entries(cells);
    let is_published = |it: &&Entry| {
        table
            .published(&it.variant, it.app_buffer, it.socket_buffer)
            .is_some()
    };
    let compared = entries.iter().filter(is_published).count();
    let misses = misses(table, &entries);
    let far: Vec<_> = misses.iter().map(far).collect();
    let mut line = if far.is_empty() {
        format!("All {compared} entries are within tolerance of the paper's")
    } else {
        let within = compared - far.len();
        format!("{within} of {compared} entries are within tolerance of the paper's")
    };
    if plan.repetitions != PAPER_REPETITIONS {
        line += &format!(" (which is for {PAPER_REPETITIONS} repetitions)");
    }
    if !far.is_empty() {
        line += &format!("; not so: {}", far.join("; "));
    }
    line + "."
}

/// Returns the name of an entry that is out of tolerance.
fn far(miss: &Miss<'_>) -> String {
    let (entry, (letter, percent)) = (miss.entry, miss.published);
    let mut text = format!(
        "{} {}/{} {} {:.1}% (paper {letter} {percent:.1}%",
        entry.variant,
        size(entry.app_buffer),
        size(entry.socket_buffer),
        entry.trial.letter(),
        entry.score_percent,
    );
    if let Some(why) = miss.known {
        text += &format!("; known mismatch: {why}");
    }
    text + ")"
}
