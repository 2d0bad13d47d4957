//! A finding: what was concluded, with the measurements on which it rests.

use std::net::IpAddr;

use tinygram_stalls::flood::Flood;
use tinygram_stalls::recipes::{self, Recipe};
use tinygram_stalls::thresholds::FINEST_NS;
use tinygram_stalls::{
    Advice, Case, Cost, Cure, Kind, Pieces, Protocol, Side, Tier, Timeout, headline,
};

use crate::flow::connection::Connection;
use crate::flow::hold::Hold;
use crate::flow::mark::Mark;
use crate::flow::odds::Odds;
use crate::verdict::check::Asked;
use crate::verdict::checked::Checked;
use crate::verdict::kinds::{slow_start_delayed_ack, small_buffer};

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
    /// What the two segments were to the application.
    pub pieces: Pieces,
    /// The protocol of the two programs, if known.
    pub protocol: Option<Protocol>,
    /// The measurements on which the finding rests.
    pub facts: Facts,
    /// Whether both ends are on one host, by their addresses.
    pub loopback: bool,
    /// The addresses of the sender and of its peer.
    pub addresses: [IpAddr; 2],
    /// The checks that were asked, in their order, and what each saw. They say how sure the finding is.
    pub checks: Checked,
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
        checks: Vec<Asked>,
    ) -> Self {
        let sender = connection.side(from);
        let rtt_ns = connection.rtt_ns().unwrap_or(0);
        let path = &connection.halves[from].path;
        let carried_ns = path.carries_ns(hold.flight.into());
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
            cost_ns: cost_ns(kind, hold, rtt_ns, carried_ns),
            pieces: hold.pieces,
            protocol: connection.protocol(),
            facts: Facts::Hold(Hold {
                timeout,
                ..hold.clone()
            }),
            loopback: connection.is_loopback(),
            addresses: [from, 1 - from].map(|end| connection.ends.ends[end].address()),
            checks: Checked::new(checks),
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

    /// Returns whether the held segment left as close to its release as can be measured from the capture point.
    pub(crate) fn is_within(&self, blur_ns: i64) -> bool {
        self.hold()
            .is_none_or(|h| h.off_ns <= blur_ns.max(FINEST_NS))
    }

    /// Returns the check that keeps the finding from being certain; `None` if it is.
    #[must_use]
    pub fn bounded_by(&self) -> Option<&Asked> {
        self.checks.bounded_by()
    }

    /// Returns how sure the finding is: certain, unless a check bounds it.
    #[must_use]
    pub fn tier(&self) -> Tier {
        self.checks.tier()
    }

    /// Returns the number of its last frame: the held segment's of a stall.
    pub(crate) fn last_frame(&self) -> u64 {
        self.frames.last().map_or(0, |mark| mark.frame)
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

    pub(super) fn case(&self) -> Case {
        let case = Case {
            blame: self.blame,
            pieces: self.pieces,
            protocol: self.protocol,
            loopback: self.loopback,
            sender_address: Some(self.addresses[0]),
            receiver_address: Some(self.addresses[1]),
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
            full_between: hold.behind.is_some(),
            flight: hold.flight,
            mss: hold.mss,
            held: hold.held_len,
            timeout: hold.timeout,
            ..case
        }
    }

    pub(crate) fn hold(&self) -> Option<&Hold> {
        match &self.facts {
            Facts::Hold(hold) => Some(hold),
            Facts::Flood(_) => None,
        }
    }
}

/// Returns the cost of a hold in nanoseconds. A segment that a policy held could have left with its trigger. A segment
/// that a window held could have left one round trip later at best. And of the wait for an ACK behind a small buffer, a
/// larger one saves what neither the path nor its link needs: `carried_ns` is the time that the link takes for the flight.
pub(crate) fn cost_ns(kind: Kind, hold: &Hold, rtt_ns: i64, carried_ns: i64) -> i64 {
    let wait_ns = hold.held.time_ns - hold.trigger.time_ns;
    match kind {
        Kind::ShortInitialSegment | Kind::SlowStartDelayedAck => (wait_ns - rtt_ns).max(0),
        Kind::SmallBuffer => {
            let saved_ns = (wait_ns - rtt_ns - carried_ns).max(0);
            match hold.step_ns {
                // A part of the flight was acknowledged in time: the path took as long.
                1.. => saved_ns.min(hold.step_ns),
                _ => saved_ns,
            }
        }
        _ => wait_ns,
    }
}
