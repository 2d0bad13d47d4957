//! `tinygram naglemark load`: policies under load.

mod charts;
mod show;

use std::time::Duration;

use rayon::ThreadPool;
use tinygram_naglemark::load::{
    Course, Demand, Ends, KneeRule, LoadOutcome, LoadPlan, LoadedHosts, Programs, Replies, Server,
    capacity, knees, measure_load,
};
use tinygram_naglemark::{Error, Policy, SocketPolicy};
use tinygram_report::units::grouped;
use tinygram_report::{Destination, Folder, Ink};

use super::args::Chosen;
use super::args::load::{self as args, Args, Level, Load};
use crate::files::{failed, opened};
use crate::outcome::{Done, Failure};
use crate::values::virtual_time;
use crate::{stop, terminal};
use show::Shown;

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let (plan, hosts) = (plan(args)?, hosts(args)?);
    let output = args.results.output.as_deref();
    let results = opened(output, Destination::open)?;
    let svg = opened(args.svg.as_deref(), Folder::open)?;
    stop::at_once();
    let pool = args.processors.pool()?;
    let shown = measured(args, plan, &hosts, &pool)?;
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
fn measured(
    args: &Args,
    mut plan: LoadPlan,
    hosts: &LoadedHosts,
    pool: &ThreadPool,
) -> Result<Shown, Failure> {
    let rule = KneeRule {
        times: args.knee.into(),
        ..KneeRule::default()
    };
    let policies = (plan.policies.len() * plan.ack_policies.len()) as u64;
    pool.install(|| {
        short_enough(args, &plan, hosts)?;
        let progress = terminal::Progress::over(policies, "measuring the capacity");
        let capacity = capacity(&plan, hosts, &|_| progress.step()).map_err(too_short)?;
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
        let progress = terminal::Progress::over(policies, "searching knees");
        let knees = knees(&plan, hosts, rule, capacity, &|_| progress.step()).map_err(too_short)?;
        drop(progress);
        let trials = plan.cells().len() as u64 * u64::from(plan.repetitions);
        let outcome: LoadOutcome = {
            let progress = terminal::Progress::over(trials, "measuring");
            measure_load(&plan, hosts, &|_| progress.step())?
        };
        Ok(Shown {
            parameters: show::parameters(args, &plan),
            connections: args.connections,
            depth: args.depth,
            answer_writes: args.answer_writes,
            outcome,
            knees,
            rule,
        })
    })
}

fn plan(args: &Args) -> Result<LoadPlan, Failure> {
    let policy = |chosen: &Chosen| match chosen {
        Chosen::One(entry) => known(entry.name, Policy::from(*entry)),
        Chosen::Socket(policy) => known(policy.name(), (*policy).into()),
        Chosen::All => Err(Failure::Input(
            "--policy all is not for load (accepted: the names of policies)".into(),
        )),
    };
    if args.other.is_some() && args.ends == args::Ends::Both {
        return Err(Failure::Input(
            "--other: both ends have the policies of --policy (accepted: with --ends server or --ends client)".into(),
        ));
    }
    for load in &args.loads {
        if let Some(demand) = demand(load, None) {
            bounded(args, load, &demand)?;
        }
    }
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
        other: args.other.as_ref().map(policy).transpose()?,
        programs: Programs {
            connections: args.connections,
            depth: args.depth,
            request_writes: args.request_writes,
            answer_writes: args.answer_writes,
            server: server(args)?,
            replies: match args.gather {
                true => Replies::Gathered,
                false => Replies::Each,
            },
            pause: virtual_time(args.pause),
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
    let mut hosts = LoadedHosts::new(args.costs.over);
    hosts.hosts.bits_per_second = args.rate;
    hosts.hosts.rtt = virtual_time(args.rtt);
    Ok(hosts)
}

/// Returns the policy, if simulated programs know it.
fn known(name: &str, policy: Policy) -> Result<Policy, Failure> {
    if LoadedHosts::knows(&policy) {
        return Ok(policy);
    }
    let sockets = LoadedHosts::SOCKET_POLICIES.map(SocketPolicy::name);
    Err(Failure::Input(format!(
        "--policy {name} is not for load (accepted: {}, and what `tinygram policies` lists)",
        sockets.join(", ")
    )))
}

/// Returns the server, if each of its threads has a connection.
fn server(args: &Args) -> Result<Server, Failure> {
    match args.server {
        Server::EventLoops(threads) if threads > args.connections => Err(Failure::Input(format!(
            "--server {} has more threads than there are connections (accepted: up to {})",
            args.server, args.connections
        ))),
        server => Ok(server),
    }
}

/// Returns what a load asks for; `None` for a share of a capacity that is not known.
fn demand(load: &Load, capacity: Option<f64>) -> Option<Demand> {
    let rate = |level: &Level| match level {
        Level::Percent(percent) => Some(capacity? * (percent / 100.0)),
        Level::PerSecond(rate) => Some(*rate),
    };
    match load {
        Load::Level(level) => rate(level).map(Demand::Open),
        Load::Course(change, levels) => Some(Demand::Course(Course {
            rates: levels.iter().map(rate).collect::<Option<_>>()?,
            change: *change,
        })),
    }
}

/// Refuses a load of so many requests that they would not fit into memory.
fn bounded(args: &Args, load: &Load, demand: &Demand) -> Result<(), Failure> {
    let [warmup, window] = [args.warmup, args.window].map(|time| time.as_secs_f64());
    let requests = match demand {
        Demand::Open(rate) => rate * (warmup + window),
        Demand::Course(course) => {
            course.rates[0] * warmup + course.rates.iter().sum::<f64>() * window
        }
        Demand::Closed => return Ok(()),
    };
    if requests <= MOST_REQUESTS as f64 {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "--loads {load}: {} requests in the --warmup and the --window of a trial (accepted: up to {})",
        grouped(requests as u64),
        grouped(MOST_REQUESTS)
    )))
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
fn short_enough(args: &Args, plan: &LoadPlan, hosts: &LoadedHosts) -> Result<(), Failure> {
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
    match capacity(&probe, hosts, &|_| ()) {
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

/// The most requests of a trial: each takes about 50 octets, and there is a trial on every thread.
const MOST_REQUESTS: u64 = 10_000_000;
/// Long enough to see about what the capacity is.
const ENOUGH: Duration = Duration::from_millis(500);
