//! A run on sockets: the kernel's, our stack's, or those of Linux's hosts in the simulator.

use std::time::Duration;

use serde::{Serialize, Serializer};
use tinygram_engine::profile::Profile;
use tinygram_engine::socket::copy_rule::CopyRule;
use tinygram_naglemark::hosts::{HostsKind, Impairment, LinuxHosts, Model, Over};
use tinygram_naglemark::{Backend, Error, MediumKind, NOMINAL_RATE, Plan, TrialType};

use super::workload::Workload;
use super::{
    Meant, On, check_trials, distinct, or, path, policies, refused, requests_per_connection,
};
use crate::echoed::{milliseconds, profile_name};
use crate::outcome::Failure;
use crate::values::virtual_time;
use crate::verbs::naglemark::args::{Args, BackendName, LengthChoice, Server};
use crate::verbs::naglemark::ends::Ends;
use crate::verbs::naglemark::real::Joined;

/// Backends with sockets, and the paths between their ends. It serialises as the parameters that these have.
#[derive(Clone, Debug, Serialize)]
pub(in super::super) struct OnSockets {
    pub(in super::super) backends: Vec<BackendName>,
    /// The simulated hosts, if there are any.
    #[serde(serialize_with = "kind_name")]
    pub(in super::super) hosts: Option<HostsKind>,
    /// The rules of the sender, if it is not a kernel.
    #[serde(serialize_with = "profile_name")]
    pub(in super::super) profile: &'static Profile,
    /// The options that sockets get before they are connected, in octets.
    pub(in super::super) mss: Option<u16>,
    pub(in super::super) receive_buffer: Option<u64>,
    /// The properties of the simulated hosts.
    #[serde(skip)]
    over: Over,
    /// What joins real ends, if there are any.
    #[serde(skip)]
    joined: Option<Joined>,
    /// The rate of the link; absent if it is as fast as the machine.
    #[serde(rename = "rate_bits_per_second", serialize_with = "or_nominal")]
    rate: Option<u64>,
    #[serde(rename = "rtt_ms", serialize_with = "milliseconds")]
    pub(in super::super) rtt: Duration,
    #[serde(flatten)]
    pub(in super::super) impairment: Impairment,
}

pub(super) fn meant(args: &Args) -> Result<Meant, Failure> {
    let backends = distinct(&args.backend);
    let over = over(args, &backends)?;
    check_model(args)?;
    let joined = path::joined(args, &backends)?;
    let Workload {
        trial_types,
        lengths,
    } = Workload::from(args, &[TrialType::SequentialOne])?;
    check_trials(args, &trial_types)?;
    let chosen = policies::of_sockets(&args.variant, &backends)?;
    let profile = profile(args, &backends)?;
    let naglim = policies::naglim(args, chosen.iter().filter_map(|it| it.entry()))?;
    let plan = Plan::default()
        .policies(chosen.iter().map(|it| it.policy(naglim)))
        .app_buffers(or(&args.app_buffer, &[4096]))
        .socket_buffers(or(&args.socket_buffer, &[65_536]))
        .trial_types(trial_types)
        .lengths(lengths)
        .requests_per_connection(requests_per_connection(args))
        .multiplier(args.multiplier.into())
        .repetitions(args.repetitions.unwrap_or(1))
        .warmup(args.warmup.unwrap_or(WARMUP))
        .seed(args.chance.seed);
    let on = OnSockets {
        backends,
        hosts: args.hosts,
        over,
        profile,
        mss: args.mss,
        receive_buffer: args.receive_buffer,
        joined,
        rate: args.rate,
        rtt: path::rtt(args),
        impairment: args.impairment.into(),
    };
    Ok(Meant {
        plan,
        length_choice: args.length_choice.unwrap_or(LengthChoice::PerRequest),
        naglim,
        on: On::Sockets(Box::new(on)),
    })
}

impl OnSockets {
    /// Prepares the backend: namespaces, devices, listeners.
    pub(in super::super) fn open(
        &self,
        name: BackendName,
        plan: &Plan,
    ) -> Result<Box<dyn Backend>, Error> {
        let ends = Ends {
            profile: self.profile,
            mss: self.mss,
            receive_buffer: self.receive_buffer,
        };
        let real = match &self.joined {
            Some(joined) => joined.open(name, ends, plan)?,
            None => None,
        };
        Ok(real.unwrap_or_else(|| Box::new(self.simulated())))
    }

