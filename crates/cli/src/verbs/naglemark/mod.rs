//! `tinygram naglemark`: typed ([`args`]) -> meant ([`plan`]) -> done ([`done`], by the crate
//! [`tinygram_naglemark`]) -> shown ([`outputs`], [`show`]).

mod args;
mod costs;
mod done;
mod echo;
mod ends;
mod fields;
mod ladders;
mod load;
mod outputs;
mod plan;
mod published;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
mod real;
mod reports;
mod show;
mod stats;

use std::collections::BTreeSet;

pub(crate) use args::Args;
use rayon::prelude::*;
use tinygram_naglemark::hosts::PaperHosts;
use tinygram_naglemark::{Keep, Outcome, Plan, compare};
use tinygram_tables::Rows;

use crate::outcome::{Done, Failure};
use crate::{stop, terminal};
use done::OnHosts;
use outputs::{Appendix, Outputs};
use plan::{Meant, On, OnPaper, OnSockets};
use show::Panel;

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    match &args.role {
        Some(args::Role::Serve { listen }) => return real::serve(*listen),
        Some(args::Role::Load(args)) => return load::run(args),
        Some(args::Role::Reports(args)) => return reports::run(args),
        Some(args::Role::Costs(args)) => return costs::run(args),
        None => {}
    }
    let meant = Meant::from(args)?;
    let outputs = Outputs::open(args)?;
    match &meant.on {
        On::Paper(on) => on_paper(args, &meant, on, outputs),
        On::Sockets(on) => on_sockets(&meant, on, outputs),
    }
}

/// Returns the scores of all cells.
pub(crate) fn tables(args: &Args) -> Result<Vec<Rows>, Failure> {
    let meant = Meant::from(args)?;
    let panels = match &meant.on {
        On::Paper(on) => {
            let pool = args.processors.pool()?;
            let measured = done::on_paper(args, &meant, on, Keep::Scores, &pool)?;
            panels_on_paper(args, &meant.plan, on, &measured)
        }
        On::Sockets(on) => panels_of(&done::on_sockets(&meant, on)?),
    };
    Ok(vec![outputs::rows(&panels)])
}

/// Measures on the paper's hosts, and compares the results with the paper's tables.
fn on_paper(args: &Args, meant: &Meant, on: &OnPaper, outputs: Outputs) -> Result<Done, Failure> {
    stop::at_once();
    let keep = match outputs.shows_transfers() {
        true => Keep::First,
        false => Keep::Scores,
    };
    let pool = args.processors.pool()?;
    let measured = done::on_paper(args, meant, on, keep, &pool)?;
    let mut panels = panels_on_paper(args, &meant.plan, on, &measured);
    if outputs.shows_ladders() {
        pool.install(|| see(&meant.plan, &on.hosts, &measured.outcomes, &mut panels))?;
    }
    let done = outputs.show(
        &echo::of_paper(meant, on, args),
        &echo::appendix(on.hosts[0].model),
        &panels,
        &done::captured(&meant.plan, on)?,
    );
    if args.stats {
        terminal::remark(&measured.stats.to_string());
    }
    done
}

/// Returns a panel for each medium, with how far its scores are from the paper's.
fn panels_on_paper(args: &Args, plan: &Plan, on: &OnPaper, done: &OnHosts) -> Vec<Panel> {
    let each = on.hosts.iter().zip(&done.outcomes).enumerate();
    each.map(|(at, (hosts, outcome))| {
        let other = done.others.iter().find(|(of, _)| *of == at);
        let mut panel = Panel::of_paper(plan, hosts, outcome);
        panel.notes = published::notes(args, plan, hosts, outcome, other.map(|(_, it)| it));
        panel
    })
    .collect()
}

/// Records a few transfers of each cell that a score opens, segment by segment.
fn see(
    plan: &Plan,
    hosts: &[PaperHosts],
    outcomes: &[Outcome],
    panels: &mut [Panel],
) -> Result<(), Failure> {
    for ((hosts, outcome), panel) in hosts.iter().zip(outcomes).zip(panels) {
        let opened: BTreeSet<String> = panel.opened().collect();
        let ids: Vec<_> = panel.traces.iter().map(|it| panel.id(it)).collect();
        let kept = outcome.cells.iter().filter(|it| !it.taken.is_empty());
        let cells: Vec<_> = panel.traces.iter_mut().zip(ids).zip(kept).collect();
        cells
            .into_par_iter()
            .try_for_each(|((trace, id), measured)| {
                if opened.contains(&id) {
                    trace.seen = ladders::seen(plan, hosts, measured, &outcome.yardstick)?;
                }
                Ok::<_, Failure>(())
            })?;
    }
    Ok(())
}

/// Measures on sockets, and compares every two backends.
fn on_sockets(meant: &Meant, on: &OnSockets, outputs: Outputs) -> Result<Done, Failure> {
    let outcomes = done::on_sockets(meant, on)?;
    let agreement = compare(&outcomes);
    for remark in outcomes.iter().flat_map(show::remarks) {
        terminal::remark(&remark);
    }
    let panels = panels_of(&outcomes);
    let conditions: Vec<_> = outcomes.iter().map(|it| &it.conditions).collect();
    let tables = show::agreement(&agreement)
        .chain([show::conditions(&conditions)])
        .collect();
    let echo = echo::of_sockets(meant, on, &conditions, &agreement);
    outputs.show(&echo, &Appendix::same(tables), &panels, &[])
}

fn panels_of(outcomes: &[Outcome]) -> Vec<Panel> {
    outcomes.iter().map(Panel::of_sockets).collect()
}
