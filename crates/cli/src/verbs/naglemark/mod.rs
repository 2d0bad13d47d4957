//! `tinygram naglemark`: typed ([`args`]) -> meant ([`meant`]) -> done (the crate
//! [`tinygram_naglemark`]) -> shown ([`outputs`], [`show`]).

mod args;
mod echo;
mod ends;
mod fields;
mod ladders;
mod load;
mod meant;
mod outputs;
mod published;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
mod real;
mod show;
mod stats;

use std::collections::BTreeSet;
use std::time::Instant;

pub(crate) use args::Args;
use rayon::ThreadPool;
use rayon::prelude::*;
use tinygram_naglemark::hosts::{Model, PaperHosts};
use tinygram_naglemark::{Backend, Keep, Outcome, Plan, Progress, Work, compare, measure};
use tinygram_sim::medium::{MediumFrame, Side};
use tinygram_tables::Rows;

use crate::outcome::{Done, Failure};
use crate::{estimate, stop, terminal};
use meant::{Meant, On, OnPaper, OnSockets};
use outputs::{Appendix, Outputs};
use show::Panel;
use stats::Stats;

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    match &args.role {
        Some(args::Role::Serve { listen }) => return real::serve(*listen),
        Some(args::Role::Load(args)) => return load::run(args),
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
            scores_on_paper(args, &meant, on, Keep::Scores, &pool)?.0
        }
        On::Sockets(on) => panels_of(&scores_on_sockets(&meant, on)?),
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
    let (mut panels, outcomes, stats) = scores_on_paper(args, meant, on, keep, &pool)?;
    if outputs.shows_ladders() {
        pool.install(|| see(&meant.plan, &on.hosts, &outcomes, &mut panels))?;
    }
    let done = outputs.show(
        &echo::of_paper(meant, on, args),
        &echo::appendix(on.hosts[0].model),
        &panels,
        &seen(&meant.plan, on)?,
    );
    if args.stats {
        terminal::remark(&stats.to_string());
    }
    done
}

