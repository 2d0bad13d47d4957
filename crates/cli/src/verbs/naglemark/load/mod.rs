//! `tinygram naglemark load`: policies under load.

mod cells;
mod charts;
mod compared;
mod plan;
mod show;

use std::time::Duration;

use tinygram_naglemark::Error;
use tinygram_naglemark::load::{
    Demand, KneeRule, LoadBackend, LoadOutcome, LoadPlan, capacity, knees, measure_load,
};
use tinygram_report::units::grouped;
use tinygram_report::{Destination, Folder, Ink};

use super::args::load::{Args, BackendName, Load};
use super::real;
use crate::files::{failed, opened};
use crate::outcome::{Done, Failure};
use crate::values::virtual_time;
use crate::{stop, terminal};
use plan::{MOST_REQUESTS, bounded, demand, hosts, plan};
use show::Shown;

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let plan = plan(args)?;
    // Before any thread is started.
    let real = match args.backend {
        BackendName::Sim => None,
        real => Some(real::loaded(real, &plan.policies)?),
    };
    let output = args.results.output.as_deref();
    let results = opened(output, Destination::open)?;
    let svg = opened(args.svg.as_deref(), Folder::open)?;
    stop::at_once();
    let shown = match real {
        Some(real) => measured(args, plan, &*real)?,
        None => {
            let (hosts, pool) = (hosts(args), args.processors.pool()?);
            pool.install(|| measured(args, plan, &hosts))?
        }
    };
    let canvas = match results {
        Some(_) => (Ink::Plain, terminal::WIDTH),
        None => terminal::canvas(terminal::WIDTH),
    };
    let text = shown.rendered(args.format, canvas);
    stop::shielded(|| {
        if let Some((path, folder)) = &svg {
            for (name, chart) in shown.charts() {
                folder
                    .write(&name, chart.to_svg_with_names().as_bytes())
                    .map_err(|error| failed(&path.join(&name), error))?;
            }
        }
        match results {
            Some((path, file)) => file
                .write(text.as_bytes())
                .map_err(|error| failed(&path, error))
                .map(|()| Done::Well),
            None => terminal::print(text.as_bytes()),
        }
    })
}

/// Measures the capacity, then the knees, then every row.
fn measured(args: &Args, mut plan: LoadPlan, backend: &dyn LoadBackend) -> Result<Shown, Failure> {
    let rule = KneeRule {
        times: args.knee.into(),
        ..KneeRule::default()
    };
    let policies = (plan.policies.len() * plan.ack_policies.len()) as u64;
    short_enough(args, &plan, backend)?;
    let progress = terminal::Progress::over(policies, "measuring the capacity");
    let capacity = capacity(&plan, backend, &|_| progress.step()).map_err(too_short)?;
    drop(progress);
    searchable(args, capacity)?;
    let open = |load: &Load| {
        let demand = demand(load, Some(capacity)).expect("the capacity is known");
        bounded(args, load, &demand)?;
        Ok(demand)
    };
    plan.demands = args
        .loads
        .iter()
        .map(open)
        .collect::<Result<_, Failure>>()?;
    plan.demands.extend(args.closed.then_some(Demand::Closed));
    let knees = match args.no_knees {
        true => None,
        false => {
            let progress = terminal::Progress::over(policies, "searching knees");
            let knees = knees(&plan, backend, rule, capacity, &|_| progress.step());
            Some(knees.map_err(too_short)?)
        }
    };
    let trials = plan.cells().len() as u64 * u64::from(plan.repetitions);
    let outcome: LoadOutcome = {
        let progress = terminal::Progress::over(trials, "measuring");
        measure_load(&plan, backend, &|_| progress.step())?
    };
    Ok(Shown {
        parameters: show::parameters(args, &plan, &outcome.conditions),
        connections: args.connections,
        depth: args.depth,
        answer_writes: args.answer_writes,
        is_real: args.backend != BackendName::Sim,
        outcome,
        capacity,
        knees,
        rule,
    })
}

/// Refuses times in which the search for knees, which begins between the capacity and twice as much, would have too many
/// requests. A closed loop has about as many as the capacity.
fn searchable(args: &Args, capacity: f64) -> Result<(), Failure> {
    match too_many(args, capacity * 2.0) {
        None => Ok(()),
        Some(requests) => Err(Failure::Input(format!(
            "--warmup, --window: up to {} requests in a trial, at twice the capacity, where the search for knees begins \
             (accepted: up to {}, in shorter times)",
            grouped(requests),
            grouped(MOST_REQUESTS)
        ))),
    }
}

/// Refuses what is not [`searchable`] before the capacity is measured for so long. Where no answer comes so soon, what
/// the capacity is shows later.
fn short_enough(args: &Args, plan: &LoadPlan, backend: &dyn LoadBackend) -> Result<(), Failure> {
    let short = virtual_time(ENOUGH);
    let probe = LoadPlan {
        warmup: plan.warmup.min(short),
        window: plan.window.min(short),
        patience: plan.patience.min(short),
        repetitions: 1,
        ..plan.clone()
    };
    if (probe.warmup, probe.window) == (plan.warmup, plan.window) {
        return Ok(());
    }
    match capacity(&probe, backend, &|_| ()) {
        Ok(capacity) => searchable(args, capacity),
        Err(Error::Nothing { .. }) => Ok(()),
        Err(other) => Err(other.into()),
    }
}

/// Returns how many requests a trial has at this rate, if they are more than fit.
fn too_many(args: &Args, rate: f64) -> Option<u64> {
    let requests = rate * (args.warmup + args.window).as_secs_f64();
    (requests > MOST_REQUESTS as f64).then_some(requests as u64)
}

/// Names the flag that helps where nothing came.
fn too_short(error: Error) -> Failure {
    match error {
        Error::Nothing { .. } => {
            Failure::Input(format!("--window: {error} (accepted: a longer one)"))
        }
        other => other.into(),
    }
}

/// Long enough to see about what the capacity is.
const ENOUGH: Duration = Duration::from_millis(500);
