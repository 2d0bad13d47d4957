//! What is found: one file per kind, each with its rule, its reasons and its cure.

pub mod buffer_tearing;
pub mod cork_held;
pub mod idle_restart;
pub mod odd_full_short_final;
pub mod short_initial_segment;
pub mod slow_start_delayed_ack;
pub mod small_buffer;
pub mod tinygram_flood;
pub mod write_write_read;

use std::fmt;

use crate::flow::connection::Connection;
use crate::flow::half::Mark;
use crate::hold::Hold;
use crate::odds::Odds;

/// The kinds of findings, named as their files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// See [`write_write_read`].
    WriteWriteRead,
    /// See [`odd_full_short_final`].
    OddFullShortFinal,
    /// See [`short_initial_segment`].
    ShortInitialSegment,
    /// See [`buffer_tearing`].
    BufferTearing,
    /// See [`small_buffer`].
    SmallBuffer,
    /// See [`slow_start_delayed_ack`].
    SlowStartDelayedAck,
    /// See [`idle_restart`].
    IdleRestart,
    /// See [`cork_held`].
    CorkHeld,
    /// See [`tinygram_flood`].
    TinygramFlood,
}

/// A kind's texts; each file holds one.
pub(crate) struct Words {
    /// Kebab-case, equal to the file's name.
    pub(crate) name: &'static str,
    /// For tables and headings.
    pub(crate) title: &'static str,
    /// What the sender does, as the verb of the first sentence.
    pub(crate) habit: fn(&Finding) -> String,
    /// The cure, as short as the first sentence wants it.
    pub(crate) cure: fn(&Finding) -> String,
    /// The reasons, one sentence each.
    pub(crate) evidence: fn(&Finding) -> Vec<String>,
    /// Which side should change what.
    pub(crate) advice: fn(&Finding) -> String,
}

impl Kind {
    /// All kinds, in the order in which they are tried and shown.
    pub const ALL: [Self; 9] = [
        Self::WriteWriteRead,
        Self::OddFullShortFinal,
        Self::ShortInitialSegment,
        Self::BufferTearing,
        Self::SmallBuffer,
        Self::SlowStartDelayedAck,
        Self::IdleRestart,
        Self::CorkHeld,
        Self::TinygramFlood,
    ];

    fn words(self) -> &'static Words {
        match self {
            Self::WriteWriteRead => &write_write_read::WORDS,
            Self::OddFullShortFinal => &odd_full_short_final::WORDS,
            Self::ShortInitialSegment => &short_initial_segment::WORDS,
            Self::BufferTearing => &buffer_tearing::WORDS,
            Self::SmallBuffer => &small_buffer::WORDS,
            Self::SlowStartDelayedAck => &slow_start_delayed_ack::WORDS,
            Self::IdleRestart => &idle_restart::WORDS,
            Self::CorkHeld => &cork_held::WORDS,
            Self::TinygramFlood => &tinygram_flood::WORDS,
        }
    }

    /// The name in JSON and in filters, for example `write-write-read`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.words().name
    }

    /// The name for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.words().title
    }

    /// True if a segment stood still; false for a habit that costs packets instead.
    #[must_use]
    pub fn is_stall(self) -> bool {
        self != Self::TinygramFlood
    }
}

/// The kind of a hold released by a late ACK or by a timer; none if the window explains it.
pub(crate) fn classify(hold: &Hold) -> Option<Kind> {
    type Rule = fn(&Hold) -> bool;
    let rules: [(Kind, Rule); 7] = [
        (Kind::CorkHeld, cork_held::is),
        (Kind::ShortInitialSegment, short_initial_segment::is),
        (Kind::SlowStartDelayedAck, slow_start_delayed_ack::is),
        (Kind::SmallBuffer, small_buffer::is),
        (Kind::OddFullShortFinal, odd_full_short_final::is),
        (Kind::BufferTearing, buffer_tearing::is),
        (Kind::WriteWriteRead, write_write_read::is),
    ];
    rules
        .into_iter()
        .find(|(_, is)| is(hold))
        .map(|(kind, _)| kind)
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The end that opened the connection (without a SYN: the end with the higher port).
    Client,
    /// The other.
    Server,
}

impl Side {
    /// The peer's side.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client => "client",
            Self::Server => "server",
        })
    }
}

/// How sure the finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// An accident would bring as much once in a hundred such connections at most.
    Likely,
    /// Once in a thousand at most.
    Certain,
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Likely => "likely",
            Self::Certain => "certain",
        })
    }
}