/// Returns a panel for each medium, its conditions, and what the run took.
fn scores_on_paper(
    args: &Args,
    meant: &Meant,
    on: &OnPaper,
    keep: Keep,
    pool: &ThreadPool,
) -> Result<(Vec<Panel>, Vec<Outcome>, Stats), Failure> {
    let compared = others(args, &meant.plan, on);
    let once = once(&meant.plan);
    let plans = [(&meant.plan, on.hosts.len()), (&once, compared.len())];
    estimate::tell(
        "measuring",
        &meant.plan,
        on.hosts.len(),
        effort(&plans),
        |thin| {
            let silent = terminal::Progress::silent();
            pool.install(|| measured(thin, each(&mut on.hosts.clone()), Keep::Scores, &silent))
                .map(drop)
        },
    )?;
    #[allow(clippy::disallowed_methods)] // how long the machine takes is about the real world
    let began = Instant::now();
    let (outcomes, of_others) = {
        let progress = progress(&plans);
        pool.install(|| {
            let mut hosts = on.hosts.clone();
            let outcomes = measured(&meant.plan, each(&mut hosts), keep, &progress)?;
            let mut others: Vec<_> = compared.iter().map(|(_, hosts)| hosts.clone()).collect();
            let of_others = measured(&once, each(&mut others), Keep::Scores, &progress)?;
            Ok::<_, Failure>((outcomes, of_others))
        })?
    };
    let stats = Stats {
        work: (outcomes.iter().chain(&of_others))
            .fold(Work::default(), |work, it| work.and(it.work())),
        elapsed: began.elapsed(),
        threads: pool.current_num_threads(),
    };
    let mut panels = Vec::new();
    for (at, (hosts, outcome)) in on.hosts.iter().zip(&outcomes).enumerate() {
        let mut panel = Panel::of_paper(&meant.plan, hosts, outcome);
        let other = compared.iter().position(|(of, _)| *of == at);
        panel.notes = notes(
            args,
            &meant.plan,
            hosts,
            outcome,
            other.map(|it| &of_others[it]),
        );
        panels.push(panel);
    }
    Ok((panels, outcomes, stats))
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

/// Returns the hosts of the other model, with the medium's index, for each medium on which a whole
/// table of the paper's is measured.
fn others(args: &Args, plan: &Plan, on: &OnPaper) -> Vec<(usize, PaperHosts)> {
    let whole = on
        .hosts
        .iter()
        .enumerate()
        .filter(|(_, hosts)| args.paper && published::whole_table(plan, hosts).is_some());
    let other = |(at, hosts): (usize, &PaperHosts)| {
        let model = match hosts.model {
            Model::Literal => Model::Fitted,
            Model::Fitted => Model::Literal,
        };
        (
            at,
            PaperHosts {
                model,
                ..hosts.clone()
            },
        )
    };
    whole.map(other).collect()
}

/// Returns the plan with one repetition, which is enough for a model's distance from the paper.
fn once(plan: &Plan) -> Plan {
    plan.clone().repetitions(1)
}

/// Returns the notes beneath the scores: how far they are from the paper's.
fn notes(
    args: &Args,
    plan: &Plan,
    hosts: &PaperHosts,
    outcome: &Outcome,
    other: Option<&Outcome>,
) -> Vec<String> {
    let Some(table) = published::whole_table(plan, hosts) else {
        return Vec::new();
    };
    let mut notes = vec![published::distance(
        table,
        hosts.model,
        plan,
        &outcome.cells,
    )];
    if args.paper && hosts.model == Model::Fitted {
        notes.push(published::verdict(table, plan, &outcome.cells));
    }
    let model = match hosts.model {
        Model::Literal => Model::Fitted,
        Model::Fitted => Model::Literal,
    };
    notes.extend(other.map(|it| published::distance(table, model, &once(plan), &it.cells)));
    notes
}

/// Returns what the plan's capture saw: the frames of the first repetition of the only cell, with
/// their senders.
fn seen(plan: &Plan, on: &OnPaper) -> Result<Vec<(Side, MediumFrame)>, Failure> {
    match (on.capture, &on.hosts[..], &plan.cells()[..]) {
        (Some(at), [hosts], [only]) => {
            Ok(hosts.captured(&plan.trial(only, 0), at.side(Side::Server))?)
        }
        _ => Ok(Vec::new()),
    }
}

/// Measures on sockets, and compares every two backends.
fn on_sockets(meant: &Meant, on: &OnSockets, outputs: Outputs) -> Result<Done, Failure> {
    let outcomes = scores_on_sockets(meant, on)?;
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

/// Returns an outcome for each backend.
fn scores_on_sockets(meant: &Meant, on: &OnSockets) -> Result<Vec<Outcome>, Failure> {
    if on.needs_namespaces() {
        real::acquire_privilege()?;
    }
    let plan = &meant.plan;
    let opened = on.backends.iter().map(|name| on.open(*name, plan));
    let mut backends = opened.collect::<Result<Vec<_>, _>>()?;
    stop::at_once();
    let plans = [(plan, backends.len())];
    let backends = std::cell::RefCell::new(&mut backends);
    let measured = |plan: &Plan, keep, progress: &terminal::Progress| {
        let mut backends = backends.borrow_mut();
        let each = backends
            .iter_mut()
            .map(|it| it.as_mut() as &mut dyn Backend);
        measured(plan, each, keep, progress)
    };
    estimate::tell("measuring", plan, plans[0].1, effort(&plans), |thin| {
        measured(thin, Keep::Scores, &terminal::Progress::silent()).map(drop)
    })?;
    measured(plan, Keep::All, &progress(&plans))
}

/// Returns the measuring loop, with a bar that shows its progress.
fn measured<'a>(
    plan: &Plan,
    backends: impl Iterator<Item = &'a mut dyn Backend>,
    keep: Keep,
    progress: &terminal::Progress,
) -> Result<Vec<Outcome>, Failure> {
    let mut backends: Vec<_> = backends.collect();
    let told = |step: Progress<'_>| match step {
        Progress::Begins(cell, backend) => {
            progress.says(format!("{} on {backend}", cell.policy.label()));
        }
        Progress::Transfers(count) => progress.steps(count),
    };
    Ok(measure(plan, &mut backends, keep, &told)?)
}

fn each(hosts: &mut [PaperHosts]) -> impl Iterator<Item = &mut dyn Backend> {
    hosts.iter_mut().map(|it| it as &mut dyn Backend)
}

/// Returns the progress bar for plans, each with the number of its backends.
fn progress(plans: &[(&Plan, usize)]) -> terminal::Progress {
    let transfers = |(plan, backends): &(&Plan, usize)| plan.transfers() * *backends as u64;
    terminal::Progress::over(plans.iter().map(transfers).sum(), "measuring")
}

/// Returns the effort of plans, each with the number of its backends.
fn effort(plans: &[(&Plan, usize)]) -> u64 {
    let effort = |(plan, backends): &(&Plan, usize)| plan.effort() * *backends as u64;
    plans.iter().map(effort).sum()
}
