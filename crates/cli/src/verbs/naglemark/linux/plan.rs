//! What is meant: every parameter checked against the others and filled in, before any work.

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use serde::Serialize;
use tinygram_engine::Duration as VirtualDuration;
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_link::emulator::Rules;
use tinygram_link::veth::Offload;
use tinygram_papers::mogul::model::Model;
use tinygram_papers::mogul::naglemark::{Lengths, MediumKind, Parameters, Trial as PaperTrial};

use super::super::args::{
    Args, BackendName, Chosen, CopyRule, LengthChoice, LinkName, Medium, Model as ModelName, Trial,
};
use super::super::experiment::{self, paper_trial};
use super::super::plan::{distinct, or, refused};
use super::super::workload::{Drawn, Sequential, Workload};
use super::kernel::Where;
use super::policy::Policy;
use crate::exit::Failure;

/// One run over Linux's TCP. It serialises as the `parameters` of the JSON document.
#[derive(Clone, Debug, Serialize)]
pub(in super::super) struct Plan {
    pub(super) backends: Vec<BackendName>,
    pub(super) profile: &'static str,
    pub(super) variants: Vec<Policy>,
    /// Bytes.
    pub(super) app_buffers: Vec<u64>,
    /// Bytes, as given to SO_SNDBUF.
    pub(super) socket_buffers: Vec<u64>,
    /// Bytes, as given to SO_RCVBUF; absent where the kernel chooses.
    pub(super) receive_buffer: Option<u64>,
    pub(super) trials: Vec<Trial>,
    pub(super) sequential: Option<Sequential>,
    pub(super) random: Option<Drawn>,
    pub(super) requests_per_connection: Option<u64>,
    pub(super) length_choice: LengthChoice,
    #[serde(skip)]
    pub(super) place: Where,
    /// What a score's estimate is based on, and an emulated link's rate.
    pub(super) rate_bits_per_second: u64,
    /// The rate of the link itself; absent where it is as fast as the machine.
    #[serde(skip)]
    pub(super) typed_rate: Option<u64>,
    #[serde(rename = "rtt_ms", serialize_with = "milliseconds")]
    pub(super) rtt: Duration,
    /// As typed.
    pub(super) mss: Option<u16>,
    /// Shares of segments, 0 to 1.
    pub(super) loss: f64,
    pub(super) reorder: f64,
    pub(super) duplicate: f64,
    pub(super) multiplier: u8,
    /// Transfers before each cell that are not counted.
    pub(super) warmup: u32,
    pub(super) repetitions: u32,
    pub(super) seed: u64,
}

impl Plan {
    /// Says what the arguments mean, or which of them contradict each other.
    pub(in super::super) fn from(args: &Args) -> Result<Self, Failure> {
        let backends = distinct(&args.backend);
        check_model(args)?;
        let place = place(args, &backends)?;
        let Workload {
            trials,
            sequential,
            random,
        } = Workload::with_default_trials(args, &[Trial::SequentialOne])?;
        super::super::plan::check_trials(args, &trials)?;
        Ok(Self {
            backends,
            profile: LINUX,
            variants: policies(&args.variant)?,
            app_buffers: or(&args.app_buffer, &[4096]),
            socket_buffers: or(&args.socket_buffer, &[65_536]),
            receive_buffer: args.receive_buffer,
            trials,
            sequential,
            random,
            requests_per_connection: args.requests_per_connection,
            length_choice: args.length_choice.unwrap_or(LengthChoice::PerRequest),
            rate_bits_per_second: args.rate.unwrap_or(NOMINAL_RATE),
            typed_rate: args.rate,
            rtt: rtt(args),
            place,
            mss: args.mss,
            loss: args.loss,
            reorder: args.reorder,
            duplicate: args.duplicate,
            multiplier: args.multiplier,
            warmup: args.warmup.unwrap_or(WARMUP),
            repetitions: args.repetitions.unwrap_or(1),
            seed: args.seed,
        })
    }

    /// The trials of each backend, in the order in which they are shown: what is to be done in the
    /// first repetition, and the parameters that the paper's yardsticks ask for.
    pub(super) fn cells(&self, mss: u16) -> Vec<(Policy, Parameters)> {
        let mut all = Vec::new();
        for &policy in &self.variants {
            for &app_buffer in &self.app_buffers {
                for &socket_buffer in &self.socket_buffers {
                    for &trial in &self.trials {
                        let trial = paper_trial(trial);
                        all.push((
                            policy,
                            self.parameters(mss, app_buffer, socket_buffer, trial),
                        ));
                    }
                }
            }
        }
        all
    }

    /// Lengths, seeds and yardsticks are those of the paper's experiment over such a line.
    fn parameters(
        &self,
        mss: u16,
        app_buffer: u64,
        socket_buffer: u64,
        trial: PaperTrial,
    ) -> Parameters {
        let medium = MediumKind::PointToPoint {
            bits_per_second: self.rate_bits_per_second,
        };
        // No rule of the paper's kernel is asked.
        let unused = SendPolicy::named("linux").expect("LINUX is registered");
        let paper = Parameters::paper(
            Model::Literal,
            medium,
            unused,
            app_buffer,
            socket_buffer,
            trial,
        );
        let per_connection = self
            .requests_per_connection
            .filter(|_| trial.one_connection());
        Parameters {
            mss,
            requests_per_connection: per_connection
                .map(|it| usize::try_from(it).unwrap_or(usize::MAX)),
            lengths: self.lengths(),
            rtt: VirtualDuration::from_nanos(self.rtt.as_nanos() as u64),
            seed: self.seed,
            ..paper
        }
    }

    fn lengths(&self) -> Lengths {
        experiment::lengths_of(
            self.sequential,
            self.random,
            self.length_choice,
            self.requests_per_connection,
        )
    }

