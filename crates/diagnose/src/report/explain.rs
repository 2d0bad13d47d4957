//! Tells the story of one segment, accused or not.

use tinygram_stalls::{Tier, ms};

use super::summary::Report;
use crate::conversation::about::{About, Observed};
use crate::findings::finding::Finding;
use crate::flow::hold::Hold;
use crate::flow::seen::Plain;
use crate::verdict::check::{Asked, Effect};

/// Returns the story of the frame, a line each.
pub(crate) fn lines(about: &About, report: &Report) -> Vec<String> {
    let frame = about.frame;
    let frames = report.summary.frames;
    if frame == 0 || frame > frames {
        return vec![format!(
            "The capture has no frame {frame}: it has {frames}."
        )];
    }
    let mut told = Vec::new();
    let connection = about.connection.get();
    let rows = &report.connections;
    let row = connection.and_then(|id| rows.iter().find(|row| row.id == id));
    if let Some(row) = row {
        let (client, server) = (row.client, row.server);
        told.push(format!("Connection {}: {client} -> {server}.", row.id));
    }
    let ended = |it: &&Finding| it.frames.last().is_some_and(|mark| mark.frame == frame);
    let finding = report.findings.iter().find(ended);
    let (observed, ledger) = (about.observed.borrow(), about.ledger.borrow());
    let yes = match (finding.map(Finding::tier), ledger.ended_by) {
        (Some(Tier::Certain | Tier::Likely), _) => "Yes",
        (Some(Tier::Possible), _) | (None, None) => "Perhaps",
        (None, Some(_)) => "It looks so",
    };
    told.push(format!("Held? {}", held(&observed, yes)));
    if let Observed::Held(hold) | Observed::Restarted(hold) = &*observed {
        told.extend(when(hold));
    }
    let asked = finding.map_or(ledger.asked.as_slice(), |it| &it.checks);
    told.extend(answers(asked));
    match (finding, ledger.ended_by) {
        (Some(finding), _) => told.extend(verdict(finding)),
        (None, Some(check)) => told.push(match check.effect {
            Effect::Unsaid => format!("So nothing is said of it: {}.", check.failed),
            _ => {
                let (kind, measured) = (check.lookalike(), is_path_measured(&observed));
                let reason = kind.reason_if(measured);
                format!("So it is no stall but {}: {reason}.", kind.name())
            }
        }),
        (None, None) if matches!(&*observed, Observed::Held(_)) => told.push(
            "So nothing is said of it: its kind was not asked for, or more was found than is kept."
                .into(),
        ),
        (None, None) => {}
    }
    told.extend(part(frame, report));
    told
}

/// Returns whether it was held, as an answer.
fn held(observed: &Observed, yes: &str) -> String {
    match observed {
        Observed::Nothing => "No: it is no segment of a connection that was followed (no TCP, a SYN, a reset, or left out).".into(),
        Observed::Plain(Plain::NoData) => "No: it has no data.".into(),
        Observed::Plain(Plain::Copy) => "No: the same frame was recorded before.".into(),
        Observed::Plain(Plain::KeepAlive) => "No: it keeps the connection alive.".into(),
        Observed::Plain(Plain::First) => {
            "No: it is the first data of its sender, or what came before was not recorded.".into()
        }
        Observed::Plain(Plain::Answer) => "No: it answers what the peer sent.".into(),
        Observed::Plain(Plain::InFlight) => {
            "No: data was in flight, and its sender sent on without waiting.".into()
        }
        Observed::Plain(Plain::Early) => {
            "No: it left before the acknowledgment can have reached its sender.".into()
        }
        Observed::Plain(Plain::Repeated) => "No: it repeats what was sent before.".into(),
        Observed::Plain(Plain::Unprompted) => {
            "No: neither a late ACK nor a timer came right before it. (After an ACK that was not late it has waited for a round trip at most.)".into()
        }
        Observed::Thought(ns) => format!(
            "No: its program produced it later. A late ACK had come, and it left {} after that.",
            ms(*ns)
        ),
        Observed::Defied(ns) => format!(
            "No: it left upon an ACK after {}, but its sender had just sent small data while small data was unacknowledged.",
            ms(*ns)
        ),
        Observed::Lost(ns) => format!("No: it was sent again, {} after the first time.", ms(*ns)),
        Observed::Held(hold) | Observed::Restarted(hold) => {
            let waited = ms(hold.held.time_ns - hold.trigger.time_ns);
            let by = match hold.release {
                Some(release) => format!("until the ACK in frame {} came", release.frame),
                None => "until a timer of its sender let it go".to_owned(),
            };
            format!(
                "{yes}: its {} bytes waited {waited} behind the {} bytes of frame {}, {by}.",
                hold.held_len, hold.trigger_len, hold.trigger.frame
            )
        }
    }
}

/// Returns whether a handshake has measured the path on which a segment was held.
fn is_path_measured(observed: &Observed) -> bool {
    match observed {
        Observed::Held(hold) | Observed::Restarted(hold) => hold.path_measured,
        _ => false,
    }
}

/// Returns the times between the three moments.
fn when(hold: &Hold) -> Option<String> {
    hold.release?;
    let there = hold.sender_distance_ns.map_or(String::new(), |ns| {
        let at_most = if hold.path_measured { "" } else { "at most " };
        format!("; the sender is {at_most}{} away, there and back", ms(ns))
    });
    Some(format!(
        "The ACK came {} after the data, and the segment {} after the ACK{there}.",
        ms(hold.ack_wait_ns),
        ms(hold.reaction_ns)
    ))
}

/// Returns what was asked: the names of what was passed, and a line for each check that was not.
fn answers(asked: &[Asked]) -> Vec<String> {
    if asked.is_empty() {
        return Vec::new();
    }
    let mut told = Vec::new();
    let passed = asked.iter().filter(|one| one.passed);
    let names: Vec<_> = passed.map(|one| one.check.name).collect();
    if !names.is_empty() {
        told.push(format!("Asked and passed: {}.", names.join(", ")));
    }
    let failed = asked.iter().filter(|one| !one.passed);
    told.extend(failed.map(|one| format!("Asked {}: no, {one}.", one.check.name)));
    told
}

/// Returns the verdict, and what bounded it.
fn verdict(finding: &Finding) -> Vec<String> {
    let what = finding.kind.title();
    let mut told = vec![format!(
        "So it is {what} by the {}, {}: {}.",
        finding.sender,
        finding.tier(),
        finding.cost()
    )];
    let more = match finding.tier() {
        Tier::Certain => return told,
        Tier::Likely => "Likely and no more",
        Tier::Possible => "Possible and no more",
    };
    if let Some(bound) = finding.bounded_by() {
        let unless = match bound.check.effect {
            Effect::PossibleAlone => ", and nothing else of the program shows more",
            _ => "",
        };
        told.push(format!("{more}, because {bound}{unless}."));
    }
    told
}

/// Returns the part that the frame has in the stall of another.
fn part(frame: u64, report: &Report) -> Option<String> {
    report.findings.iter().find_map(|finding| {
        let at = finding.frames.iter().position(|mark| mark.frame == frame)?;
        let last = finding.frames.last()?;
        let part = match (finding.kind.is_stall(), at + 1 == finding.frames.len(), at) {
            (false, ..) | (_, true, _) => return None,
            (true, false, 0) => "the data behind which",
            (true, false, _) => "the ACK upon which",
        };
        Some(format!(
            "It is {part} frame {} waited: {}, {}.",
            last.frame,
            finding.kind.title(),
            finding.tier()
        ))
    })
}
