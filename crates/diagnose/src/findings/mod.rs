//! Findings: one file per kind, with its rule, its reasons and what the sender does.

pub mod buffer_tearing;
pub mod cork_held;
pub mod idle_restart;
pub mod nagle_round_trip;
pub mod odd_full_short_final;
pub mod short_initial_segment;
pub mod slow_start_delayed_ack;
pub mod small_buffer;
pub mod tinygram_flood;
pub mod write_write_read;

use crate::flow::connection::Connection;
use crate::flow::half::{Half, Mark};
use crate::hold::Hold;
use crate::odds::Odds;
use tinygram_stalls::flood::Flood;
use tinygram_stalls::recipes::{self, Recipe};
use tinygram_stalls::thresholds::FINEST_NS;
use tinygram_stalls::{
    Advice, Case, Cost, Cure, Kind, Pieces, Protocol, Side, Tier, Timeout, headline, ms,
};

/// The texts of a kind, defined in the kind's file.
pub(crate) struct Words {
    /// What the sender does, as the verb of the first sentence.
    pub(crate) habit: fn(&Finding) -> String,
    /// The reasons, one sentence each.
    pub(crate) evidence: fn(&Finding) -> Vec<String>,
}

fn words(kind: Kind) -> &'static Words {
    match kind {
        Kind::WriteWriteRead => &write_write_read::WORDS,
        Kind::OddFullShortFinal => &odd_full_short_final::WORDS,
        Kind::ShortInitialSegment => &short_initial_segment::WORDS,
        Kind::BufferTearing => &buffer_tearing::WORDS,
        Kind::SmallBuffer => &small_buffer::WORDS,
        Kind::SlowStartDelayedAck => &slow_start_delayed_ack::WORDS,
        Kind::IdleRestart => &idle_restart::WORDS,
        Kind::CorkHeld => &cork_held::WORDS,
        Kind::NagleRoundTrip => &nagle_round_trip::WORDS,
        Kind::TinygramFlood => &tinygram_flood::WORDS,
    }
}

/// Returns the kind of a hold that a late ACK or a timer released; `None` if the window explains
/// it.
pub(crate) fn classify(hold: &Hold, half: &Half) -> Option<Kind> {
    type Rule = fn(&Hold, &Half) -> bool;
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
        .find(|(_, is)| is(hold, half))
        .map(|(kind, _)| kind)
}

/// One stall, or one flood.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The kind.
    pub kind: Kind,
    /// The connection's number, from 0 in order of appearance.
    pub connection: u32,
    /// The side that sends the data in question.
    pub sender: Side,
    /// The side to blame: the sender, except if a receive buffer is too small.
    pub blame: Side,
    /// Trigger, release and held segment of a stall; the first and last segment of a flood.
    pub frames: Vec<Mark>,
    /// The start of the wait, in nanoseconds since the epoch.
    pub start_ns: i64,
    /// The cost in nanoseconds; 0 for a flood.
    pub cost_ns: i64,
    /// How sure the finding is.
    pub tier: Tier,
    /// What the two segments were to the application.
    pub pieces: Pieces,
    /// The protocol of the two programs, if known.
    pub protocol: Option<Protocol>,
    /// The measurements on which the finding rests.
    pub facts: Facts,
}

/// The measurements for a finding.
#[derive(Clone, Debug)]
pub enum Facts {
    /// The measurements of a stall.
    Hold(Hold),
    /// The measurements of a flood.
    Flood(Flood),
}

impl Finding {
    pub(crate) fn of_hold(
        connection: &Connection,
        from: usize,
        kind: Kind,
        hold: &Hold,
        tier: Tier,
    ) -> Self {
        let sender = connection.side(from);
        let rtt_ns = connection.rtt_ns().unwrap_or(0);
        let frames = [Some(hold.trigger), hold.release, Some(hold.held)];
        let blame = match kind == Kind::SmallBuffer && small_buffer::is_receivers(hold) {
            true => sender.other(),
            false => sender,
        };
        let timeout = match kind {
            Kind::SlowStartDelayedAck => {
                slow_start_delayed_ack::timeout(hold, &connection.halves[from])
            }
            _ => Timeout::No,
        };
        Self {
            kind,
            connection: connection.id,
            sender,
            blame,
            frames: frames.into_iter().flatten().collect(),
            start_ns: hold.trigger.time_ns,
            cost_ns: cost_ns(kind, hold, rtt_ns),
            tier,
            pieces: hold.pieces,
            protocol: connection.protocol(),
            facts: Facts::Hold(Hold {
                timeout,
                ..hold.clone()
            }),
        }
    }

    /// Does what others show make this one more than an accident too?
    pub(crate) fn vouched_by(&self, odds: &Odds, blur_ns: i64) -> bool {
        // One flight is no buffer's size, however often it is seen.
        self.kind != Kind::SmallBuffer
            && self
                .hold()
                .is_some_and(|h| h.release.is_none() || odds.vouches_for(h.off_ns, blur_ns))
    }

    /// It left as close to where its release puts it as can be told from the capture point.
    pub(crate) fn is_within(&self, blur_ns: i64) -> bool {
        self.hold()
            .is_none_or(|h| h.off_ns <= blur_ns.max(FINEST_NS))
    }

    /// Returns the reasons for the finding, one sentence each.
    #[must_use]
    pub fn evidence(&self) -> Vec<String> {
        (words(self.kind).evidence)(self)
    }

