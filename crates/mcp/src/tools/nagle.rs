//! `is_it_nagle`: yes, no, or cannot tell; with frames, or with lines of code.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::judged::{Judged, ROUND_TRIP, delayed, rounded, times};
use super::shared::{
    Answer, CallSite, Fix, Lookalike, Other, Part, Untold, cautions, gather, lookalikes, ms,
};
use super::{diagnose, watch};
use crate::documents::{Diagnosis, Finding, Row, Watched};
use crate::host::Host;
use crate::refusal::Refusal;

/// Either a capture or a target.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    /// A capture (pcap, pcapng, plain or in gzip or zstd) beneath the server's root.
    capture: Option<String>,
    /// On this host: a process (id or name), a port, a script, a unit, a container, or a control group. It must be
    /// answering requests meanwhile.
    target: Option<String>,
    /// How long to watch the target, in seconds [5].
    seconds: Option<f64>,
    /// Of a capture: only connections of this address.
    host: Option<String>,
    /// Of a capture: only connections with this port.
    port: Option<u16>,
    /// Of a capture: what comes this many seconds after its first frame, and later.
    from_s: Option<f64>,
    /// Of a capture: what comes up to this many seconds after its first frame.
    to_s: Option<f64>,
}

/// The answer, and what it rests on.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Told {
    /// Whether Nagle's algorithm held data that somebody waited for.
    answer: Answer,
    /// The answer in words.
    sentence: String,
    /// Whether the other side's delayed ACK ended the waits; null where nothing was held.
    delayed_ack: Option<bool>,
    stalls: u64,
    stalled_ms: f64,
    /// Where it was seen, the costliest first: frames of the capture.
    frames: Vec<Evidence>,
    /// Where it was written, the most frequent first: lines of code of the process that stalls.
    code: Vec<CallSite>,
    /// What ends it, what costs least first. Each by itself suffices.
    fixes: Vec<Fix>,
    /// Of a capture: what seems to end it and does not, or is impossible here.
    cautions: Vec<String>,
    /// What else stalls or floods here: other causes than Nagle's algorithm.
    other_causes: Vec<Other>,
    /// What looks like it and is not.
    looks_alike: Vec<Lookalike>,
    why_not_told: Vec<Untold>,
    seen: Seen,
    /// What to ask next.
    next: String,
}

/// A stall in a capture.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Evidence {
    kind: String,
    /// `certain`, `likely` or `possible`; a yes takes one that is certain.
    confidence: String,
    /// The data sent before the wait, the ACK that ended it, and the held segment: frame numbers as in Wireshark.
    frames: Vec<u64>,
    client: String,
    server: String,
    /// The side whose data was held.
    held_by: String,
    cost_ms: f64,
    evidence: Vec<String>,
}

/// How much was looked at: without it "no" would mean nothing.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Seen {
    connections: u64,
    segments: u64,
    /// None: captures show no writes.
    writes: Option<u64>,
    seconds: Option<f64>,
}

pub(crate) const NAME: &str = "is_it_nagle";
pub(crate) const ABOUT: &str = "Answers whether Nagle's algorithm (with the other side's delayed ACK) is what stalls a \
    service: yes, no, or cannot_tell. Give a capture, or a target on this host that is answering requests now. A yes comes \
    with frames of the capture or lines of code, what it cost, and what ends it; a no with how much was looked at and what \
    else took the time; cannot_tell with what is missing. cannot_tell is not no.";

pub(crate) async fn call(
    host: Arc<Host>,
    asked: Asked,
    stop: CancellationToken,
) -> Result<Told, Refusal> {
    match (&asked.capture, &asked.target) {
        (Some(capture), None) if asked.seconds.is_none() => {
            let part = Part {
                host: asked.host,
                port: asked.port,
                from_s: asked.from_s,
                to_s: asked.to_s,
            };
            let seen = diagnose::look(&host, capture, &part, None, &stop).await?;
            Ok(of_capture(&seen))
        }
        (None, Some(target))
            if asked.host.is_none()
                && asked.port.is_none()
                && asked.from_s.is_none()
                && asked.to_s.is_none() =>
        {
            let seen = watch::look(&host, Some(target), asked.seconds, &stop).await?;
            Ok(of_host(&seen))
        }
        _ => Err(Refusal::asked(
            "accepted are a capture (with host, port, from_s or to_s), or a target on this host (with seconds), not both",
        )),
    }
}

