//! `cure_dry_run`: which remedies there are for a running service, and what each would bring.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::shared::{looked, ms, target};
use crate::documents::{self, Cured};
use crate::host::Host;
use crate::refusal::Refusal;
use crate::run::{Call, Keep};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    /// A process (id or name), a port, a script, a unit, a container, or a control group. It must be answering requests
    /// meanwhile.
    target: String,
    /// How long to look for stalls, in seconds [5].
    seconds: Option<f64>,
}

/// The remedies. Nothing was changed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Told {
    sentence: String,
    connections: u64,
    looked_s: f64,
    stalls: u64,
    stalled_ms: f64,
    stalls_that_no_setting_ends: u64,
    floods: u64,
    /// In the order in which they would be tried.
    remedies: Vec<Remedy>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Remedy {
    setting: String,
    /// Whose sockets.
    sockets: Vec<String>,
    /// How many connections that are not meant it touches, too: above 0 it is never tried.
    other_connections: u64,
    /// What it would bring; null if it cannot be told.
    expected: Option<Expected>,
}

/// A figure is null where it cannot be told.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Expected {
    p50_ms: Option<Against>,
    p99_ms: Option<Against>,
    /// Data segments of the end that stalls; `whatif` counts those of both ends.
    segments_per_turn: Option<Against>,
}

/// A figure as it is, and with the remedy.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Against {
    without: Option<f64>,
    with: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

pub(crate) const NAME: &str = "cure_dry_run";
pub(crate) const ABOUT: &str = "Looks for some seconds what stalls at a running target, and lists what would end it without \
    touching the program: each remedy, whose sockets, whom else it touches, and what it is expected to bring. Nothing is \
    changed. It takes root or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN.";

pub(crate) async fn call(
    host: Arc<Host>,
    asked: Asked,
    stop: CancellationToken,
) -> Result<Told, Refusal> {
    let call = Call {
        verb: "cure",
        options: vec![
            "--dry-run".into(),
            "--json".into(),
            "--look".into(),
            looked(asked.seconds, host.program.longest())?,
        ],
        words: vec![target(&asked.target)?],
        file: None,
        keep: Keep::All,
        instead: "ask for fewer seconds",
    };
    let seen: Cured = host.program.ask(call, &stop).await?;
    Ok(told(&seen))
}

fn told(seen: &Cured) -> Told {
    let (others, floods) = (seen.stalls_that_no_setting_ends, seen.floods);
    let sentence = match (seen.stalls, &seen.why_unknown) {
        (_, Some(why)) => {
            format!("Cannot tell: {why}. Ask again while the slow request happens.")
        }
        (0, None) if others > 0 || floods > 0 => format!(
            "Nothing that a setting ends in the {:.1} s that were looked at; {others} stalls and {floods} floods that none ends.",
            seen.looked_s
        ),
        (0, None) => format!(
            "Nothing stalled in the {:.1} s that were looked at; if the slow request did not happen meanwhile, ask again \
             while it does.",
            seen.looked_s
        ),
        (stalls, None) => format!(
            "{stalls} stalls in {:.1} s cost {:.0} ms; {} remedies.",
            seen.looked_s,
            ms(seen.cost_ns),
            seen.remedies.len()
        ),
    };
    Told {
        sentence,
        connections: seen.connections,
        looked_s: seen.looked_s,
        stalls: seen.stalls,
        stalled_ms: ms(seen.cost_ns),
        stalls_that_no_setting_ends: seen.stalls_that_no_setting_ends,
        floods: seen.floods,
        remedies: seen
            .remedies
            .iter()
            .take(MOST_REMEDIES)
            .map(remedy)
            .collect(),
    }
}

fn remedy(remedy: &documents::Remedy) -> Remedy {
    Remedy {
        setting: remedy.setting.clone(),
        sockets: remedy.sockets.iter().take(MOST_SOCKETS).cloned().collect(),
        other_connections: remedy.other_connections,
        expected: remedy.expected.as_ref().map(|expected| Expected {
            p50_ms: expected.p50_ms.map(against),
            p99_ms: expected.p99_ms.map(against),
            segments_per_turn: expected.segments_per_turn.map(against),
        }),
    }
}

fn against(figure: documents::Against) -> Against {
    let documents::Against {
        without,
        value,
        low,
        high,
    } = figure;
    Against {
        without,
        with: value,
        low,
        high,
    }
}

const MOST_REMEDIES: usize = 8;
const MOST_SOCKETS: usize = 4;
