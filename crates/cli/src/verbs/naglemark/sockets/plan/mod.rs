//! What is meant: every parameter checked against the others and filled in, before any work.

mod path;
mod policies;

use std::time::Duration;

use serde::Serialize;
use tinygram_engine::Duration as VirtualDuration;
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_naglemark::model::Model;
use tinygram_naglemark::parameters::{Lengths, MediumKind, Parameters, Trial as PaperTrial};

use super::super::args::{
    Args, BackendName, CopyRule, LengthChoice, Medium, Model as ModelName, Trial,
};
use super::super::experiment::{self, paper_trial};
use super::super::plan::{self, distinct, or, refused};
use super::super::workload::{Drawn, Sequential, Workload};
use super::kernel::Where;
use super::policy::Policy;
use super::socket::Options;
use super::stack::Line;
use crate::exit::Failure;

/// One run over sockets. It serialises as the `parameters` of the JSON document.
#[derive(Clone, Debug, Serialize)]
pub(in super::super) struct Plan {
    pub(super) backends: Vec<BackendName>,
    /// The rules of the sender, where it is not a kernel.
    pub(super) profile: &'static str,
    pub(super) variants: Vec<Policy>,
    /// Bytes; absent where NAGLIM is not measured.
    pub(super) naglim: Option<u32>,
    /// Bytes.
    pub(super) app_buffers: Vec<u64>,
    /// Bytes, as given to a kernel's SO_SNDBUF.
    pub(super) socket_buffers: Vec<u64>,
    /// Bytes, as given to SO_RCVBUF; absent where the kernel chooses.
    pub(super) receive_buffer: Option<u64>,
    pub(super) trials: Vec<Trial>,
    pub(super) sequential: Option<Sequential>,
    pub(super) random: Option<Drawn>,
    pub(super) requests_per_connection: Option<u64>,
    pub(super) length_choice: LengthChoice,
    /// What joins the kernel's sockets.
    #[serde(skip)]
    pub(super) place: Where,
    /// What joins the stack to the kernel.
    #[serde(skip)]
    pub(super) line: Line,
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
        let (place, line) = path::joined(args, &backends)?;
        let Workload {
            trials,
            sequential,
            random,
        } = Workload::with_default_trials(args, &[Trial::SequentialOne])?;
        plan::check_trials(args, &trials)?;
        let variants = policies::chosen(&args.variant, &backends)?;
        Ok(Self {
            profile: profile(args, &backends)?,
            naglim: policies::naglim(args, &variants)?,
            variants,
            backends,
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
            rtt: path::rtt(args),
            place,
            line,
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

    /// What the kernel's sockets are made with.
    pub(super) fn socket_options(&self) -> Options {
        Options {
            mss: self.mss,
            receive_buffer: self.receive_buffer,
        }
    }

    /// Whether namespaces must be made for the run.
    pub(super) fn needs_namespaces(&self) -> bool {
        self.backends.iter().any(|backend| match backend {
            BackendName::Sim => false,
            BackendName::Kernel => self.place.needs_namespaces(),
            BackendName::Stack => true,
        })
    }

    /// The transfers that the run makes.
    pub(super) fn transfers(&self) -> u64 {
        let of = |trial: &Trial| match trial.is_random() {
            true => self.random.map_or(0, |it| it.transfers),
            false => self.sequential.map_or(0, |it| it.transfers),
        };
        let all_trials: u64 = self.trials.iter().map(of).sum();
        let cells = self.variants.len() * self.app_buffers.len() * self.socket_buffers.len();
        (self.backends.len() * cells) as u64 * all_trials * u64::from(self.repetitions)
    }
}

/// What belongs to the model of the paper's hosts has no meaning here.
fn check_model(args: &Args) -> Result<(), Failure> {
    let media: &[Medium] = &[Medium::Ethernet, Medium::Fddi];
    for (flag, typed) in [
        ("--infer", args.infer),
        ("--paper", args.paper),
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
    Ok(())
}

/// Whose rules the sender follows.
fn profile(args: &Args, backends: &[BackendName]) -> Result<&'static str, Failure> {
    let name = args.profile.map_or(LINUX, |profile| profile.name);
    if name != LINUX && backends.contains(&BackendName::Kernel) {
        return refused(format!(
            "--profile {name}: the kernel has its own rules (accepted with --backend kernel: {LINUX})"
        ));
    }
    Ok(name)
}

fn milliseconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64() * 1e3)
}

/// The engine's rules that claim to be the kernel's.
pub(super) const LINUX: &str = "linux_6";
/// What a delayed transfer is measured against where no rate is typed.
const NOMINAL_RATE: u64 = 1_000_000_000;
/// As many as fill the caches and leave the receiver's quick ACKs of a new connection behind.
const WARMUP: u32 = 20;

#[cfg(test)]
mod tests;
