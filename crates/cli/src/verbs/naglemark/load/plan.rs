//! The meaning of the arguments: what is measured under load.

use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_kernel::BpfPolicy;
use tinygram_naglemark::load::{
    Course, Demand, Ends, LoadPlan, LoadedHosts, Programs, Replies, Server,
};
use tinygram_naglemark::{Policy, SocketPolicy};
use tinygram_report::units::grouped;

use super::super::args::Chosen;
use super::super::args::load::{self as args, Args, BackendName, Level, Load};
use crate::outcome::Failure;
use crate::values::virtual_time;

/// Returns the plan, without its demands, which may be shares of a capacity that is yet to be measured.
pub(super) fn plan(args: &Args) -> Result<LoadPlan, Failure> {
    only_of_the_simulator(args)?;
    let policy = |chosen: &Chosen| match chosen {
        Chosen::One(entry) => known(args.backend, entry.name, Policy::from(*entry)),
        Chosen::Socket(policy) => known(args.backend, policy.name(), (*policy).into()),
        Chosen::All => Err(Failure::Input(
            "--policy all is not for load (accepted: the names of policies)".into(),
        )),
    };
    if args.window.is_zero() {
        return Err(Failure::Input(
            "--window: nothing would be measured (accepted: more than 0s)".into(),
        ));
    }
    if args.other.is_some() && args.ends == args::Ends::Both {
        return Err(Failure::Input(
            "--other: both ends have the policies of --policy (accepted: with --ends server or --ends client)".into(),
        ));
    }
    let other = args.other.as_ref().map(policy).transpose()?;
    if let (BackendName::Bpf, Some(Policy::Engine { .. })) = (args.backend, &other) {
        return Err(Failure::Input(
            "--other: the kernel has one BPF policy at a time (accepted: default, nodelay, quickack)".into(),
        ));
    }
    for load in &args.loads {
        if let Some(demand) = demand(load, None) {
            bounded(args, load, &demand)?;
        }
    }
    let acks = args.ack_policy.iter().map(|entry| Some((entry.make)()));
    Ok(LoadPlan {
        policies: match args.policy.as_slice() {
            [] => defaults(args.backend),
            typed => typed.iter().map(policy).collect::<Result<_, _>>()?,
        },
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
        other,
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

/// Returns the simulated hosts.
pub(super) fn hosts(args: &Args) -> LoadedHosts {
    let mut hosts = LoadedHosts::new(args.costs.over);
    hosts.hosts.bits_per_second = args.rate;
    hosts.hosts.rtt = virtual_time(args.rtt);
    hosts
}

/// Refuses what only simulated hosts can be told.
fn only_of_the_simulator(args: &Args) -> Result<(), Failure> {
    let given = [
        ("--ack-policy", !args.ack_policy.is_empty()),
        ("--ack-timer", args.ack_timer.is_some()),
        ("--costs", !args.costs.is_default()),
        ("--rate", args.rate.is_some()),
        ("--rtt", !args.rtt.is_zero()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) if args.backend != BackendName::Sim => Err(Failure::Input(format!(
            "{flag} is for simulated hosts; the kernel and a veth pair have their own (accepted: with --backend sim)"
        ))),
        _ => Ok(()),
    }
}

/// Returns the policies that are measured if none is named.
fn defaults(backend: BackendName) -> Vec<Policy> {
    let ours = |name: &&str| SendPolicy::LIST.iter().find(|entry| entry.name == *name);
    let told = [SocketPolicy::Default, SocketPolicy::NoDelay].map(Policy::from);
    let of = |names: &[&str]| -> Vec<Policy> {
        names.iter().filter_map(ours).map(Policy::from).collect()
    };
    match backend {
        BackendName::Sim => of(&["nagle", "minshall", "off", "dldet", "flush-on-block"]),
        BackendName::Kernel => told.into(),
        BackendName::Bpf => told.into_iter().chain(of(&["nagle"])).collect(),
    }
}

/// Returns the policy, if the programs under load know it on this backend.
fn known(backend: BackendName, name: &str, policy: Policy) -> Result<Policy, Failure> {
    let is_known = match (&policy, backend) {
        (Policy::Engine { .. }, BackendName::Kernel) => false,
        (Policy::Engine { .. }, BackendName::Bpf) => BpfPolicy::named(name).is_some(),
        _ => LoadedHosts::knows(&policy),
    };
    if is_known {
        return Ok(policy);
    }
    let sockets = LoadedHosts::SOCKET_POLICIES
        .map(SocketPolicy::name)
        .join(", ");
    let (on, accepted) = match backend {
        BackendName::Sim => ("", format!("{sockets}, and what `tinygram policies` lists")),
        BackendName::Kernel => (" on the kernel", sockets),
        BackendName::Bpf => {
            let ours = SendPolicy::LIST.iter().map(|entry| entry.name);
            let there: Vec<&str> = ours
                .filter(|name| BpfPolicy::named(name).is_some())
                .collect();
            (" as BPF", format!("{sockets}, {}", there.join(", ")))
        }
    };
    Err(Failure::Input(format!(
        "--policy {name} is not for load{on} (accepted: {accepted})"
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
pub(super) fn demand(load: &Load, capacity: Option<f64>) -> Option<Demand> {
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
pub(super) fn bounded(args: &Args, load: &Load, demand: &Demand) -> Result<(), Failure> {
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

/// The most requests of a trial: each takes about 50 octets, and there is a trial on every thread.
pub(super) const MOST_REQUESTS: u64 = 10_000_000;
