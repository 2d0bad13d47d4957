//! The work: measures on the paper's hosts or on sockets, tells how long it takes, and answers clients.

use std::time::Instant;

use rayon::ThreadPool;
use tinygram_naglemark::hosts::PaperHosts;
use tinygram_naglemark::{Backend, Keep, Outcome, Plan, Progress, Work, measure};
use tinygram_sim::medium::{MediumFrame, Side};

use super::args::Args;
use super::plan::{Meant, OnPaper, OnSockets};
use super::published;
use super::real;
use super::stats::Stats;
use crate::outcome::Failure;
use crate::{estimate, stop, terminal};

/// What was measured on the paper's hosts.
pub(super) struct OnHosts {
    /// An outcome for each medium.
    pub(super) outcomes: Vec<Outcome>,
    /// Outcomes of the other model, with the medium's index, where a whole table of the paper's was measured.
    pub(super) others: Vec<(usize, Outcome)>,
    pub(super) stats: Stats,
}

/// Measures on the paper's hosts.
pub(super) fn on_paper(
    args: &Args,
    meant: &Meant,
    on: &OnPaper,
    keep: Keep,
    pool: &ThreadPool,
) -> Result<OnHosts, Failure> {
    let others = others(args, &meant.plan, on);
    let once = published::once(&meant.plan);
    let plans = [(&meant.plan, on.hosts.len()), (&once, others.len())];
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
            let mut of_others: Vec<_> = others.iter().map(|(_, hosts)| hosts.clone()).collect();
            let of_others = measured(&once, each(&mut of_others), Keep::Scores, &progress)?;
            Ok::<_, Failure>((outcomes, of_others))
        })?
    };
    let stats = Stats {
        work: (outcomes.iter().chain(&of_others))
            .fold(Work::default(), |work, it| work.and(it.work())),
        elapsed: began.elapsed(),
        threads: pool.current_num_threads(),
    };
    let others = others.into_iter().map(|(at, _)| at).zip(of_others);
    Ok(OnHosts {
        others: others.collect(),
        outcomes,
        stats,
    })
}

/// Returns what the plan's capture saw: the frames of the first repetition of the only cell, with
/// their senders.
pub(super) fn captured(plan: &Plan, on: &OnPaper) -> Result<Vec<(Side, MediumFrame)>, Failure> {
    match (on.capture, &on.hosts[..], &plan.cells()[..]) {
        (Some(at), [hosts], [only]) => {
            Ok(hosts.captured(&plan.trial(only, 0), at.side(Side::Server))?)
        }
        _ => Ok(Vec::new()),
    }
}

/// Measures on sockets; returns an outcome for each backend.
pub(super) fn on_sockets(meant: &Meant, on: &OnSockets) -> Result<Vec<Outcome>, Failure> {
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

/// Returns the hosts of the other model, with the medium's index, for each medium on which a whole
/// table of the paper's is measured.
fn others(args: &Args, plan: &Plan, on: &OnPaper) -> Vec<(usize, PaperHosts)> {
    let whole = on
        .hosts
        .iter()
        .enumerate()
        .filter(|(_, hosts)| args.paper && published::whole_table(plan, hosts).is_some());
    let other = |(at, hosts): (usize, &PaperHosts)| {
        let model = published::other(hosts.model);
        let hosts = hosts.clone();
        (at, PaperHosts { model, ..hosts })
    };
    whole.map(other).collect()
}
