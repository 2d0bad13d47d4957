//! What is meant: every parameter checked against the others and filled in, before any work.

use std::time::Duration;

use serde::Serialize;
use tinygram_engine::receiver::ack_policy::Registered as AckEntry;
use tinygram_engine::sender::send_policy::{NAGLIM_DEFAULT, Registered, SendPolicy};
use tinygram_naglemark::model::INFERENCE;
use tinygram_papers::mogul::published::{APP_BUFFERS, SOCKET_BUFFERS};
use tinygram_papers::mogul::tables::VARIANTS;

use super::args::{Args, Chosen, CopyRule, LengthChoice, Medium, Model, Trial};
use super::workload::{Drawn, Sequential, Workload};
use crate::capture::{self, CaptureAt};
use crate::exit::Failure;
use crate::values::AckTimer;

/// One run of the benchmark. It serialises as the `parameters` of the JSON document: everything
/// that the results depend on, and nothing else.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Plan {
    pub(crate) model: Model,
    /// In the paper's spelling.
    #[serde(serialize_with = "labels")]
    pub(crate) variants: Vec<&'static Registered>,
    pub(crate) media: Vec<Link>,
    /// Bytes.
    pub(crate) app_buffers: Vec<u64>,
    /// Bytes.
    pub(crate) socket_buffers: Vec<u64>,
    /// As typed; what is in force is [`super::model::InForce`]'s to say.
    #[serde(skip)]
    pub(crate) receive_buffer: Option<u64>,
    pub(crate) trials: Vec<Trial>,
    /// For the trial types s and S; present if one of them is run.
    pub(crate) sequential: Option<Sequential>,
    /// For the trial types r and R; present if one of them is run.
    pub(crate) random: Option<Drawn>,
    /// In the trial types S and R; as typed.
    #[serde(skip)]
    pub(crate) requests_per_connection: Option<u64>,
    pub(crate) length_choice: LengthChoice,
    pub(crate) copy_rule: CopyRule,
    /// Bytes; absent where the copy rule knows no clusters of this kind.
    pub(crate) mclbytes: Option<u64>,
    /// Bytes; absent where NAGLIM is not measured.
    pub(crate) naglim: Option<u32>,
    /// As typed.
    #[serde(skip)]
    pub(crate) ack_policy: Option<&'static AckEntry>,
    /// As typed.
    #[serde(skip)]
    pub(crate) ack_timer: Option<AckTimer>,
    /// Whether the receiver infers the sender's buffer size.
    pub(crate) infer: bool,
    /// Share of segments, 0 to 1.
    pub(crate) loss: f64,
    /// Share of segments, 0 to 1.
    pub(crate) reorder: f64,
    /// Share of segments, 0 to 1.
    pub(crate) duplicate: f64,
    pub(crate) multiplier: u8,
    pub(crate) repetitions: u32,
    pub(crate) seed: u64,
    /// Where the one cell's first repetition is captured, if it is; no result depends on it.
    #[serde(skip)]
    pub(crate) capture: Option<CaptureAt>,
}

/// A medium with its numbers.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Link {
    pub(crate) medium: Medium,
    pub(crate) rate_bits_per_second: u64,
    /// Added to what the medium itself takes, both ways together.
    #[serde(rename = "rtt_ms", serialize_with = "milliseconds")]
    pub(crate) rtt: Duration,
    /// Bytes.
    pub(crate) mss: u16,
}

impl Plan {
    /// Section 7: "On this system, MCLBYTES = 8192."
    pub(super) const PAPER_MCLBYTES: u64 = 8192;

