//! A run on the paper's hosts.

use tinygram_engine::socket::copy_rule::CopyRule;
use tinygram_naglemark::hosts::{INFERENCE, PaperHosts};
use tinygram_naglemark::{MediumKind, Plan, TrialType};
use tinygram_papers::mogul::published::{APP_BUFFERS, SOCKET_BUFFERS};

use super::workload::Workload;
use super::{
    KERNELS, Meant, On, REAL, check_trials, distinct, or, policies, refused,
    requests_per_connection,
};
use crate::capture::{self, CaptureAt};
use crate::outcome::Failure;
use crate::values::virtual_time;
use crate::verbs::naglemark::args::{Args, LengthChoice};

/// The paper's hosts, once per medium.
#[derive(Clone, Debug)]
pub(in super::super) struct OnPaper {
    /// The hosts; they differ only in medium, MSS and round-trip time.
    pub(in super::super) hosts: Vec<PaperHosts>,
    /// Where the first repetition of the only cell is captured, if it is; no result depends on it.
    pub(in super::super) capture: Option<CaptureAt>,
}

pub(super) fn meant(args: &Args) -> Result<Meant, Failure> {
    let Workload {
        trial_types,
        lengths,
    } = Workload::from(args, &TrialType::ALL)?;
    check_media(args)?;
    check_rules(args)?;
    check_trials(args, &trial_types)?;
    check_sockets(args)?;
    let variants = policies::of_the_paper(&args.variant)?;
    let naglim = policies::naglim(args, variants.iter().copied())?;
    let media = distinct(&args.medium).into_iter();
    let on = OnPaper {
        hosts: media.map(|medium| hosts(medium, args)).collect(),
        capture: capture::placed(
            args.packets.capture_at,
            args.packets.pcapng.is_some() || args.packets.trace.is_some(),
        )?,
    };
    let variants = variants.into_iter();
    let plan = Plan::default()
        .policies(variants.map(|entry| policies::ours(entry, naglim)))
        .app_buffers(or(&args.app_buffer, &APP_BUFFERS))
        .socket_buffers(or(&args.socket_buffer, &SOCKET_BUFFERS))
        .trial_types(trial_types)
        .lengths(lengths)
        .requests_per_connection(requests_per_connection(args))
        .multiplier(args.multiplier.into())
        .repetitions(args.repetitions.unwrap_or(PAPER_REPETITIONS))
        .warmup(0)
        .seed(args.chance.seed);
    if on.capture.is_some() {
        check_capture(&on, &plan)?;
    }
    Ok(Meant {
        plan,
        length_choice: args.length_choice.unwrap_or(LengthChoice::PerRequest),
        naglim,
        on: On::Paper(on),
    })
}

fn is_point_to_point(medium: &MediumKind) -> bool {
    matches!(medium, MediumKind::PointToPoint { .. })
}

fn check_media(args: &Args) -> Result<(), Failure> {
    let point_to_point = args.medium.iter().any(is_point_to_point);
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

/// Refuses flags that apply only to real packets.
fn check_sockets(args: &Args) -> Result<(), Failure> {
    for (flag, typed, owners) in [
        ("--connect", args.connect.is_some(), "kernel"),
        ("--offload", args.offload, KERNELS),
        ("--link", args.link.is_some(), REAL),
        ("--warmup", args.warmup.is_some(), REAL),
    ] {
        if typed {
            return refused(format!("{flag} belongs to --backend {owners}"));
        }
    }
    if let Some(profile) = args.profile {
        return refused(format!(
            "--profile {}: the paper's hosts have their own rules; add --hosts linux-veth or --hosts linux-tun",
            profile.name
        ));
    }
    Ok(())
}

fn check_rules(args: &Args) -> Result<(), Failure> {
    if args.infer && args.ack_policy.is_some() {
        return refused(format!(
            "--infer is --ack-policy {INFERENCE}; give one of them"
        ));
    }
    if args.mclbytes.is_some() && !matches!(args.copy_rule, CopyRule::Mclbytes(_)) {
        return refused("--mclbytes belongs to --copy-rule mclbytes".into());
    }
    Ok(())
}

/// Checks that a capture is of one conversation, short enough to be read.
fn check_capture(on: &OnPaper, plan: &Plan) -> Result<(), Failure> {
    let several: Vec<_> = [
        ("--medium", on.hosts.len()),
        ("--variant", plan.policies.len()),
        ("--app-buffer", plan.app_buffers.len()),
        ("--socket-buffer", plan.socket_buffers.len()),
        ("--trial", plan.trial_types.len()),
    ]
    .into_iter()
    .filter_map(|(flag, count)| (count > 1).then_some(flag))
    .collect();
    if !several.is_empty() {
        return refused(format!(
            "--pcapng and --trace keep one cell and {} are measured; give one {}",
            on.hosts.len() * plan.cells().len(),
            several.join(", one "),
        ));
    }
    let transfers = plan.lengths.transfers(plan.trial_types[0]);
    if transfers > MAX_CAPTURED {
        return refused(format!(
            "--pcapng and --trace keep at most {MAX_CAPTURED} transfers and there are {transfers}; \
             set --transfers"
        ));
    }
    Ok(())
}

/// Returns the paper's hosts on this medium, with the given values instead of the paper's own.
fn hosts(medium: MediumKind, args: &Args) -> PaperHosts {
    let medium = match (medium, args.rate) {
        (MediumKind::PointToPoint { .. }, Some(bits_per_second)) => {
            MediumKind::PointToPoint { bits_per_second }
        }
        _ => medium,
    };
    let both_ways = args.delay.filter(|_| is_point_to_point(&medium));
    let rtt = args.rtt.or(both_ways.map(|one_way| 2 * one_way));
    let paper = PaperHosts::new(args.model, medium);
    PaperHosts {
        mss: args.mss.unwrap_or(paper.mss),
        mclbytes: args.mclbytes.unwrap_or(paper.mclbytes),
        receive_buffer: args.receive_buffer,
        ack_policy: args.ack_policy.map(|entry| (entry.make)()),
        ack_timer: args.ack_timer,
        copy_rule: match args.copy_rule {
            // The paper's own rule, with the clusters set above.
            CopyRule::Mclbytes(_) => None,
            other => Some(other),
        },
        infer: args.infer,
        rtt: virtual_time(rtt.unwrap_or_default()),
        impairment: args.impairment.into(),
        waits: args.server.into(),
        ..paper
    }
}

/// The repetitions of the paper, for which the tolerances of its tables are meant.
pub(in super::super) const PAPER_REPETITIONS: u32 = 10;
/// The most captured transfers: each keeps its segments in memory until the run is over.
const MAX_CAPTURED: u32 = 100_000;
