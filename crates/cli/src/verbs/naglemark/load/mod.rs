//! `tinygram naglemark load`: policies under load.

mod show;

use rayon::ThreadPool;
use tinygram_naglemark::load::{
    Demand, Ends, KneeRule, LoadOutcome, LoadPlan, LoadedHosts, Programs, Replies, capacity, knees,
    measure_load,
};
use tinygram_naglemark::{Duration, Error, Policy};
use tinygram_report::{Destination, Folder, Ink};

use super::args::Chosen;
use super::args::load::{self as args, Args, Load};
use crate::exit::{Done, Failure};
use crate::files::{failed, opened};
use crate::{interrupt, terminal};
use show::Shown;

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let output = args.results.output.as_deref();
    let results = opened(output, Destination::open)?;
    let svg = opened(args.svg.as_deref(), Folder::open)?;
    interrupt::watch();
    let pool = args.processors.pool()?;
    let shown = measured(args, &pool)?;
    let canvas = match results {
        Some(_) => (Ink::Plain, terminal::WIDTH),
        None => terminal::canvas(terminal::WIDTH),
    };
    let text = shown.rendered(args.format, canvas);
    interrupt::shielded(|| {
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
fn measured(args: &Args, pool: &ThreadPool) -> Result<Shown, Failure> {
    let mut plan = plan(args)?;
    let hosts = hosts(args)?;
    let rule = KneeRule {
        times: args.knee.into(),
        ..KneeRule::default()
    };
    let policies = (plan.policies.len() * plan.ack_policies.len()) as u64;
    pool.install(|| {
        let progress = terminal::Progress::over(policies, "measuring the capacity");
        let capacity = capacity(&plan, &hosts, &|_| progress.step()).map_err(too_short)?;
        drop(progress);
        let rate = |load: &Load| match load {
            Load::Share(share) => capacity * share,
            Load::PerSecond(rate) => *rate,
        };
        plan.demands = args.loads.iter().map(rate).map(Demand::Open).collect();
        plan.demands.extend(args.closed.then_some(Demand::Closed));
        let progress = terminal::Progress::over(policies, "searching knees");
        let knees =
            knees(&plan, &hosts, rule, capacity, &|_| progress.step()).map_err(too_short)?;
        drop(progress);
        let trials = plan.cells().len() as u64 * u64::from(plan.repetitions);
        let outcome: LoadOutcome = {
            let progress = terminal::Progress::over(trials, "measuring");
            measure_load(&plan, &hosts, &|_| progress.step())?
        };
        Ok(Shown {
            parameters: show::Parameters::of(args),
            outcome,
            knees,
            rule,
        })
    })
}

fn plan(args: &Args) -> Result<LoadPlan, Failure> {
    let policy = |chosen: &Chosen| match chosen {
        Chosen::One(entry) => Ok(Policy::from(*entry)),
        Chosen::Socket(policy) => Ok((*policy).into()),
        Chosen::All => Err(Failure::Input(
            "--policy all is not for load (accepted: the names of policies)".into(),
        )),
    };
    let acks = args.ack_policy.iter().map(|entry| Some((entry.make)()));
    Ok(LoadPlan {
        policies: args.policy.iter().map(policy).collect::<Result<_, _>>()?,
        ack_policies: match args.ack_policy.is_empty() {
            true => vec![None],
            false => acks.collect(),
        },
        ack_timer: args.ack_timer,
        ends: match args.ends {
            args::Ends::Both => Ends::Both,
            args::Ends::Server => Ends::Server,
            args::Ends::Client => Ends::Client,
        },
        programs: Programs {
            connections: args.connections,
            depth: args.depth,
            request_writes: args.request_writes,
            answer_writes: args.answer_writes,
            server: args.server,
            replies: match args.gather {
                true => Replies::Gathered,
                false => Replies::Each,
            },
            service: virtual_time(args.service),
            digest: virtual_time(args.digest),
        },
        request: args.request,
        answer: args.answer,
        arrivals: args.arrivals,
        demands: Vec::new(),
        warmup: virtual_time(args.warmup),
        window: virtual_time(args.window),
        patience: virtual_time(args.window),
        repetitions: args.repetitions,
        seed: args.chance.seed,
    })
}

fn hosts(args: &Args) -> Result<LoadedHosts, Failure> {
    if args.window.is_zero() {
        return Err(Failure::Input(
            "--window: nothing would be measured (accepted: more than 0s)".into(),
        ));
    }
    let mut hosts = LoadedHosts::new(args.costs);
    hosts.hosts.bits_per_second = args.rate;
    hosts.hosts.rtt = virtual_time(args.rtt);
    Ok(hosts)
}

fn virtual_time(time: std::time::Duration) -> Duration {
    Duration::from_nanos(time.as_nanos() as u64)
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