fn is_nagle(kind: &str) -> bool {
    NAGLE.contains(&kind)
}

/// Judges what `diagnose` found.
fn of_capture(seen: &Diagnosis) -> Told {
    let (held, maybe) = held(seen);
    let why_not_told = why_not(seen, maybe.len());
    let answer = match (held.is_empty(), why_not_told.is_empty()) {
        (false, _) => Answer::Yes,
        (true, false) => Answer::CannotTell,
        (true, true) => Answer::No,
    };
    let stalled_ms = rounded(held.iter().map(|finding| finding.cost_ms));
    let mut fixes = Vec::new();
    held.iter()
        .for_each(|finding| gather(&mut fixes, &finding.steps));
    let shown = match answer {
        // What may be it, so that one can look at the frames.
        Answer::CannotTell => maybe,
        _ => held.clone(),
    };
    let other_causes = others(seen);
    let delayed_ack = delayed(held.iter().map(|finding| finding.kind.as_str()));
    let told = Judged {
        answer,
        stalls: held.len() as u64,
        stalled_ms,
        delayed_ack,
        side: held.first().map(|finding| finding.blame.clone()),
    };
    let mut sentence = told.sentence(&other_causes, &why_not_told);
    let ruled_out = seen
        .connections
        .iter()
        .flat_map(|connection| &connection.ruled_out);
    // What fits a stall and was demoted by a check is a reason not to tell.
    let looks_alike = lookalikes(ruled_out.filter(|one| one.kind != UNCORROBORATED));
    sentence += &beside(answer, seen, looks_alike.first());
    Told {
        answer,
        sentence,
        delayed_ack,
        stalls: told.stalls,
        stalled_ms,
        frames: shown.iter().take(MOST_SHOWN).map(|finding| evidence(seen, finding)).collect(),
        code: Vec::new(),
        fixes,
        cautions: cautions(held.iter().copied()),
        other_causes,
        looks_alike,
        why_not_told: match answer {
            Answer::Yes => Vec::new(),
            _ => why_not_told,
        },
        seen: Seen {
            connections: seen.summary.connections,
            segments: seen.summary.segments,
            writes: None,
            seconds: None,
        },
        next: match answer {
            Answer::Yes => "a capture shows no code: for the line, ask is_it_nagle with the target on the host that holds",
            Answer::No => "diagnose lists what else was found; if the slow moment is not in this capture, capture again",
            Answer::CannotTell => "do what a remedy in why_not_told says, or ask with the target on one of the two hosts",
        }
        .to_owned(),
    }
}

/// Returns the findings that make a yes, the costliest first, and those that only may be it.
///
/// A yes takes one finding that is certain; then the likely ones beside it count, too.
fn held(seen: &Diagnosis) -> (Vec<&Finding>, Vec<&Finding>) {
    let of_nagle = seen
        .findings
        .iter()
        .filter(|finding| is_nagle(&finding.kind));
    let (mut maybe, mut held): (Vec<_>, Vec<_>) = of_nagle
        .partition(|finding| finding.confidence == POSSIBLE || has_full_buffer(seen, finding));
    if !held.iter().any(|finding| finding.confidence == CERTAIN) {
        maybe.append(&mut held);
    }
    held.sort_by(|one, other| other.cost_ms.total_cmp(&one.cost_ms));
    (held, maybe)
}

/// Returns whether a message's tail may have waited for room: the same side's buffer was found to be too small. Both waits end
/// with the same ACK.
fn has_full_buffer(seen: &Diagnosis, tail: &Finding) -> bool {
    tail.kind == TAIL
        && seen.findings.iter().any(|finding| {
            finding.kind == SMALL_BUFFER
                && finding.confidence != POSSIBLE
                && finding.connection == tail.connection
                && finding.direction == tail.direction
        })
}

