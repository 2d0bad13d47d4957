//! What `is_it_nagle` answers of a capture.

use super::{Evidence, MOST_SHOWN, Seen, Told, is_nagle};
use crate::documents::{Diagnosis, Finding};
use crate::tools::judged::{Held, Holds, Judged, rounded, times};
use crate::tools::shared::{Answer, Lookalike, Other, Untold, cautions, gather, lookalikes};

/// Judges what `diagnose` found.
pub(super) fn judged(seen: &Diagnosis) -> Told {
    let (held, maybe) = held(seen);
    let why_not_told = why_not(seen, &maybe);
    let answer = match (held.is_empty(), why_not_told.is_empty()) {
        (false, _) => Answer::Yes,
        (true, false) => Answer::CannotTell,
        (true, true) => Answer::No,
    };
    let mut fixes = Vec::new();
    held.iter()
        .for_each(|finding| gather(&mut fixes, &finding.steps));
    let shown = match answer {
        // What may be it, so that one can look at the frames.
        Answer::CannotTell => &maybe,
        _ => &held,
    };
    let other_causes = others(seen);
    let holds = held.iter().map(|finding| Held {
        kind: &finding.kind,
        side: &finding.blame,
        count: 1,
        ms: finding.cost_ms,
    });
    let told = Judged::of(answer, holds);
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
        delayed_ack: told.delayed_ack(),
        stalls: told.stalls(),
        stalled_ms: told.stalled_ms(),
        until_delayed_ack: told.until_delayed_ack,
        for_a_round_trip: told.for_a_round_trip,
        likely: match answer {
            Answer::CannotTell => likely(seen, &maybe),
            _ => Holds::default(),
        },
        frames: shown
            .iter()
            .take(MOST_SHOWN)
            .map(|finding| evidence(seen, finding))
            .collect(),
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
        changes_in_force: Vec::new(),
        next: next(answer, seen).to_owned(),
    }
}

fn next(answer: Answer, seen: &Diagnosis) -> &'static str {
    match answer {
        Answer::Yes => {
            "a capture shows no code: for the line, ask is_it_nagle with the target on the host that holds"
        }
        Answer::No if seen.findings.is_empty() => {
            "if the slow moment is not in this capture, capture again; if it is, small segments are not what takes the time"
        }
        Answer::No => {
            "diagnose lists what else was found; if the slow moment is not in this capture, capture again"
        }
        Answer::CannotTell => {
            "do what a remedy in why_not_told says, or ask with the target on one of the two hosts"
        }
    }
}

/// Adds up those that diagnose counts as stalls: likely, and none of them certain.
fn likely(seen: &Diagnosis, maybe: &[&Finding]) -> Holds {
    let counted = || {
        maybe
            .iter()
            .filter(|finding| finding.confidence != POSSIBLE && !has_full_buffer(seen, finding))
    };
    Holds {
        count: counted().count() as u64,
        ms: rounded(counted().map(|finding| finding.cost_ms)),
    }
}

/// Says what would tell more of these: a longer capture, and one at the side that sends what is late if this was not.
fn nearer(seen: &Diagnosis, maybe: &[&Finding]) -> String {
    let mut sides: Vec<&str> = Vec::new();
    for finding in maybe {
        let side = finding.direction.split("->").next().unwrap_or_default();
        let of = seen
            .connections
            .iter()
            .find(|one| one.id == finding.connection);
        let is_near = of.is_some_and(|one| {
            let host = |end: &str| end.rsplit_once(':').map(|(host, _)| host.to_owned());
            // Within one host each end is there.
            one.capture_point.strip_prefix("near-") == Some(side)
                || host(&one.client) == host(&one.server)
        });
        if !is_near && !sides.contains(&side) {
            sides.push(side);
        }
    }
    match (maybe.is_empty(), sides.is_empty()) {
        (true, _) => "capture longer".to_owned(),
        (false, true) => "capture longer: it was captured where what is late is sent".to_owned(),
        (false, false) => format!(
            "capture longer, or on the {}, which sends what is late",
            sides.join(" and on the ")
        ),
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
fn why_not(seen: &Diagnosis, maybe: &[&Finding]) -> Vec<Untold> {
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
    let likely = likely(seen, maybe);
    if likely.count > 0 {
        why.push(told(
            match likely.count {
                1 => format!(
                    "1 stall ({:.0} ms), which diagnose counts, is likely Nagle's algorithm and not certain: the capture does \
                     not exclude chance",
                    likely.ms
                ),
                count => format!(
                    "{count} stalls ({:.0} ms in all), which diagnose counts, are likely Nagle's algorithm and none is \
                     certain: the capture does not exclude chance",
                    likely.ms
                ),
            },
            &nearer(seen, maybe),
        ));
    }
    let possible = (maybe.len() as u64).saturating_sub(likely.count);
    if possible > 0 || (summary.possible > 0 && summary.dropped_findings > 0) {
        why.push(told(
            format!(
                "what was seen {} may be Nagle's algorithm, and may be an accident: the capture does not exclude chance",
                times(possible.max(1))
            ),
            &nearer(seen, maybe),
        ));
    }
    if uncorroborated > 0 {
        why.push(told(
            format!(
                "what fits a stall was seen {}, and a check leaves another cause possible",
                times(uncorroborated)
            ),
            "capture longer, or on both hosts",
        ));
    }
    // Where nothing stalled, it is one of the obstacles.
    if !summary.incomplete.is_empty() && summary.result != "cannot-tell" {
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
            " A third of the time or more went to another cause: {} ({:.0} ms).",
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
        at_s: finding.at_s,
        cost_ms: finding.cost_ms,
        evidence: finding
            .evidence
            .iter()
            .take(MOST_SENTENCES)
            .cloned()
            .collect(),
    }
}

const TAIL: &str = "odd-full-short-final";
const SMALL_BUFFER: &str = "small-buffer";
const POSSIBLE: &str = "possible";
const CERTAIN: &str = "certain";
/// What fits a stall, and a check leaves another cause possible.
const UNCORROBORATED: &str = "uncorroborated";
const MOST_SENTENCES: usize = 6;
