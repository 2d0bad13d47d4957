//! `diagnose`: what stalled in a capture, each with its frames, its side, its cost and what ends it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::shared::{Fix, Lookalike, Part, Untold, cautions, gather, lookalikes};
use crate::documents::{self, Diagnosis};
use crate::host::Host;
use crate::refusal::Refusal;
use crate::run::{Call, Keep};
use crate::untrusted::name;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    /// A capture (pcap, pcapng, plain or in gzip or zstd) beneath the server's root.
    capture: String,
    /// Only connections of this address.
    host: Option<String>,
    /// Only connections with this port.
    port: Option<u16>,
    /// From this many seconds after the capture's first frame on.
    from_s: Option<f64>,
    /// Up to this many seconds after the capture's first frame.
    to_s: Option<f64>,
    /// Findings of this kind only, for example write-write-read.
    kind: Option<String>,
    /// The next_cursor of an earlier answer: its further findings.
    #[expect(dead_code, reason = "read before the call")]
    cursor: Option<String>,
}

/// What was found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Told {
    /// `stalls`, `none` (enough was seen to say so), or `cannot-tell`.
    result: String,
    /// The findings in sentences, the costliest first.
    sentences: Vec<String>,
    sentences_left_out: usize,
    /// Why it cannot be told, and what would help.
    cannot_tell: Vec<Untold>,
    /// What took a third of the time or more, if nothing stalled: `slow-server`, `server-or-path`, `loss`, or `zero-window`.
    dominated_by: Option<Dominated>,
    /// When the capture's first frame was taken, in seconds since the epoch; times are counted from it. Null: no frame.
    capture_start: Option<f64>,
    frames: u64,
    segments: u64,
    connections: u64,
    stalls: u64,
    stalled_ms: f64,
    floods: u64,
    /// Waits that may be stalls and may be accidents. They are listed and not counted.
    possible: u64,
    /// Frames of QUIC, which nothing is said of.
    quic_frames: u64,
    /// Whether the capture is cut off or damaged.
    is_incomplete: bool,
    fixes: Vec<Fix>,
    /// What seems to end it and does not, or is impossible here.
    cautions: Vec<String>,
    /// What looks like a stall and is not.
    looks_alike: Vec<Lookalike>,
    findings_in_all: u64,
    findings: Vec<Finding>,
    /// Ask again with this cursor for further findings.
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Dominated {
    by: String,
    time_ms: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Finding {
    kind: String,
    /// `certain`, `likely`, or `possible`: listed and not counted.
    confidence: String,
    client: String,
    server: String,
    /// The direction of the data that was held.
    direction: String,
    /// The data sent before the wait, the ACK that ended it, and the held segment; of a flood its first and last frame.
    frames: Vec<u64>,
    /// A display filter for Wireshark.
    filter: String,
    /// Seconds after the capture's first frame, as `from_s` takes them.
    at_s: f64,
    cost_ms: f64,
    /// The side that must change something.
    blame: String,
    evidence: Vec<String>,
}

pub(crate) const NAME: &str = "diagnose";
pub(crate) const LIST: &str = "findings";
pub(crate) const ABOUT: &str = "Reads a capture and names each stall and flood of small TCP segments: its kind, its frames, \
    the side that must change something, what it cost, and what ends it. Result cannot-tell is not none.";

pub(crate) async fn call(
    host: Arc<Host>,
    asked: Asked,
    stop: CancellationToken,
) -> Result<Told, Refusal> {
    if let Some(kind) = &asked.kind
        && !host.kinds.contains(&kind.as_str())
    {
        return Err(Refusal::asked(format!(
            "kind {}: accepted are {}",
            name(kind),
            host.kinds.join(", ")
        )));
    }
    let part = Part {
        host: asked.host,
        port: asked.port,
        from_s: asked.from_s,
        to_s: asked.to_s,
    };
    let seen = look(&host, &asked.capture, &part, asked.kind.as_deref(), &stop).await?;
    Ok(told(&seen))
}

/// Runs `diagnose` on a capture.
pub(crate) async fn look(
    host: &Host,
    capture: &str,
    part: &Part,
    kind: Option<&str>,
    stop: &CancellationToken,
) -> Result<Diagnosis, Refusal> {
    let file = host.roots.open(capture)?;
    let mut options = part.options();
    options.extend([
        "--json".into(),
        format!("--finding-limit={MOST_FINDINGS}").into(),
    ]);
    options.extend(kind.map(|kind| format!("--kind={kind}").into()));
    let call = Call {
        verb: "diagnose",
        options,
        words: Vec::new(),
        file: Some(&file),
        keep: Keep::All,
        instead: "ask for a part of the capture: host, port, from_s, to_s",
    };
    host.program.ask(call, stop).await
}

fn told(seen: &Diagnosis) -> Told {
    let summary = &seen.summary;
    let mut findings: Vec<_> = seen.findings.iter().collect();
    findings.sort_by(|one, other| other.cost_ms.total_cmp(&one.cost_ms));
    let mut fixes = Vec::new();
    findings
        .iter()
        .for_each(|finding| gather(&mut fixes, &finding.steps));
    let obstacles = summary.cannot_tell.iter().flat_map(|one| &one.obstacles);
    Told {
        result: summary.result.clone(),
        sentences: summary
            .verdict
            .iter()
            .take(MOST_SENTENCES)
            .cloned()
            .collect(),
        sentences_left_out: summary.verdict.len().saturating_sub(MOST_SENTENCES),
        cannot_tell: obstacles.map(Untold::from).take(MOST_SENTENCES).collect(),
        dominated_by: summary.dominated_by.as_ref().map(|it| Dominated {
            by: it.by.clone(),
            time_ms: it.time_ms,
        }),
        capture_start: seen.captures.iter().find_map(|it| it.start),
        frames: summary.frames,
        segments: summary.segments,
        connections: summary.connections,
        stalls: summary.stalls,
        stalled_ms: summary.cost_ms,
        floods: summary.floods,
        possible: summary.possible,
        quic_frames: summary.quic_frames,
        is_incomplete: !summary.incomplete.is_empty(),
        fixes,
        cautions: cautions(findings.iter().copied()),
        looks_alike: lookalikes(
            seen.connections
                .iter()
                .flat_map(|connection| &connection.ruled_out),
        ),
        findings_in_all: seen.findings.len() as u64 + summary.dropped_findings,
        findings: findings.into_iter().map(|one| finding(seen, one)).collect(),
        next_cursor: None,
    }
}

fn finding(seen: &Diagnosis, finding: &documents::Finding) -> Finding {
    let ends = seen
        .connections
        .iter()
        .find(|connection| connection.id == finding.connection);
    Finding {
        kind: finding.kind.clone(),
        confidence: finding.confidence.clone(),
        client: ends.map_or_else(String::new, |ends| ends.client.clone()),
        server: ends.map_or_else(String::new, |ends| ends.server.clone()),
        direction: finding.direction.clone(),
        frames: finding.frames.clone(),
        filter: finding.filter.clone(),
        at_s: finding.at_s,
        cost_ms: finding.cost_ms,
        blame: finding.blame.clone(),
        evidence: finding
            .evidence
            .iter()
            .take(MOST_SENTENCES)
            .cloned()
            .collect(),
    }
}

/// How many findings are read with their details; further ones are counted.
const MOST_FINDINGS: u32 = 2000;
const MOST_SENTENCES: usize = 5;