/// One stall, or one flood.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What it is.
    pub kind: Kind,
    /// The connection's number, from 0 in order of appearance.
    pub connection: u32,
    /// Who sends the data in question, and is to change something.
    pub sender: Side,
    /// Who is to blame; the sender, but for a receive buffer that is too small.
    pub blame: Side,
    /// Trigger, release and held segment of a stall; the first and the last of a flood.
    pub frames: Vec<Mark>,
    /// Start of the wait, in nanoseconds since the epoch.
    pub start_ns: i64,
    /// What it cost in nanoseconds; 0 for a flood.
    pub cost_ns: i64,
    /// How sure it is.
    pub confidence: Confidence,
    /// The measurements behind it.
    pub facts: Facts,
}

/// What was measured for a finding.
#[derive(Clone, Debug)]
pub enum Facts {
    /// Of a stall.
    Hold(Hold),
    /// Of a flood.
    Flood(tinygram_flood::Flood),
}

impl Finding {
    pub(crate) fn of_hold(
        connection: &Connection,
        from: usize,
        kind: Kind,
        hold: &Hold,
        confidence: Confidence,
    ) -> Self {
        let sender = connection.side(from);
        let rtt_ns = connection.rtt_ns().unwrap_or(0);
        let frames = [Some(hold.trigger), hold.release, Some(hold.held)];
        let blame = match kind == Kind::SmallBuffer && small_buffer::is_receivers(hold) {
            true => sender.other(),
            false => sender,
        };
        Self {
            kind,
            connection: connection.id,
            sender,
            blame,
            frames: frames.into_iter().flatten().collect(),
            start_ns: hold.trigger.time_ns,
            cost_ns: cost_ns(kind, hold, rtt_ns),
            confidence,
            facts: Facts::Hold(hold.clone()),
        }
    }

    /// Does what others show make this one more than an accident too?
    pub(crate) fn vouched_by(&self, odds: &Odds) -> bool {
        // One flight is no buffer's size, however often it is seen.
        self.kind != Kind::SmallBuffer
            && self
                .hold()
                .is_some_and(|h| h.release.is_none() || odds.vouches_for(h.off_ns))
    }

    /// The reasons in plain words, one sentence each.
    #[must_use]
    pub fn evidence(&self) -> Vec<String> {
        (self.kind.words().evidence)(self)
    }

    /// What the sender does: a verb phrase for the first sentence.
    #[must_use]
    pub fn habit(&self) -> String {
        (self.kind.words().habit)(self)
    }

    /// The cure in few words, for the first sentence.
    #[must_use]
    pub fn cure(&self) -> String {
        (self.kind.words().cure)(self)
    }

    /// Which side should change what.
    #[must_use]
    pub fn advice(&self) -> String {
        (self.kind.words().advice)(self)
    }

    fn hold(&self) -> Option<&Hold> {
        match &self.facts {
            Facts::Hold(hold) => Some(hold),
            Facts::Flood(_) => None,
        }
    }
}

/// A segment that a window held back would have left a round trip later at best; one that a
/// policy held could have left with its trigger.
fn cost_ns(kind: Kind, hold: &Hold, rtt_ns: i64) -> i64 {
    let wait_ns = hold.held.time_ns - hold.trigger.time_ns;
    match kind {
        Kind::ShortInitialSegment | Kind::SlowStartDelayedAck | Kind::SmallBuffer => {
            (wait_ns - rtt_ns).max(0)
        }
        _ => wait_ns,
    }
}

/// The sentences that every release by a late ACK shares.
fn release_evidence(finding: &Finding, first: String) -> Vec<String> {
    let Some(hold) = finding.hold() else {
        return Vec::new();
    };
    let receiver = finding.sender.other();
    let mut said = vec![first];
    if let Some(release) = hold.release {
        said.push(format!(
            "The {receiver}'s ACK (frame {}) came {} after it: a delayed ACK.",
            release.frame,
            ms(hold.ack_wait_ns)
        ));
        let there = match hold.sender_distance_ns {
            Some(ns) if ns > 200_000 => {
                format!(
                    ", which is the round trip from the capture point to the {} ({})",
                    finding.sender,
                    ms(ns)
                )
            }
            _ => String::new(),
        };
        said.push(format!(
            "{} bytes (frame {}) followed the ACK by {}{there}: they had been ready and were held.",
            hold.held_len,
            hold.held.frame,
            ms(hold.reaction_ns)
        ));
    }
    said
}

/// Milliseconds as a person reads them.
#[must_use]
pub fn ms(ns: i64) -> String {
    let ms = ns as f64 / 1e6;
    match ms {
        ms if ms >= 100.0 => format!("{ms:.0} ms"),
        ms if ms >= 10.0 => format!("{ms:.1} ms"),
        ms if ms >= 1.0 => format!("{ms:.2} ms"),
        ms => format!("{:.0} us", ms * 1e3),
    }
}