/// Returns why a capture without a stall of this kind does not mean that there was none.
fn why_not(seen: &Diagnosis, maybe: usize) -> Vec<Untold> {
    let summary = &seen.summary;
    let told = |reason: String, remedy: &str| Untold {
        reason,
        remedy: remedy.to_owned(),
    };
    let mut why: Vec<_> = summary
        .cannot_tell
        .iter()
        .flat_map(|one| one.obstacles.iter().map(Untold::from))
        .collect();
    let all = || {
        seen.connections
            .iter()
            .flat_map(|connection| &connection.ruled_out)
    };
    let uncorroborated: u64 = all()
        .filter(|one| one.kind == UNCORROBORATED)
        .map(|one| one.count)
        .sum();
    if maybe > 0 || (summary.possible > 0 && summary.dropped_findings > 0) {
        let count = (maybe as u64).max(1);
        why.push(told(
            format!("what was seen {} may be Nagle's algorithm, and may be an accident: the capture does not exclude chance", times(count)),
            "capture longer, or on the host that sends what is late",
        ));
    }
    if uncorroborated > 0 {
        why.push(told(
            format!(
                "what fits a stall was seen {}, and a check leaves another cause possible",
                times(uncorroborated)
            ),
            "capture longer, or on the host that sends what is late",
        ));
    }
    if !summary.incomplete.is_empty() {
        why.push(told(
            "the capture is cut off or damaged: the rest was not seen".to_owned(),
            "capture again",
        ));
    }
    if summary.dropped_findings > 0 || summary.unlisted_connections > 0 {
        why.push(told(
            "there is more in the capture than was looked through".to_owned(),
            "ask for a part: host, port, from_s, to_s",
        ));
    }
    if why.is_empty() && (summary.result == "cannot-tell" || summary.segments == 0) {
        why.push(told(
            "no TCP segment was seen".to_owned(),
            "capture the connections that are slow",
        ));
    }
    why
}

/// Says what else was seen, beside the answer.
fn beside(answer: Answer, seen: &Diagnosis, lookalike: Option<&Lookalike>) -> String {
    let mut said = String::new();
    if answer == Answer::No
        && let Some(longest) = lookalike
    {
        said += &format!(
            " What looks like it and is not: {} ({}, {:.0} ms).",
            longest.kind,
            times(longest.count),
            longest.time_ms
        );
    }
    if answer != Answer::Yes
        && let Some(dominated) = &seen.summary.dominated_by
    {
        said += &format!(
            " Most of the time went to another cause: {} ({:.0} ms).",
            dominated.by, dominated.time_ms
        );
    }
    if answer == Answer::No && seen.summary.unwatched > 0 {
        said += &format!(
            " Data was held {} while nobody was seen to wait.",
            times(seen.summary.unwatched)
        );
    }
    said
}

fn others(seen: &Diagnosis) -> Vec<Other> {
    let mut others: Vec<Other> = Vec::new();
    for finding in seen
        .findings
        .iter()
        .filter(|finding| !is_nagle(&finding.kind))
    {
        match others.iter_mut().find(|other| other.kind == finding.kind) {
            Some(other) => {
                other.count += 1;
                other.cost_ms += finding.cost_ms;
                if rank(&finding.confidence) > rank(&other.confidence) {
                    other.confidence.clone_from(&finding.confidence);
                }
            }
            None => others.push(Other {
                kind: finding.kind.clone(),
                count: 1,
                cost_ms: finding.cost_ms,
                confidence: finding.confidence.clone(),
            }),
        }
    }
    others
}

fn rank(confidence: &str) -> usize {
    [POSSIBLE, "likely", CERTAIN]
        .iter()
        .position(|name| *name == confidence)
        .unwrap_or(0)
}