    fn simulated(&self) -> LinuxHosts {
        let hosts = LinuxHosts::new(self.over);
        LinuxHosts {
            profile: self.profile,
            mss: self.mss.unwrap_or(hosts.mss),
            receive_buffer: self.receive_buffer.unwrap_or(hosts.receive_buffer),
            bits_per_second: self.rate,
            rtt: virtual_time(self.rtt),
            impairment: self.impairment,
            ..hosts
        }
    }

    /// Returns whether namespaces must be made for the run.
    pub(in super::super) fn needs_namespaces(&self) -> bool {
        let joined = self.joined.as_ref();
        joined.is_some_and(|joined| {
            let mut backends = self.backends.iter();
            backends.any(|backend| joined.needs_namespaces(*backend))
        })
    }
}

fn kind_name<S: Serializer>(kind: &Option<HostsKind>, to: S) -> Result<S::Ok, S::Error> {
    kind.map(HostsKind::name).serialize(to)
}

/// Writes the rate of an emulated link, on which a score's estimate is based.
fn or_nominal<S: Serializer>(rate: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(rate.unwrap_or(NOMINAL_RATE))
}

/// Returns the properties of the simulated hosts. They are always given, whatever is measured
/// beside them.
fn over(args: &Args, backends: &[BackendName]) -> Result<Over, Failure> {
    let is_simulated = backends.contains(&BackendName::Sim);
    match args.hosts {
        Some(_) if !is_simulated => refused("--hosts belongs to --backend sim".into()),
        Some(HostsKind::Linux(over)) => Ok(over),
        None if !is_simulated => Ok(Over::Veth),
        _ => refused(
            "--backend sim beside another simulates Linux's hosts, not the paper's; add --hosts linux-veth \
             or --hosts linux-tun"
                .into(),
        ),
    }
}

/// Refuses flags that belong to the model of the paper's hosts.
fn check_model(args: &Args) -> Result<(), Failure> {
    let media: &[MediumKind] = &[MediumKind::Ethernet, MediumKind::Fddi];
    for (flag, typed) in [
        ("--infer", args.infer),
        ("--server", args.server != Server::Reading),
        ("--paper", args.paper),
        ("--mclbytes", args.mclbytes.is_some()),
        (
            "--copy-rule",
            !matches!(args.copy_rule, CopyRule::Mclbytes(_)),
        ),
        ("--ack-policy", args.ack_policy.is_some()),
        ("--ack-timer", args.ack_timer.is_some()),
        ("--medium", args.medium != media),
        ("--model", args.model != Model::Fitted),
        ("--threads", args.processors.threads.is_some()),
        ("--stats", args.stats),
        ("--pcapng", args.packets.pcapng.is_some()),
        ("--trace", args.packets.trace.is_some()),
        ("--capture-at", args.packets.capture_at.is_some()),
    ] {
        if typed {
            return refused(format!(
                "{flag} belongs to the simulated hosts of the paper; leave out --backend and --hosts"
            ));
        }
    }
    Ok(())
}

/// Returns the profile whose rules the sender follows.
fn profile(args: &Args, backends: &[BackendName]) -> Result<&'static Profile, Failure> {
    let profile = args.profile.unwrap_or(&LINUX);
    let kernel = backends.iter().find(|it| it.is_kernel());
    if let Some(kernel) = kernel.filter(|_| profile.name != LINUX.name) {
        return refused(format!(
            "--profile {}: the kernel has its own rules (accepted with --backend {}: {})",
            profile.name,
            kernel.name(),
            LINUX.name
        ));
    }
    Ok(profile)
}

/// The engine's profile that imitates the kernel's rules.
const LINUX: Profile = Profile::LINUX_6;
/// Enough transfers to fill the caches and to use up the receiver's quick ACKs of a new connection.
const WARMUP: u32 = 20;

#[cfg(test)]
mod tests;
