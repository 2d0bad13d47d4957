//! What a hold is judged by: what was seen of its connection until now.

use std::cell::RefCell;

use tinygram_stalls::Kind;
use tinygram_stalls::thresholds::{
    ANSWER_AT_ONCE_NS, ANSWER_PATHS, FEW_ACKS, LATE_ACK_NS, LEAST_DELAY_NS, LONGEST_DELAY_NS,
    OWN_TIMER_ACKS, PROMPT_IN, SAME_TIMER_IN, UNANSWERED_TURNS, USUAL_ANSWER_PERCENT, is_on_timer,
};

use super::check::{Asked, Check};
use super::kinds;
use super::ledger::Ledger;
use crate::flow::half::Half;
use crate::flow::hold::Hold;

/// What was seen of the direction that held, and of its peer.
pub(crate) struct Evidence<'a> {
    /// The direction that held.
    pub(crate) half: &'a Half,
    /// How sharply the release can be placed from the capture point, in nanoseconds.
    pub(crate) blur_ns: i64,
    /// When the peer answered, if it did; none if the connection was closed or goes on.
    pub(crate) answered_ns: Option<i64>,
    /// How long the peer takes to answer, on average, in nanoseconds.
    pub(crate) answers_ns: i64,
    /// How often the peer spoke after this sender had.
    pub(crate) answers: u32,
    /// The peer has answered time and again, and never spoke but after this sender.
    pub(crate) takes_turns: bool,
    /// The peer never spoke but after this sender.
    pub(crate) never_unasked: bool,
    /// A relay in the capturing host stands between the ends.
    pub(crate) relayed: bool,
    /// The sender has a private address and its peer a public one.
    pub(crate) is_private: bool,
    /// Its receiver delays ACKs for longer than this sender's retransmission timer takes.
    pub(crate) delays_for_longer: bool,
    /// Where the answers about one frame are taken down, if somebody asks.
    pub(crate) ledger: Option<&'a RefCell<Ledger>>,
}

/// What was seen of the turn in which a segment was held.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TurnSeen {
    /// The sender holds again and again in one turn: it writes as it goes.
    pub(crate) streams: bool,
    /// Flights of one size came one after the other, as a buffer's do.
    pub(crate) bulk: bool,
    /// The sender pauses by a clock of its own.
    pub(crate) by_a_clock: bool,
    /// Most tails waited as long as the one before.
    pub(crate) punctual: bool,
    /// How probable it is that what was seen is an accident: upon late ACKs, and upon prompt ones.
    pub(crate) accident: [f64; 2],
}

/// A hold about which the checks are asked.
pub(crate) struct Question<'a> {
    pub(crate) evidence: &'a Evidence<'a>,
    pub(crate) turn: &'a TurnSeen,
    pub(crate) hold: &'a Hold,
    /// What it is if it is a stall; none if no kind fits.
    pub(crate) kind: Option<Kind>,
    /// It is the last hold of its turn.
    pub(crate) is_last: bool,
}

/// What tells that the path is shorter than the ACK took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// The handshake or another ACK does.
    Shorter,
    /// Nothing but the ACKs themselves tells how long the path is, or it may have become slower.
    Perhaps,
    /// Nothing does.
    AsLong,
}

impl<'a> Evidence<'a> {
    /// Returns what is known of a direction of which nothing but its own segments is known.
    pub(crate) fn of(half: &'a Half, blur_ns: i64) -> Self {
        Self {
            half,
            blur_ns,
            answered_ns: None,
            answers_ns: 0,
            answers: 0,
            takes_turns: false,
            never_unasked: false,
            relayed: false,
            is_private: false,
            delays_for_longer: false,
            ledger: None,
        }
    }

