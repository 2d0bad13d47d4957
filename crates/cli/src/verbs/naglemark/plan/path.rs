//! The path between the two ends, for each backend: the flags about it, checked against each other.

use std::time::Duration;

use tinygram_naglemark::hosts::Impairment;

use super::{KERNELS, REAL, refused};
use crate::outcome::Failure;
use crate::verbs::naglemark::args::{Args, BackendName, LinkName};
use crate::verbs::naglemark::ends::Path;
use crate::verbs::naglemark::real::Joined;

/// Returns what joins the ends of the backends with real packets, if there are any. The simulator
/// uses the same figures.
pub(super) fn joined(args: &Args, backends: &[BackendName]) -> Result<Option<Joined>, Failure> {
    check_backends(args, backends)?;
    if args.rtt.is_some() && args.delay.is_some() {
        return refused("--rtt and --delay both set the path's latency; give one of them".into());
    }
    if args.mss.is_some_and(|mss| mss < LEAST_MSS) {
        return refused(format!("--mss: Linux takes no less than {LEAST_MSS}"));
    }
    let has_stack = backends.contains(&BackendName::Stack);
    let link = args.link.unwrap_or(match has_stack {
        // Of the kernel's links, the one most similar to the stack's.
        true => LinkName::Veth,
        false => LinkName::Loopback,
    });
    if args.offload && link != LinkName::Veth {
        return refused("--offload belongs to --link veth".into());
    }
    let impairment = Impairment::from(args.impairment);
    let is_impaired = args.rate.is_some() || !rtt(args).is_zero() || impairment != Impairment::NONE;
    let is_real = backends.iter().any(|backend| backend.is_real());
    if is_real && is_impaired && link != LinkName::Emulated {
        return refused(
            "--rate, --rtt, --delay, --loss, --reorder and --duplicate need --link emulated where packets are real".into(),
        );
    }
    let path = Path {
        connect: args.connect.as_deref(),
        link,
        offload: args.offload,
        rate: args.rate,
        delay: rtt(args) / 2,
        impairment,
        seed: args.chance.seed,
    };
    is_real.then(|| Joined::by(&path)).transpose()
}

/// Checks that flags about links apply to a backend that is measured.
fn check_backends(args: &Args, backends: &[BackendName]) -> Result<(), Failure> {
    let has = |backend| backends.contains(&backend);
    let has_kernel = backends.iter().any(|backend| backend.is_kernel());
    let (has_bpf, has_stack) = (has(BackendName::Bpf), has(BackendName::Stack));
    for (flag, typed, owners, owned) in [
        (
            "--connect",
            args.connect.is_some(),
            "kernel",
            has(BackendName::Kernel),
        ),
        ("--offload", args.offload, KERNELS, has_kernel),
        ("--link", args.link.is_some(), REAL, has_kernel || has_stack),
        (
            "--warmup",
            args.warmup.is_some(),
            REAL,
            has_kernel || has_stack,
        ),
    ] {
        if typed && !owned {
            return refused(format!("{flag} belongs to --backend {owners}"));
        }
    }
    match args.link {
        Some(link @ (LinkName::Loopback | LinkName::Veth)) if !has_kernel => {
            return refused(format!(
                "--link {}: joins two of the kernel's sockets, and the stack has a TUN device of its own \
                 (accepted with --backend stack: emulated, or no --link)",
                link.name()
            ));
        }
        Some(_) if args.connect.is_some() => {
            return refused(
                "--connect names a server elsewhere, --link a link made here; give one of them"
                    .into(),
            );
        }
        _ => {}
    }
    for (is_here, what) in [
        (has_stack, "the stack is measured"),
        (has_bpf, "--backend bpf loads the policies"),
    ] {
        if is_here && args.connect.is_some() {
            return refused(format!(
                "--connect names a server elsewhere, and {what} here; leave out one of them"
            ));
        }
    }
    Ok(())
}

/// Returns the round-trip time.
pub(super) fn rtt(args: &Args) -> Duration {
    let both_ways = args.delay.map(|one_way| 2 * one_way);
    args.rtt.or(both_ways).unwrap_or_default()
}

/// `TCP_MIN_MSS`.
const LEAST_MSS: u16 = 88;
