//! `watch`: what stalls on this host now, by process and line of code.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::shared::{CallSite, Fix, Process, Untold, Words, gather, lacking, looked, ms, target};
use crate::documents::{self, Watched};
use crate::host::Host;
use crate::refusal::Refusal;
use crate::run::{Call, Keep};
use crate::untrusted::name;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    /// A process (id or name), a port, a script, a unit, a container, or a control group; everything if there is none.
    target: Option<String>,
    /// How long to watch, in seconds [5].
    seconds: Option<f64>,
    /// The next_cursor of an earlier answer: its further rows.
    #[expect(dead_code, reason = "read before the call")]
    cursor: Option<String>,
}

/// What stalled or flooded meanwhile.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Told {
    seconds: f64,
    /// `kernel`: the kernel's own reports, exact; `packets`: judged as captures are; `none`: neither could be asked.
    source: String,
    connections: u64,
    /// None: the source does not see writes.
    writes: Option<u64>,
    segments: u64,
    stalls: u64,
    /// Waits that may be stalls and may be accidents.
    possible: u64,
    /// On the whole host, whatever the target: segments held while nobody waited, or too briefly to be told.
    held_harmlessly: u64,
    /// Why the absence of stalls would not mean that there are none.
    why_not_told: Vec<Untold>,
    /// Processes under `tinygram run` already, which gathers small writes: little is found of them.
    under_run: Vec<UnderRun>,
    fixes: Vec<Fix>,
    /// By process, peer and kind, the costliest first.
    rows: Vec<Row>,
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct UnderRun {
    policy: String,
    writes_held: u64,
    process: Process,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Row {
    kind: String,
    process: Process,
    /// The side that must change something.
    side: String,
    peer: String,
    port: u16,
    count: u64,
    possible: u64,
    cost_ms: f64,
    median_ms: f64,
    held_bytes_median: u64,
    in_flight_bytes_median: u64,
    /// How many segments a flood could do without.
    segments_saved: u64,
    code: Vec<CallSite>,
}

pub(crate) const NAME: &str = "watch";
pub(crate) const LIST: &str = "rows";
pub(crate) const ABOUT: &str = "Watches this host for some seconds, without a capture, and reports stalls and floods of small \
    TCP segments by process, peer and kind, with the line of code whose write waits. Nothing is changed. It sees only what \
    happens meanwhile: the target must be answering requests. It takes root or CAP_BPF and CAP_PERFMON.";

pub(crate) async fn call(
    host: Arc<Host>,
    asked: Asked,
    stop: CancellationToken,
) -> Result<Told, Refusal> {
    let seen = look(&host, asked.target.as_deref(), asked.seconds, &stop).await?;
    Ok(told(&seen))
}

/// Runs `watch` for some seconds.
pub(crate) async fn look(
    host: &Host,
    typed: Option<&str>,
    seconds: Option<f64>,
    stop: &CancellationToken,
) -> Result<Watched, Refusal> {
    let words: Vec<_> = typed.map(target).transpose()?.into_iter().collect();
    let once = looked(seconds, host.program.longest())?;
    let call = Call {
        verb: "watch",
        options: vec!["--json".into(), "--once".into(), once],
        words,
        file: None,
        keep: Keep::End,
        instead: "ask for fewer seconds, or for a target",
    };
    let said = host.program.run(call, stop).await?;
    // One document a line: the findings, and the summary at the end.
    let last = said
        .out
        .rsplit(|octet| *octet == b'\n')
        .find(|line| !line.is_empty());
    let summary = last.map(serde_json::from_slice::<Watched>);
    match summary {
        Some(Ok(seen)) => Ok(seen),
        Some(Err(why)) if said.code == 0 => Err(Refusal::Unreadable {
            verb: "watch",
            why: why.to_string(),
        }),
        _ => match Refusal::failed("watch", said.code, &said.line) {
            // Nothing was seen, which is no reason to say no.
            Refusal::Lacking { sentence, .. } => Ok(Watched::blind(sentence)),
            refusal => Err(refusal),
        },
    }
}

/// Returns why seeing no stall would not mean that there is none.
pub(crate) fn why_not(seen: &Watched) -> Vec<Untold> {
    let told = |reason: &str, remedy: &str| Untold {
        reason: reason.to_owned(),
        remedy: remedy.to_owned(),
    };
    if let Some(sentence) = &seen.lacking {
        return lacking(sentence);
    }
    let mut why = Vec::new();
    if !seen.nothing_matched.is_empty() {
        why.push(told(
            "no connection of the target was seen",
            "look at ps for what the target is called here, and ask while it is answering requests",
        ));
    } else if seen.seen.segments == 0 || seen.seen.writes == Some(0) {
        why.push(told(
            "nothing was written meanwhile",
            "ask while the target is answering requests, or for more seconds",
        ));
    }
    if seen.possible > 0 {
        why.push(told(
            "some waits may be stalls, and may be accidents",
            "ask for more seconds",
        ));
    }
    if seen.seen.timed > 0 {
        why.push(told(
            "messages left as late as a timer releases them, and packets do not tell why",
            "run the server as root, so that the kernel is asked",
        ));
    }
    if seen.events_lost > 0 || seen.rows_not_kept > 0 {
        why.push(told("more happened than could be kept", "ask for a target"));
    }
    why
}

/// Returns the lines of code, the most frequent first; those of one line are added up.
pub(crate) fn code<'a>(
    rows: impl Iterator<Item = &'a documents::Row>,
    most: usize,
) -> Vec<CallSite> {
    let mut sites: Vec<CallSite> = Vec::new();
    for called in rows.flat_map(|row| &row.call_sites) {
        let site = CallSite::from(called);
        let is_same = |one: &&mut CallSite| {
            (one.line, &one.untrusted.file, &one.untrusted.function)
                == (site.line, &site.untrusted.file, &site.untrusted.function)
        };
        match sites.iter_mut().find(is_same) {
            Some(one) => one.count += site.count,
            None => sites.push(site),
        }
    }
    sites.sort_by_key(|site| std::cmp::Reverse(site.count));
    sites.truncate(most);
    sites
}

