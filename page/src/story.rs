//! The story of one stall: its segments as a picture, what was asked and answered, which rule held it, and how it was
//! told apart from what only looks like it.

use std::collections::VecDeque;

use serde_json::{Value, json};
use tinygram_diagnose::{ConnectionReport, Facts, Finding, Mark, Side};
use tinygram_engine::Flags;
use tinygram_wire::capture::Frame;
use tinygram_wire::decode::{self, Segment};

/// The segments around a stall, gathered while a capture is read.
pub(crate) struct Scene<'a> {
    finding: &'a Finding,
    connection: &'a ConnectionReport,
    /// The time of the capture's first frame, in nanoseconds since the epoch.
    start_ns: i64,
    seen: VecDeque<Seen>,
    /// How many of `seen` came after the held segment.
    after: usize,
}

struct Seen {
    mark: Mark,
    by: Side,
    segment: Segment,
}

/// How many segments are shown before the stall, in it at most, and after it.
const BEFORE: usize = 4;
const WITHIN: usize = 30;
const AFTER: usize = 3;

impl<'a> Scene<'a> {
    /// Returns the scene of a stall, of which nothing has been seen, in a capture that begins at `start_ns`.
    pub(crate) fn new(
        finding: &'a Finding,
        connection: &'a ConnectionReport,
        start_ns: i64,
    ) -> Self {
        Self {
            finding,
            connection,
            start_ns,
            seen: VecDeque::new(),
            after: 0,
        }
    }

    /// Takes note of the capture's next frame, if it is a segment of the connection near the stall.
    pub(crate) fn frame(&mut self, number: u64, frame: &Frame<'_>) {
        let [Some(first), Some(last)] = [self.finding.frames.first(), self.finding.frames.last()]
        else {
            return;
        };
        if self.after == AFTER {
            return;
        }
        let Ok((segment, _)) = decode::look(frame) else {
            return;
        };
        let (client, server) = (self.connection.client, self.connection.server);
        let by = match (segment.source, segment.destination) {
            ends if ends == (client, server) => Side::Client,
            ends if ends == (server, client) => Side::Server,
            _ => return,
        };
        let mark = Mark {
            frame: number,
            time_ns: frame.time_ns,
        };
        self.after += usize::from(number > last.frame);
        if number < first.frame && self.seen.len() == BEFORE {
            self.seen.pop_front();
        }
        if self.seen.len() < BEFORE + WITHIN || number >= last.frame {
            self.seen.push_back(Seen { mark, by, segment });
        }
    }

    /// Returns the story as JSON; `text` is what `diagnose --explain` tells.
    pub(crate) fn told(&self, text: String) -> Value {
        let Self {
            finding,
            connection,
            ..
        } = self;
        let checks = finding.checks.iter().map(|asked| {
            json!({ "asks": asked.check.asks, "said": asked.to_string(), "passed": asked.passed })
        });
        let bound = finding.bounded_by();
        json!({
            "text": text,
            "title": finding.kind.title(),
            "ends": [connection.client.to_string(), connection.server.to_string()],
            "habit": format!("The {} {}.", finding.sender, finding.habit()),
            "happened": finding.evidence(),
            "rule": finding.mechanism(),
            "cost": finding.cost().to_string(),
            "tier": finding.tier().to_string(),
            "bound": bound.map(ToString::to_string),
            "cure": finding.cure(),
            "checks": checks.collect::<Vec<_>>(),
            "picture": self.picture(),
        })
    }

    /// Returns what the page draws: the segments, what was held, and the acknowledgment that was put off. Times are in
    /// nanoseconds since the first segment.
    fn picture(&self) -> Option<Value> {
        let Facts::Hold(hold) = &self.finding.facts else {
            return None;
        };
        let (first, last) = (self.seen.front()?.mark, self.seen.back()?.mark);
        let since = |at: Mark| at.time_ns - first.time_ns;
        let sender = self.finding.sender;
        let mut bases: [Option<u32>; 2] = [None; 2];
        let frames = self.seen.iter().map(|Seen { mark, by, segment }| {
            let seq = *bases[index(*by)].get_or_insert(segment.seq);
            let acks = *bases[index(by.other())].get_or_insert(segment.ack);
            json!({
                "frame": mark.frame, "from": index(*by), "left": since(*mark), "arrived": since(*mark),
                "seq": segment.seq.wrapping_sub(seq), "len": segment.payload, "ack": segment.ack.wrapping_sub(acks) as i32,
                "syn": segment.flags.has(Flags::SYN), "fin": segment.flags.has(Flags::FIN),
                "is_again": false,
            })
        });
        let owed = hold
            .release
            .filter(|_| self.finding.kind.waits_for_delayed_ack());
        let owed = owed.map(|release| {
            json!({
                "by": index(sender.other()), "is_timed": true,
                "from": since(hold.trigger), "to": since(release),
            })
        });
        let why = match hold.release {
            Some(_) => "it waits for an acknowledgment",
            None => "it waits for a timer",
        };
        Some(json!({
            "frames": frames.collect::<Vec<_>>(),
            "held": [{
                "by": index(sender), "octets": hold.held_len, "said": why,
                "from": since(hold.trigger), "to": since(hold.held),
            }],
            "owed": owed.into_iter().collect::<Vec<_>>(),
            "calls": [],
            "ends": ["client", "server"],
            "ended": since(last),
            "is_part": true,
            "numbers": [first.frame, last.frame],
            "at_s": (first.time_ns - self.start_ns) as f64 / 1e9,
            "is_from_the_first": first.time_ns == self.connection.first_ns,
        }))
    }
}

fn index(side: Side) -> usize {
    match side {
        Side::Client => 0,
        Side::Server => 1,
    }
}