    /// Says what the arguments mean, or which of them contradict each other.
    pub(crate) fn from(args: &Args) -> Result<Self, Failure> {
        let Workload {
            trials,
            sequential,
            random,
        } = Workload::from(args)?;
        check_media(args)?;
        check_rules(args)?;
        check_trials(args, &trials)?;
        check_sockets(args)?;
        let variants = variants(&args.variant)?;
        let plan = Self {
            model: args.model,
            naglim: naglim(args, variants.iter().copied())?,
            variants,
            media: distinct(&args.medium)
                .into_iter()
                .map(|medium| link(medium, args))
                .collect(),
            app_buffers: or(&args.app_buffer, &APP_BUFFERS),
            socket_buffers: or(&args.socket_buffer, &SOCKET_BUFFERS),
            receive_buffer: args.receive_buffer,
            trials,
            sequential,
            random,
            requests_per_connection: args.requests_per_connection,
            length_choice: args.length_choice.unwrap_or(LengthChoice::PerRequest),
            copy_rule: args.copy_rule,
            mclbytes: (args.copy_rule == CopyRule::Mclbytes)
                .then(|| args.mclbytes.unwrap_or(Self::PAPER_MCLBYTES)),
            ack_policy: args.ack_policy,
            ack_timer: args.ack_timer,
            infer: args.infer,
            loss: args.loss,
            reorder: args.reorder,
            duplicate: args.duplicate,
            multiplier: args.multiplier,
            repetitions: args.repetitions.unwrap_or(PAPER_REPETITIONS),
            seed: args.seed,
            capture: capture::placed(
                args.capture_at,
                args.pcapng.is_some() || args.trace.is_some(),
            )?,
        };
        plan.check_capture()?;
        Ok(plan)
    }

    /// The same on the other model, once: enough for its distance from the paper.
    pub(crate) fn with_other_model(&self) -> Self {
        Self {
            model: match self.model {
                Model::Literal => Model::Fitted,
                Model::Fitted => Model::Literal,
            },
            repetitions: 1,
            ..self.clone()
        }
    }

    /// A capture is of one conversation that somebody can read.
    fn check_capture(&self) -> Result<(), Failure> {
        if self.capture.is_none() {
            return Ok(());
        }
        let several: Vec<_> = [
            ("--medium", self.media.len()),
            ("--variant", self.variants.len()),
            ("--app-buffer", self.app_buffers.len()),
            ("--socket-buffer", self.socket_buffers.len()),
            ("--trial", self.trials.len()),
        ]
        .into_iter()
        .filter_map(|(flag, count)| (count > 1).then_some(flag))
        .collect();
        if !several.is_empty() {
            return refused(format!(
                "--pcapng and --trace keep one cell and {} are measured; give one {}",
                self.cells(),
                several.join(", one "),
            ));
        }
        let sequential = self.sequential.map(|it| it.transfers);
        let transfers = sequential.or(self.random.map(|it| it.transfers));
        match transfers {
            Some(transfers) if transfers > MAX_CAPTURED => refused(format!(
                "--pcapng and --trace keep at most {MAX_CAPTURED} transfers and there are \
                 {transfers}; set --transfers"
            )),
            _ => Ok(()),
        }
    }

    /// How many cells the run has.
    pub(crate) fn cells(&self) -> usize {
        let buffers = self.app_buffers.len() * self.socket_buffers.len();
        self.media.len() * self.variants.len() * buffers * self.trials.len()
    }
}

fn check_media(args: &Args) -> Result<(), Failure> {
    let point_to_point = args.medium.contains(&Medium::PointToPoint);
    for (flag, given) in [
        ("--rate", args.rate.is_some()),
        ("--delay", args.delay.is_some()),
    ] {
        if given && !point_to_point {
            return refused(format!(
                "{flag} belongs to --medium point-to-point, which is not measured"
            ));
        }
    }
    if args.rtt.is_some() && args.delay.is_some() {
        return refused("--rtt and --delay both set the path's latency; give one of them".into());
    }
    Ok(())
}

/// What only makes sense where packets are real.
fn check_sockets(args: &Args) -> Result<(), Failure> {
    for (flag, typed, owners) in [
        ("--connect", args.connect.is_some(), "kernel"),
        ("--offload", args.offload, "kernel"),
        ("--link", args.link.is_some(), "kernel or stack"),
        ("--warmup", args.warmup.is_some(), "kernel or stack"),
    ] {
        if typed {
            return refused(format!("{flag} belongs to --backend {owners}"));
        }
    }
    Ok(())
}

fn check_rules(args: &Args) -> Result<(), Failure> {
    if args.infer && args.ack_policy.is_some() {
        return refused(format!(
            "--infer is --ack-policy {INFERENCE}; give one of them"
        ));
    }
    if args.mclbytes.is_some() && args.copy_rule != CopyRule::Mclbytes {
        return refused("--mclbytes belongs to --copy-rule mclbytes".into());
    }
    Ok(())
}