    /// Returns what the checks are asked about a hold of a turn.
    pub(crate) fn question(&'a self, turn: &'a TurnSeen, hold: &'a Hold) -> Question<'a> {
        Question {
            evidence: self,
            turn,
            hold,
            kind: self.kind(hold),
            is_last: false,
        }
    }

    /// Takes down what was said of a hold, if somebody asks about it.
    pub(crate) fn note(&self, hold: &Hold, asked: &[Asked], ended_by: Option<&'static Check>) {
        if let Some(ledger) = self.ledger {
            let frame = hold.held.frame;
            ledger.borrow_mut().note(frame, asked, ended_by);
        }
    }

    /// Returns how much longer than the path the ACK took, in nanoseconds.
    pub(crate) fn beyond_ns(&self, hold: &Hold) -> i64 {
        hold.ack_wait_ns - self.path_ns()
    }

    pub(crate) fn path_ns(&self) -> i64 {
        self.half.receiver_distance_ns().unwrap_or(0)
    }

    /// Returns whether the ACK came as fast as the path allows; false if no ACK released the
    /// segment.
    pub(crate) fn is_prompt(&self, hold: &Hold) -> bool {
        let beyond_ns = self.beyond_ns(hold);
        hold.release.is_some()
            && (beyond_ns < LATE_ACK_NS
                || (beyond_ns < self.path_ns() / PROMPT_IN && !self.is_on_a_timer(hold)))
    }

    /// Returns whether the ACK is as late as a delayed-ACK timer in use, or as this receiver's own.
    pub(crate) fn is_on_a_timer(&self, hold: &Hold) -> bool {
        is_on_timer(self.beyond_ns(hold)) || self.on_own_timer(hold)
    }

    /// Returns whether the receiver's other late ACKs took as long.
    pub(super) fn on_own_timer(&self, hold: &Hold) -> bool {
        let typical_ns = i64::from(self.half.path.delayed_ns);
        self.half.tally.delayed_acks >= OWN_TIMER_ACKS
            && (hold.ack_wait_ns - typical_ns).abs() < typical_ns / SAME_TIMER_IN
            && typical_ns > LEAST_DELAY_NS
    }

    /// Returns what tells that the path is shorter. The receiver's timer against a path that the
    /// handshake has measured decides, not how many ACKs were late: behind a slow server every one
    /// of them is.
    pub(crate) fn path(&self, hold: &Hold) -> Path {
        let half = self.half;
        let beyond_ns = self.beyond_ns(hold);
        let on_timer = self.is_on_a_timer(hold);
        // The handshake or another ACK tells that the path is shorter by a timer.
        let shorter = |way_ns: u32| {
            let ns = i64::from(way_ns);
            let beyond_ns = hold.ack_wait_ns - ns;
            way_ns != u32::MAX && beyond_ns >= LEAST_DELAY_NS && (beyond_ns >= ns || on_timer)
        };
        let (measured, sooner) = (
            shorter(half.path.handshake_ns),
            shorter(half.path.ack_min_ns),
        );
        // The few ACKs that there were are no witnesses against themselves where the handshake tells
        // the way.
        let few = half.tally.acks <= FEW_ACKS && measured;
        match (sooner || few, on_timer, measured) {
            (true, ..) | (_, true, true) => Path::Shorter,
            (_, true, false) => Path::Perhaps,
            // A timer of no usual length, or a path that has become slower.
            (false, false, _)
                if half.path.handshake_ns != u32::MAX && beyond_ns < LONGEST_DELAY_NS =>
            {
                Path::Perhaps
            }
            _ => Path::AsLong,
        }
    }

    /// Returns how often this sender's data left upon an ACK.
    pub(crate) fn hits(&self) -> u32 {
        self.half.odds_of(false).hits() + self.half.odds_of(true).hits()
    }

    /// Returns the probability that what was seen of this direction is an accident: upon ACKs that came as
    /// soon as the path allows, or upon late ones.
    pub(crate) fn accident(&self, prompt: bool) -> f64 {
        self.half.odds_of(prompt).accident(self.blur_ns)
    }

    /// Returns how much later it left than its ACK, the way and the link put it, in nanoseconds.
    pub(crate) fn late_ns(&self, hold: &Hold) -> i64 {
        let distance_ns = hold.sender_distance_ns.unwrap_or(0);
        let carried_ns = self.half.link.bound_ns(hold.held_len, distance_ns);
        (hold.reaction_ns - distance_ns - carried_ns).min(hold.off_ns)
    }

    /// Returns whether the peer answered the held segment as soon as it usually does.
    pub(crate) fn answered_at_once(&self, hold: &Hold) -> bool {
        let Some(answered_ns) = self.answered_ns else {
            return false;
        };
        let distance_ns = self.path_ns();
        // Who thinks for seconds before each question waits for each answer all the same: of two that take
        // turns each waits for the other.
        let tally = &self.half.tally;
        if self.takes_turns && self.half.turns.asked && tally.self_clocked <= tally.answers {
            return true;
        }
        // What a sender begins by itself again and again, and its peer mostly leaves unanswered, has no usual answer: what the
        // peer says one day comes by its own clock.
        let usual_ns = match tally.self_clocked > UNANSWERED_TURNS * self.answers {
            true => 0,
            false => (distance_ns
                + self.answers_ns.min(LONGEST_DELAY_NS) * USUAL_ANSWER_PERCENT / 100)
                .min(LONGEST_DELAY_NS),
        };
        answered_ns - hold.held.time_ns
            < ANSWER_AT_ONCE_NS
                .max(ANSWER_PATHS * distance_ns)
                .max(usual_ns)
    }

    /// Returns what a hold is if it is a stall.
    pub(crate) fn kind(&self, hold: &Hold) -> Option<Kind> {
        match self.is_prompt(hold) {
            true => Some(Kind::NagleRoundTrip),
            false => kinds::classify(hold, self.half),
        }
    }
}

/// Returns whether the held segment was ready and waited for its release alone.
pub(crate) fn is_ready(hold: &Hold) -> bool {
    hold.release.is_none() || hold.more_ready
}
