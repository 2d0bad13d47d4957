//! What is meant: every parameter checked against the others and filled in, before any work.

use std::time::Duration;

use serde::Serialize;
use tinygram_engine::receiver::ack_policy::Registered as AckEntry;
use tinygram_engine::sender::send_policy::{NAGLIM_DEFAULT, Registered, SendPolicy};
use tinygram_papers::mogul::model::INFERENCE;
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
            naglim: naglim(args, &variants)?,
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
    for (flag, typed) in [
        ("--link", args.link.is_some()),
        ("--connect", args.connect.is_some()),
        ("--offload", args.offload),
        ("--warmup", args.warmup.is_some()),
    ] {
        if typed {
            return refused(format!("{flag} belongs to --backend kernel"));
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
                    "--policy {}: what a Linux socket is told, so it needs --backend kernel or --profile linux_6",
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
fn naglim(args: &Args, variants: &[&Registered]) -> Result<Option<u32>, Failure> {
    let is_measured = variants.iter().any(|variant| variant.name == NAGLIM);
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
mod tests {
    use clap::Parser;

    use super::super::model::InForce;
    use super::*;

    #[derive(Debug, Parser)]
    struct Typed {
        #[command(flatten)]
        args: Args,
    }

    fn plan(line: &str) -> Result<Plan, String> {
        let words = std::iter::once("naglemark").chain(line.split_whitespace());
        let typed = Typed::try_parse_from(words).map_err(|error| error.to_string())?;
        Plan::from(&typed.args).map_err(|failure| match failure {
            Failure::Input(line) => line,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn without_arguments_it_is_the_papers_experiment() {
        let plan = plan("").unwrap();
        assert_eq!(plan.cells(), 2 * 11 * 9 * 4);
        assert_eq!(plan.app_buffers, [4096, 32_768, 131_072]);
        assert_eq!(plan.sequential.unwrap().transfers, 1000);
        assert_eq!(plan.random.unwrap().transfers, 1000);
        assert_eq!(plan.mclbytes, Some(8192));
        let mss: Vec<_> = plan.media.iter().map(|link| link.mss).collect();
        assert_eq!(mss, [1460, 4312]);
    }

    #[test]
    fn every_name_of_table_3_is_in_the_registry() {
        assert_eq!(plan("").unwrap().variants.len(), VARIANTS.len());
        assert!(plan(&format!("--ack-policy {INFERENCE}")).is_ok());
    }

    #[test]
    fn lengths_choose_the_trial_types_that_use_them() {
        let letters = |line| -> String {
            plan(line)
                .unwrap()
                .trials
                .iter()
                .map(|t| t.letter())
                .collect()
        };
        assert_eq!(letters(""), "SsRr");
        assert_eq!(letters("--lengths 12289"), "Ss");
        assert_eq!(letters("--lengths random:1..500"), "Rr");
        assert_eq!(letters("--lengths random:1..500,1..9"), "SsRr");
        assert_eq!(letters("--trial R,s,R"), "sR");
    }

    #[test]
    fn names_are_read_in_any_case_and_kept_once() {
        let labels = |line| -> Vec<_> {
            plan(line)
                .unwrap()
                .variants
                .iter()
                .map(|v| v.label)
                .collect()
        };
        assert_eq!(labels("--policy E+M,nagle,e+m"), ["E+M", "NAGLE"]);
        assert_eq!(labels("--variant all").len(), SendPolicy::LIST.len());
    }

    #[test]
    fn write_size_and_app_buffer_are_one() {
        assert_eq!(plan("--write-size 1,256").unwrap().app_buffers, [1, 256]);
    }

    #[test]
    fn contradictions_are_named() {
        for (line, told) in [
            (
                "--trial S --lengths random:1..9",
                "--trial S needs a series",
            ),
            ("--trial r --lengths 1..9", "--trial r needs random lengths"),
            (
                "--trial r --lengths 1..9,random:1..9",
                "no trial type uses it",
            ),
            ("--lengths 1..9,2..8", "one series, not two"),
            ("--rate 10M", "--rate belongs to --medium point-to-point"),
            (
                "--medium point-to-point --delay 1ms --rtt 1ms",
                "give one of them",
            ),
            ("--infer --ack-policy linux", "--infer is --ack-policy"),
            ("--copy-rule sunos --mclbytes 4K", "--mclbytes belongs to"),
            (
                "--trial s --requests-per-connection 10",
                "--requests-per-connection belongs to",
            ),
            (
                "--trial S --length-choice per-connection",
                "--length-choice belongs to",
            ),
            (
                "--policy nagle --naglim 30",
                "--naglim belongs to --policy naglim",
            ),
            ("--lengths 1..1G", "more than 100000000"),
            ("--capture-at receiver", "--capture-at belongs to"),
            ("--trace -", "keep one cell and 792 are measured"),
            (
                "--pcapng x --medium fddi --policy nagle --app-buffer 4K --trial S",
                "give one --socket-buffer",
            ),
        ] {
            let refusal = plan(line).unwrap_err();
            assert!(refusal.contains(told), "{line}: {refusal}");
            assert!(!refusal.contains('\n'), "{line}");
        }
    }

    #[test]
    fn what_is_in_force_is_echoed_where_nothing_was_typed() {
        let in_force = |line| serde_json::to_value(InForce::of(&plan(line).unwrap())).unwrap();
        let fitted = in_force("--socket-buffer 64K,128K");
        assert_eq!(
            fitted["receive_buffers"],
            serde_json::json!([65_535, 65_536])
        );
        assert_eq!(fitted["ack_policy"], "bytes-consumed");
        assert_eq!(fitted["ack_timer"], "cyclic:200ms");
        assert_eq!(fitted["ack_slow_timer_ms"], 500.0);
        assert_eq!(fitted["requests_per_connection"], "all");
        assert_eq!(in_force("--model literal")["ack_policy"], "every-second");
        assert_eq!(in_force("--infer")["ack_policy"], INFERENCE);
        let typed = in_force("--ack-timer 40ms --receive-buffer 8K --socket-buffer 16K");
        assert_eq!(typed["ack_timer"], "per-connection:40ms");
        assert_eq!(typed["ack_slow_timer_ms"], serde_json::Value::Null);
        assert_eq!(typed["receive_buffers"], serde_json::json!([8192]));
    }

    #[test]
    fn parameters_echo_what_results_depend_on_and_not_the_threads() {
        let echoed = |line| serde_json::to_value(plan(line).unwrap()).unwrap();
        assert_eq!(echoed("--threads 1 --stats"), echoed("--threads 2"));
        let parameters = echoed("--rtt 80ms --loss 1% --seed 7 --medium fddi");
        assert_eq!(parameters["media"][0]["rtt_ms"], 80.0);
        assert_eq!(parameters["loss"], 0.01);
        assert_eq!(parameters["seed"], 7);
        assert_eq!(parameters["naglim"], serde_json::Value::Null);
        assert_eq!(echoed("--policy naglim")["naglim"], 65_535);
        assert_eq!(echoed("--policy naglim --naglim 30")["naglim"], 30);
        assert_eq!(parameters["media"][0]["medium"], "fddi");
        assert_eq!(parameters["sequential"]["step"], 100);
    }
}