    /// The steps of progress that the run takes.
    pub(super) fn steps(&self) -> u64 {
        let buffers = self.app_buffers.len() * self.socket_buffers.len();
        let cells = self.variants.len() * buffers * self.trials.len();
        (self.backends.len() * cells) as u64 * u64::from(self.repetitions)
    }
}

/// What belongs to the model of the paper's hosts has no meaning here.
fn check_model(args: &Args) -> Result<(), Failure> {
    let media: &[Medium] = &[Medium::Ethernet, Medium::Fddi];
    for (flag, typed) in [
        ("--infer", args.infer),
        ("--paper", args.paper),
        ("--naglim", args.naglim.is_some()),
        ("--mclbytes", args.mclbytes.is_some()),
        ("--copy-rule", args.copy_rule != CopyRule::Mclbytes),
        ("--ack-policy", args.ack_policy.is_some()),
        ("--ack-timer", args.ack_timer.is_some()),
        ("--medium", args.medium != media),
        ("--model", args.model != ModelName::Fitted),
        ("--threads", args.threads.is_some()),
        ("--stats", args.stats),
        ("--pcapng", args.pcapng.is_some()),
        ("--trace", args.trace.is_some()),
        ("--capture-at", args.capture_at.is_some()),
    ] {
        if typed {
            return refused(format!(
                "{flag} belongs to the simulated hosts of the paper; leave out --backend and --profile"
            ));
        }
    }
    if let Some(profile) = args.profile.filter(|profile| profile.name != LINUX) {
        return refused(format!(
            "--profile {}: this benchmark's policies are those of a Linux socket (accepted: {})",
            profile.name, LINUX
        ));
    }
    Ok(())
}

/// Checks where the kernel is measured; the simulator takes the numbers of the same place.
fn place(args: &Args, backends: &[BackendName]) -> Result<Where, Failure> {
    let has_kernel = backends.contains(&BackendName::Kernel);
    for (flag, typed) in [
        ("--link", args.link.is_some()),
        ("--connect", args.connect.is_some()),
        ("--offload", args.offload),
        ("--warmup", args.warmup.is_some()),
    ] {
        if typed && !has_kernel {
            return refused(format!("{flag} belongs to --backend kernel"));
        }
    }
    let link = args.link.unwrap_or(LinkName::Loopback);
    if args.offload && link != LinkName::Veth {
        return refused("--offload belongs to --link veth".into());
    }
    let chances = [args.loss, args.reorder, args.duplicate];
    let is_impaired = args.rate.is_some() || !rtt(args).is_zero() || chances != [0.0; 3];
    if has_kernel && is_impaired && link != LinkName::Emulated {
        return refused(
            "--rate, --rtt, --delay, --loss, --reorder and --duplicate need --link emulated where the kernel is measured".into(),
        );
    }
    if args.rtt.is_some() && args.delay.is_some() {
        return refused("--rtt and --delay both set the path's latency; give one of them".into());
    }
    if args.mss.is_some_and(|mss| mss < LEAST_MSS) {
        return refused(format!("--mss: Linux takes no less than {LEAST_MSS}"));
    }
    if let Some(typed) = &args.connect {
        if args.link.is_some() {
            return refused(
                "--connect names a server elsewhere, --link a link made here; give one of them"
                    .into(),
            );
        }
        return resolve(typed).map(Where::Remote);
    }
    Ok(match link {
        LinkName::Loopback => Where::Loopback,
        LinkName::Veth if args.offload => Where::Veth(Offload::On),
        LinkName::Veth => Where::Veth(Offload::Off),
        LinkName::Emulated => {
            let rules = Rules {
                rate: args.rate,
                delay: rtt(args) / 2,
                loss: args.loss,
                reorder: args.reorder,
                reorder_by: REORDER_BY,
                duplicate: args.duplicate,
                ..Rules::NONE
            };
            Where::Emulated(rules, args.seed)
        }
    })
}

fn resolve(typed: &str) -> Result<SocketAddr, Failure> {
    let mut found = typed.to_socket_addrs().map_err(|error| {
        Failure::Input(format!(
            "--connect {typed}: {error}; accepted: HOST:PORT as naglemark serve prints it"
        ))
    })?;
    found
        .next()
        .map_or_else(|| refused(format!("--connect {typed}: no such host")), Ok)
}

fn rtt(args: &Args) -> Duration {
    let both_ways = args.delay.map(|one_way| 2 * one_way);
    args.rtt.or(both_ways).unwrap_or_default()
}

fn policies(chosen: &[Chosen]) -> Result<Vec<Policy>, Failure> {
    let mut policies = Vec::new();
    for choice in chosen {
        match choice {
            Chosen::All => policies.extend(Policy::ALL),
            Chosen::Linux(policy) => policies.push(*policy),
            Chosen::One(entry) => {
                let names = Policy::ALL.map(Policy::name).join(", ");
                return refused(format!(
                    "--policy {}: a Linux socket cannot be told this (accepted: {names}, all)",
                    entry.name
                ));
            }
        }
    }
    if policies.is_empty() {
        return Ok(Policy::ALL.into());
    }
    Ok(distinct(&policies))
}

fn milliseconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64() * 1e3)
}

/// The engine's rules that claim to be the kernel's.
const LINUX: &str = "linux_6";
/// What a delayed transfer is measured against where no rate is typed.
const NOMINAL_RATE: u64 = 1_000_000_000;
/// As many as fill the caches and leave the receiver's quick ACKs of a new connection behind.
const WARMUP: u32 = 20;
/// Long enough for the next few segments to overtake.
const REORDER_BY: Duration = Duration::from_millis(1);
/// `TCP_MIN_MSS`.
const LEAST_MSS: u16 = 88;
