//! The meaning of the arguments, checked before any work.

use std::path::PathBuf;

use serde::Serialize;
use tinygram_engine::profile::Sizes;
use tinygram_papers::moldeklev::hosts::{COSTS, TODAY, link_today, wire};
use tinygram_papers::moldeklev::predict::timer_period;
use tinygram_papers::moldeklev::transfer::Transfer;
use tinygram_report::Destination;

use super::args::Args;
use crate::capture::{self, CaptureAt, Kept};
use crate::files::{each_its_own, opened};
use crate::outcome::Failure;

/// What is examined.
pub(super) struct Plan {
    pub(super) parameters: Parameters,
    pub(super) transfer: Transfer,
    pub(super) output: Option<(PathBuf, Destination)>,
    pub(super) plane: Option<(PathBuf, Destination)>,
    pub(super) capture: Option<(CaptureAt, Kept)>,
}

/// The `parameters` of the JSON document: everything that the results depend on.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Parameters {
    pub(super) send_buffer: u64,
    pub(super) receive_buffer: u64,
    pub(super) mss: u16,
    /// Bytes of each write and read.
    pub(super) write: u64,
    pub(super) profile: &'static str,
    /// Absent if it is the profile's.
    pub(super) policy: Option<&'static str>,
    /// Absent if it is the profile's.
    pub(super) ack_policy: Option<&'static str>,
    /// The receiver's timer, which moves a deadlocked connection.
    pub(super) ack_timer_ms: f64,
    /// The costs of the hosts and the wire between them: `sun-ipx` as fitted to the paper, or
    /// `today`.
    pub(super) hosts: &'static str,
    pub(super) runs: u32,
    pub(super) seed: u64,
}

/// The profile of the hosts that the paper measured.
const PAPER: &str = "sunos_4_1";
/// The most octets of a transfer: the paper's 16 MiB.
const TRANSFER: u64 = 16 << 20;
/// The most writes of a transfer, if they are small.
const WRITES: u64 = 16 << 10;

impl Plan {
    pub(super) fn from(args: &Args) -> Result<Self, Failure> {
        let sizes = Sizes {
            mss: args.mss,
            send_buffer: args.send_buffer,
            receive_buffer: args.receive_buffer,
        };
        let mut rules = (args.profile.config)(&sizes);
        // The question is what the buffers alone do, as on "the same IP subnetwork" (section 3).
        rules.sender.initial_cwnd = rules.sender.cwnd_cap;
        if let Some(entry) = args.policy {
            rules.sender.policy = (entry.make)();
        }
        if let Some(entry) = args.ack_policy {
            rules.receiver.policy = (entry.make)();
        }
        let of_the_paper = args.profile.name == PAPER;
        let (hosts, costs, wire) = match of_the_paper {
            true => ("sun-ipx", COSTS, wire()),
            false => ("today", TODAY, link_today()),
        };
        let parameters = Parameters {
            send_buffer: args.send_buffer,
            receive_buffer: args.receive_buffer,
            mss: args.mss,
            write: args.write,
            profile: args.profile.name,
            policy: args.policy.map(|entry| entry.name),
            ack_policy: args.ack_policy.map(|entry| entry.name),
            ack_timer_ms: timer_period(&rules.receiver).as_millis_f64(),
            hosts,
            runs: args.runs,
            seed: args.chance.seed,
        };
        let transfer = Transfer {
            rules,
            call: parameters.write,
            octets: TRANSFER.min(parameters.write.saturating_mul(WRITES)),
            costs,
            wire,
            seed: parameters.seed,
        };
        Ok(Self {
            parameters,
            transfer,
            output: opened(args.results.output.as_deref(), Destination::open)?,
            plane: opened(args.plane.as_deref(), Destination::open)?,
            capture: capture(args)?,
        })
    }
}

/// Returns where the first run is captured, if it is.
fn capture(args: &Args) -> Result<Option<(CaptureAt, Kept)>, Failure> {
    let files = [
        ("--output", &args.results.output),
        ("--plane", &args.plane),
        ("--pcapng", &args.packets.pcapng),
        ("--trace", &args.packets.trace),
    ];
    each_its_own(&files)?;
    let at = capture::placed(
        args.packets.capture_at,
        args.packets.pcapng.is_some() || args.packets.trace.is_some(),
    )?;
    let kept = |at| {
        Ok((
            at,
            Kept::open(
                args.packets.pcapng.as_deref(),
                args.packets.trace.as_deref(),
            )?,
        ))
    };
    at.map(kept).transpose()
}