    /// Returns what the sender does: a verb phrase for the first sentence.
    #[must_use]
    pub fn habit(&self) -> String {
        (words(self.kind).habit)(self)
    }

    /// Returns the cure in a few words, for the first sentence.
    #[must_use]
    pub fn cure(&self) -> String {
        headline(&self.case())
    }

    /// Returns what can be changed at both ends.
    #[must_use]
    pub fn advice(&self) -> Advice {
        Advice::of(&self.case())
    }

    /// Returns what it cost.
    #[must_use]
    pub fn cost(&self) -> Cost {
        match &self.facts {
            Facts::Hold(_) => Cost::time(self.cost_ns),
            Facts::Flood(flood) => Cost::segments(u64::from(flood.saved)),
        }
    }

    /// Returns how to make the change in programs that play the role of the blamed side.
    pub fn recipes(&self, server_port: u16) -> impl Iterator<Item = &'static Recipe> {
        let case = self.case();
        let advice = Advice::of(&case);
        let advised: Vec<Cure> = advice.by(self.blame).map(|step| step.cure).collect();
        // What sends a file's header with the file does nothing for what is encrypted.
        let one_write = case.pieces == Pieces::OneMessage && case.protocol != Some(Protocol::Tls);
        recipes::for_program(server_port, case.protocol, self.blame).filter(move |recipe| {
            advised.contains(&recipe.cure) && (recipe.cure != Cure::WriteOnce || one_write)
        })
    }

    fn case(&self) -> Case {
        let case = Case {
            blame: self.blame,
            pieces: self.pieces,
            protocol: self.protocol,
            ..Case::new(self.kind, self.sender)
        };
        let Some(hold) = self.hold() else {
            return case;
        };
        let (trigger, first): (_, &[u8]) = match &hold.behind {
            Some(behind) => (behind.len, &[]),
            None => (hold.trigger_len, &hold.trigger_head),
        };
        let protocol = self.protocol.map(|protocol| protocol.within(first));
        Case {
            protocol,
            begun: protocol.and_then(|protocol| protocol.is_begun_by(first)),
            trigger,
            flight: hold.flight,
            mss: hold.mss,
            held: hold.held_len,
            timeout: hold.timeout,
            ..case
        }
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

/// Returns what a sender does whose second piece waits for the ACK of the first.
fn pieces_habit(hold: &Hold) -> String {
    let (first, second) = (hold.trigger_len, hold.held_len);
    match (hold.pieces, &hold.behind) {
        (Pieces::Pipelined, _) => {
            format!("has two messages in flight ({first} + {second} bytes), and the second waits")
        }
        (Pieces::OneMessage | Pieces::Unknown, Some(behind)) => format!(
            "holds the last {second} bytes until a short segment of {} is acknowledged",
            behind.len
        ),
        (Pieces::OneMessage | Pieces::Unknown, None) => {
            format!("writes {first} + {second} bytes separately and waits")
        }
    }
}

/// Returns the sentences about what was held behind data of any length.
fn pieces_evidence(finding: &Finding) -> Vec<String> {
    let Some(hold) = finding.hold() else {
        return Vec::new();
    };
    let (sender, len, frame, mss) = (
        finding.sender,
        hold.trigger_len,
        hold.trigger.frame,
        hold.mss,
    );
    if let Some(behind) = &hold.behind {
        let first = format!(
            "The {sender} sent {} bytes (frame {}), less than one segment of {mss}, then full segments \
             (the last: frame {}), and nothing after them.",
            behind.len, behind.frame, behind.full
        );
        let mut said = release_evidence(finding, first);
        said.push(
            "By Minshall's rule a short segment waits until the short one before it is acknowledged."
                .to_owned(),
        );
        return said;
    }
    let first = match len {
        _ if len < mss => format!(
            "The {sender} sent {len} bytes (frame {frame}), less than one segment of {mss}, and nothing after them."
        ),
        _ if len.is_multiple_of(mss) => format!(
            "The {sender} sent full segments of {mss} bytes (the last: frame {frame}), and nothing after them."
        ),
        _ => format!(
            "The {sender} sent {len} bytes (frame {frame}), which end in less than one segment of {mss}, and \
             nothing after them."
        ),
    };
    release_evidence(finding, first)
}

/// Returns the sentences that every release by an ACK shares.
fn release_evidence(finding: &Finding, first: String) -> Vec<String> {
    let Some(hold) = finding.hold() else {
        return Vec::new();
    };
    let receiver = finding.sender.other();
    let mut said = vec![first];
    if let Some(release) = hold.release {
        said.push(match hold.resent {
            None if finding.kind == Kind::NagleRoundTrip => format!(
                "The {receiver}'s ACK (frame {}) came {} after frame {}, as fast as the path allows.",
                release.frame,
                ms(hold.ack_wait_ns),
                hold.trigger.frame
            ),
            None => format!(
                "The {receiver}'s ACK (frame {}) came {} after it: a delayed ACK.",
                release.frame,
                ms(hold.ack_wait_ns)
            ),
            Some(resent) => format!(
                "The {receiver} delays its ACKs for longer than the {} waits before it sends again (frame {}, \
                 {} after the first): the ACK of that (frame {}) ended the wait.",
                finding.sender,
                resent.mark.frame,
                ms(resent.after_ns),
                release.frame
            ),
        });
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

#[cfg(test)]
pub(crate) mod tests;
