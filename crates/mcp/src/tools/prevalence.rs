//! `prevalence`: how many of a web server's responses Nagle's algorithm would stall.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::documents::Prevalence;
use crate::host::Host;
use crate::refusal::Refusal;
use crate::run::{Call, Keep};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    /// An access log in the Common or Combined Log Format (plain or in gzip) beneath the server's root.
    log: String,
    /// The largest segment of the clients' paths, in bytes [1460].
    mss: Option<u16>,
    /// The round-trip time to the clients, in milliseconds [0].
    rtt_ms: Option<f64>,
    /// Leave out the simulation of what it costs: faster.
    #[serde(default)]
    no_cost: bool,
}

/// How many responses would be delayed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Told {
    lines: u64,
    /// Lines that are in no known format.
    unreadable_lines: u64,
    responses: u64,
    days: f64,
    /// By their sizes alone (Table 1 of Mogul and Minshall), for each copying unit of a kernel.
    shares: Vec<Share>,
    /// Simulated, by send policy: `nagle` is the algorithm as it was, `off` is TCP_NODELAY, and what Linux does is first.
    costs: Vec<Cost>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Share {
    mss: u32,
    /// The kernel's copying unit in bytes; null: not taken into account.
    copying_unit: Option<u64>,
    delayed: u64,
    share_of_all_percent: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Cost {
    policy: String,
    mss: u32,
    delayed: u64,
    delayed_percent: f64,
    stall_s: f64,
    segments: u64,
}

pub(crate) const NAME: &str = "prevalence";
pub(crate) const ABOUT: &str = "Reads a web server's access log and tells how many of its responses Nagle's algorithm would \
    stall if each were written at once, and what that costs under other policies. It judges sizes, not what the server really \
    did: for that, ask is_it_nagle.";

pub(crate) async fn call(
    host: Arc<Host>,
    asked: Asked,
    stop: CancellationToken,
) -> Result<Told, Refusal> {
    let file = host.roots.open(&asked.log)?;
    let mut options = vec![
        "--format=json".into(),
        format!("--mss={}", asked.mss.unwrap_or(1460)).into(),
    ];
    options.extend(asked.rtt_ms.map(|rtt| format!("--rtt={rtt}ms").into()));
    if asked.no_cost {
        options.push("--no-cost".into());
    }
    let call = Call {
        verb: "prevalence",
        options,
        words: Vec::new(),
        file: Some(&file),
        keep: Keep::All,
        instead: "ask with no_cost",
    };
    let seen: Prevalence = host.program.ask(call, &stop).await?;
    Ok(told(&seen))
}

fn told(seen: &Prevalence) -> Told {
    let log = &seen.log;
    let share = seen.shares.iter().map(|share| Share {
        mss: share.mss,
        copying_unit: share.mclbytes,
        delayed: share.delayed,
        share_of_all_percent: share.share_of_all_percent,
    });
    let cost = seen.costs.iter().map(|cost| Cost {
        policy: cost.policy.clone(),
        mss: cost.mss,
        delayed: cost.delayed,
        delayed_percent: cost.delayed_percent,
        stall_s: cost.stall_s,
        segments: cost.segments,
    });
    Told {
        lines: log.lines,
        unreadable_lines: log.unreadable,
        responses: log.responses,
        days: log.days,
        shares: share.collect(),
        costs: cost.collect(),
    }
}