fn evidence(seen: &Diagnosis, finding: &Finding) -> Evidence {
    let ends = seen
        .connections
        .iter()
        .find(|connection| connection.id == finding.connection);
    let held_by = finding.direction.split("->").next().unwrap_or_default();
    Evidence {
        kind: finding.kind.clone(),
        confidence: finding.confidence.clone(),
        frames: finding.frames.clone(),
        client: ends.map_or_else(String::new, |ends| ends.client.clone()),
        server: ends.map_or_else(String::new, |ends| ends.server.clone()),
        held_by: held_by.to_owned(),
        cost_ms: finding.cost_ms,
        evidence: finding
            .evidence
            .iter()
            .take(MOST_SENTENCES)
            .cloned()
            .collect(),
    }
}

/// Judges what `watch` found.
fn of_host(seen: &Watched) -> Told {
    let mut held: Vec<&Row> = seen
        .rows
        .iter()
        .filter(|row| row.count > 0 && is_nagle(&row.kind))
        .collect();
    held.sort_by_key(|row| std::cmp::Reverse(row.cost_ns));
    let why_not_told = watch::why_not(seen);
    let answer = match (held.is_empty(), why_not_told.is_empty()) {
        (false, _) => Answer::Yes,
        (true, false) => Answer::CannotTell,
        (true, true) => Answer::No,
    };
    let mut fixes = Vec::new();
    held.iter().for_each(|row| gather(&mut fixes, &row.advice));
    let other = |row: &Row| Other {
        kind: row.kind.clone(),
        count: row.count,
        cost_ms: ms(row.cost_ns),
        confidence: "likely".to_owned(),
    };
    let others = seen
        .rows
        .iter()
        .filter(|row| row.count > 0 && !is_nagle(&row.kind));
    let other_causes: Vec<_> = others.map(other).take(MOST_SHOWN).collect();
    let told = Judged {
        answer,
        stalls: held.iter().map(|row| row.count).sum(),
        stalled_ms: rounded(held.iter().map(|row| ms(row.cost_ns))),
        delayed_ack: delayed(held.iter().map(|row| row.kind.as_str())),
        side: held.first().map(|row| row.side.clone()),
    };
    let mut sentence = told.sentence(&other_causes, &why_not_told);
    if answer == Answer::No {
        sentence += &format!(
            " That holds for the {:.1} s that were watched: if the slow request did not happen meanwhile, ask again while it does.",
            seen.seconds
        );
    }
    Told {
        answer,
        sentence,
        delayed_ack: told.delayed_ack,
        stalls: told.stalls,
        stalled_ms: told.stalled_ms,
        frames: Vec::new(),
        code: watch::code(held.iter().copied(), MOST_SHOWN),
        fixes,
        cautions: Vec::new(),
        other_causes,
        looks_alike: Vec::new(),
        why_not_told: match answer {
            Answer::Yes => Vec::new(),
            _ => why_not_told,
        },
        seen: Seen {
            connections: seen.seen.connections,
            segments: seen.seen.segments,
            writes: seen.seen.writes,
            seconds: Some(seen.seconds),
        },
        next: match answer {
            Answer::Yes => {
                "whatif or cure_dry_run says what each fix would bring, before anything is changed"
            }
            Answer::No => {
                "watch lists what else was found; it sees neither loss nor closed windows nor the program's own time: capture the \
                 slow requests (tcpdump) and ask diagnose for those"
            }
            Answer::CannotTell => "do what a remedy in why_not_told says, and ask again",
        }
        .to_owned(),
    }
}

/// The kinds in which Nagle's rule is what holds.
const NAGLE: [&str; 4] = [
    "write-write-read",
    "odd-full-short-final",
    "buffer-tearing",
    ROUND_TRIP,
];
const TAIL: &str = "odd-full-short-final";
const SMALL_BUFFER: &str = "small-buffer";
const POSSIBLE: &str = "possible";
const CERTAIN: &str = "certain";
/// What fits a stall, and a check leaves another cause possible.
const UNCORROBORATED: &str = "uncorroborated";
const MOST_SHOWN: usize = 3;
const MOST_SENTENCES: usize = 6;