fn told(seen: &Watched) -> Told {
    let mut fixes = Vec::new();
    seen.rows
        .iter()
        .for_each(|row| gather(&mut fixes, &row.advice));
    let stalls = seen.rows.iter().filter(|row| row.kind != "tinygram-flood");
    let mut rows: Vec<_> = seen.rows.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.cost_ns));
    Told {
        seconds: seen.seconds,
        source: seen.source.clone(),
        connections: seen.seen.connections,
        writes: seen.seen.writes,
        segments: seen.seen.segments,
        stalls: stalls.map(|row| row.count).sum(),
        possible: seen.possible,
        held_harmlessly: seen.excused.nobody_waited + seen.excused.short,
        why_not_told: why_not(seen),
        under_run: seen
            .under_run
            .iter()
            .take(MOST_UNDER_RUN)
            .map(under_run)
            .collect(),
        fixes,
        rows: rows.into_iter().map(row).collect(),
        next_cursor: None,
    }
}

fn under_run(of: &documents::UnderRun) -> UnderRun {
    UnderRun {
        policy: of.policy.clone(),
        writes_held: of.writes_held,
        process: Process {
            pid: Some(of.pid),
            untrusted: Words {
                name: name(&of.process),
                script: None,
                user: None,
                container: None,
            },
        },
    }
}

fn row(row: &documents::Row) -> Row {
    Row {
        kind: row.kind.clone(),
        process: Process::from(&row.process),
        side: row.side.clone(),
        peer: row.peer.clone(),
        port: row.port,
        count: row.count,
        possible: row.possible,
        cost_ms: ms(row.cost_ns),
        median_ms: ms(row.cost_median_ns),
        held_bytes_median: row.held_bytes_median,
        in_flight_bytes_median: row.in_flight_bytes_median,
        segments_saved: row.segments_saved,
        code: code(std::iter::once(row), MOST_SITES),
    }
}

const MOST_SITES: usize = 3;
const MOST_UNDER_RUN: usize = 4;
