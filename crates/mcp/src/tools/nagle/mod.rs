//! `is_it_nagle`: yes, no, or cannot tell; with frames, or with lines of code.

mod capture;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::judged::{Held, Holds, Judged, ROUND_TRIP};
use super::ps::{self, Change};
use super::shared::{Answer, CallSite, Fix, Lookalike, Other, Part, Untold, gather, ms};
use super::{diagnose, watch};
use crate::documents::{Row, UnderRun, Watched};
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
    /// Of a capture: from this many seconds after its first frame on.
    from_s: Option<f64>,
    /// Of a capture: up to this many seconds after its first frame.
    to_s: Option<f64>,
}

/// The answer, and what it rests on.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Told {
    /// Whether Nagle's algorithm held data that somebody waited for.
    answer: Answer,
    /// The answer in words.
    sentence: String,
    /// Whether the other side's delayed ACK ended one of the waits; null where nothing was held.
    delayed_ack: Option<bool>,
    /// What makes the yes: all holds, by whatever they were ended.
    stalls: u64,
    stalled_ms: f64,
    /// Those of the stalls that the other side's delayed ACK ended.
    until_delayed_ack: Holds,
    /// Those of the stalls that lasted a round trip of the path: nobody delayed the ACK.
    for_a_round_trip: Holds,
    /// Of cannot_tell: what diagnose counts as stalls of this kind, each likely and none certain. They are not among `stalls`.
    likely: Holds,
    /// Where it was seen, the costliest first: frames of the capture.
    frames: Vec<Evidence>,
    /// Where it was written, the most frequent first: lines of code of the process that stalls.
    code: Vec<CallSite>,
    /// What ends it, what costs least first. One by itself suffices where its `leaves` is null.
    fixes: Vec<Fix>,
    /// Of a capture: what seems to end it and does not, or is impossible here.
    cautions: Vec<String>,
    /// What else stalls or floods here: other causes than Nagle's algorithm.
    other_causes: Vec<Other>,
    /// What looks like it and is not.
    looks_alike: Vec<Lookalike>,
    why_not_told: Vec<Untold>,
    seen: Seen,
    /// Of a target: what tinygram has set on its connections and not put back. The answer is of them as they are now.
    changes_in_force: Vec<Change>,
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
    /// Seconds after the capture's first frame.
    at_s: f64,
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
    with frames of the capture or lines of code, what it cost, and what ends it; a no \
    with how much was looked at and what else took the time; cannot_tell with what is missing. cannot_tell is not no.";

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
            Ok(capture::judged(&seen))
        }
        (None, Some(target))
            if asked.host.is_none()
                && asked.port.is_none()
                && asked.from_s.is_none()
                && asked.to_s.is_none() =>
        {
            let seen = watch::look(&host, Some(target), asked.seconds, &stop).await?;
            let mut told = of_host(&seen);
            told.changes_in_force = ps::in_force(&host, target, &stop).await;
            told.sentence += &changed(&told.changes_in_force);
            Ok(told)
        }
        _ => Err(Refusal::asked(
            "accepted are a capture (with host, port, from_s or to_s), or a target on this host (with seconds), not both",
        )),
    }
}

fn is_nagle(kind: &str) -> bool {
    NAGLE.contains(&kind)
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
    let holds = held.iter().map(|row| Held {
        kind: &row.kind,
        side: &row.side,
        count: row.count,
        ms: ms(row.cost_ns),
    });
    let told = Judged::of(answer, holds);
    let mut sentence = told.sentence(&other_causes, &why_not_told);
    if answer == Answer::No {
        sentence += &format!(
            " That holds for the {:.1} s that were watched: if the slow request did not happen meanwhile, ask again while it does.",
            seen.seconds
        );
    }
    sentence += covered(&seen.under_run);
    Told {
        answer,
        sentence,
        delayed_ack: told.delayed_ack(),
        stalls: told.stalls(),
        stalled_ms: told.stalled_ms(),
        until_delayed_ack: told.until_delayed_ack,
        for_a_round_trip: told.for_a_round_trip,
        likely: Holds::default(),
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
        changes_in_force: Vec::new(),
        next: next(answer, seen).to_owned(),
    }
}

fn next(answer: Answer, seen: &Watched) -> &'static str {
    match answer {
        Answer::Yes => {
            "whatif or cure_dry_run says what each fix would bring, before anything is changed"
        }
        Answer::No if seen.rows.is_empty() => {
            "watch sees neither loss nor closed windows nor the program's own time: capture the slow requests (tcpdump) and \
                 ask diagnose for those"
        }
        Answer::No => {
            "watch lists what else was found; it sees neither loss nor closed windows nor the program's own time: capture the \
                 slow requests (tcpdump) and ask diagnose for those"
        }
        Answer::CannotTell => "do what a remedy in why_not_told says, and ask again",
    }
}

/// Says that the answer is of programs whose writes are gathered.
fn covered(programs: &[UnderRun]) -> &'static str {
    match programs {
        [] => "",
        _ => {
            " The program is under tinygram run already, which gathers small writes: without it the answer may be another."
        }
    }
}

/// Says that the answer is of connections that tinygram has changed.
fn changed(changes: &[Change]) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let each = changes.iter().map(|one| {
        format!(
            "{}={} (before: {}; change {})",
            one.option, one.value, one.before, one.change
        )
    });
    let each: Vec<_> = each.collect();
    format!(
        " Changes of ours are in force on this target: {}. Once they are put back, the answer may be another.",
        each.join(", ")
    )
}

/// The kinds in which Nagle's rule is what holds.
const NAGLE: [&str; 4] = [
    "write-write-read",
    "odd-full-short-final",
    "buffer-tearing",
    ROUND_TRIP,
];
const MOST_SHOWN: usize = 3;