/// Whether what is said about connections and lengths has a trial type to be about.
pub(super) fn check_trials(args: &Args, trials: &[Trial]) -> Result<(), Failure> {
    if args.requests_per_connection.is_some() && !trials.iter().any(|t| t.shares_connection()) {
        return refused(
            "--requests-per-connection belongs to the trial types S and R; s and r have one request each".into(),
        );
    }
    if args.length_choice.is_some() && !trials.contains(&Trial::RandomOne) {
        return refused("--length-choice belongs to the trial type R, which is not run".into());
    }
    Ok(())
}

fn variants(chosen: &[Chosen]) -> Result<Vec<&'static Registered>, Failure> {
    let all = || SendPolicy::LIST.iter();
    if chosen.is_empty() {
        return Ok(all()
            .filter(|entry| VARIANTS.contains(&entry.label))
            .collect());
    }
    let mut named = Vec::new();
    for choice in chosen {
        match *choice {
            Chosen::All => named.extend(all()),
            Chosen::One(entry) => named.push(entry),
            Chosen::Linux(policy) => {
                return refused(format!(
                    "--policy {}: what a socket is told, so it needs --backend kernel or stack, or --profile linux_6",
                    policy.name()
                ));
            }
        }
    }
    let mut variants: Vec<&Registered> = Vec::new();
    for entry in named {
        if !variants.iter().any(|v| v.name == entry.name) {
            variants.push(entry);
        }
    }
    Ok(variants)
}

/// The limit, where NAGLIM is measured.
pub(super) fn naglim(
    args: &Args,
    mut variants: impl Iterator<Item = &'static Registered>,
) -> Result<Option<u32>, Failure> {
    let is_measured = variants.any(|variant| variant.name == NAGLIM);
    match args.naglim {
        Some(_) if !is_measured => {
            refused("--naglim belongs to --policy naglim, which is not measured".into())
        }
        Some(limit) => u32::try_from(limit)
            .map(Some)
            .or_else(|_| refused("--naglim: more than 1G".into())),
        None => Ok(is_measured.then_some(NAGLIM_DEFAULT)),
    }
}

/// Section 7: the media's rates and segment sizes.
fn link(medium: Medium, args: &Args) -> Link {
    let (rate_bits_per_second, mss) = match medium {
        Medium::Ethernet | Medium::EthernetFullDuplex => (10_000_000, 1460),
        Medium::Fddi => (100_000_000, 4312),
        Medium::PointToPoint => (args.rate.unwrap_or(1_000_000_000), 1460),
    };
    Link {
        medium,
        rate_bits_per_second,
        rtt: match (args.rtt, args.delay) {
            (Some(rtt), _) => rtt,
            (None, Some(one_way)) if medium == Medium::PointToPoint => 2 * one_way,
            _ => Duration::ZERO,
        },
        mss: args.mss.unwrap_or(mss),
    }
}

pub(super) fn refused<T>(line: String) -> Result<T, Failure> {
    Err(Failure::Input(line))
}

/// What was typed, or `otherwise` if nothing was.
pub(super) fn or(typed: &[u64], otherwise: &[u64]) -> Vec<u64> {
    distinct(if typed.is_empty() { otherwise } else { typed })
}

/// Keeps the first of equals, in order.
pub(super) fn distinct<T: Copy + PartialEq>(items: &[T]) -> Vec<T> {
    let mut kept = Vec::new();
    for item in items {
        if !kept.contains(item) {
            kept.push(*item);
        }
    }
    kept
}

fn labels<S: serde::Serializer>(entries: &[&Registered], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(entries.iter().map(|entry| entry.label))
}

fn milliseconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64() * 1e3)
}

/// What the paper did, and what the tolerances of its tables are for.
pub(super) const PAPER_REPETITIONS: u32 = 10;
/// Each keeps its segments in memory until the run is over.
const MAX_CAPTURED: u64 = 100_000;
/// The one policy with a number of its own.
pub(super) const NAGLIM: &str = "naglim";

#[cfg(test)]
mod tests;
