//! Decides whether a hold becomes an accusation: asks the questions that must be answered first,
//! one after the other.

use crate::flow::half::{Half, Turn};
use crate::flow::hold::Hold;
use crate::verdict::kinds::{self, nagle_round_trip};
use crate::verdict::lookalikes::Lookalike;
use tinygram_stalls::Kind;
use tinygram_stalls::thresholds::{
    ANSWER_AT_ONCE_NS, BUSY_HOST_NS, BY_ACCIDENT, FINEST_NS, LATE_ACK_NS, LEAST_DELAY_NS,
    LONGEST_DELAY_NS, is_on_timer,
};

/// What a hold is judged by.
pub(crate) struct Judge<'a> {
    /// The direction that held.
    pub(crate) half: &'a Half,
    /// How sharply the release can be placed from the capture point, in nanoseconds.
    pub(crate) blur_ns: i64,
    /// When the peer answered, if it did; none if the connection was closed or goes on.
    pub(crate) answered_ns: Option<i64>,
    /// How long the peer takes to answer, on average, in nanoseconds.
    pub(crate) answers_ns: i64,
    /// The peer has answered time and again, and never spoke but after this sender.
    pub(crate) takes_turns: bool,
    /// The peer never spoke but after this sender.
    pub(crate) never_unasked: bool,
    /// A relay in the capturing host stands between the ends.
    pub(crate) relayed: bool,
    /// Its receiver delays ACKs for longer than this sender's retransmission timer takes.
    pub(crate) delays_for_longer: bool,
}

/// What becomes of a hold.
pub(crate) enum Ruling {
    Accused(Kind),
    /// It fits, and something that would have to be known is not.
    Suspected(Kind),
    RuledOut(Lookalike),
}

/// What an acknowledgment that came late was.
enum Ack {
    /// Delayed by its receiver.
    Delayed,
    /// Perhaps delayed: nothing but the ACKs themselves tells how long the path is.
    Perhaps,
    /// As fast as the path allows.
    Prompt,
    /// Late for another reason.
    Otherwise(Lookalike),
}

impl<'a> Judge<'a> {
    /// Returns what judges a direction of which nothing but its own segments is known.
    pub(crate) fn of(half: &'a Half, blur_ns: i64) -> Self {
        Self {
            half,
            blur_ns,
            answered_ns: None,
            answers_ns: 0,
            takes_turns: false,
            never_unasked: false,
            relayed: false,
            delays_for_longer: false,
        }
    }

    pub(crate) fn ruling(&self, hold: &Hold) -> Ruling {
        let half = self.half;
        let ack = match hold.release {
            Some(_) => self.ack(hold),
            None => Ack::Delayed,
        };
        if self.relayed {
            return Ruling::RuledOut(Lookalike::Relay);
        }
        if let Ack::Otherwise(lookalike) = ack {
            return Ruling::RuledOut(lookalike);
        }
        if matches!(ack, Ack::Prompt) && !nagle_round_trip::is(hold, half, self.answered_ns) {
            return Ruling::RuledOut(Lookalike::RoundTrip);
        }
        let hits = half.odds_of(false).hits() + half.odds_of(true).hits();
        // Before the held segment, or right behind it.
        let since = half.tally.defied.saturating_sub(hold.defied);
        let defies = hold.defied > hits || (since > hits && since >= 2);
        if defies && hold.held_len < hold.mss {
            return Ruling::RuledOut(Lookalike::NotHolding);
        }
        if half.turn == Turn::SelfClocked && !self.answered_at_once(hold) {
            return Ruling::RuledOut(Lookalike::NobodyWaited);
        }
        let waits = self.never_unasked && self.answered_at_once(hold);
        if half.tally.self_clocked > half.tally.answers + hits && !waits {
            return Ruling::RuledOut(Lookalike::PeriodicSender);
        }
        if matches!(ack, Ack::Prompt) {
            return Ruling::Accused(Kind::NagleRoundTrip);
        }
        match (kinds::classify(hold, half), ack) {
            (Some(Kind::CorkHeld), _) if self.may_be_no_cork(hold) => {
                Ruling::Suspected(Kind::CorkHeld)
            }
            (Some(kind), Ack::Perhaps) => Ruling::Suspected(kind),
            (Some(kind), _) => Ruling::Accused(kind),
            (None, _) if hold.room < hold.held_len => Ruling::RuledOut(Lookalike::ZeroWindow),
            (None, _) => Ruling::RuledOut(Lookalike::Uncorroborated),
        }
    }

    /// A write that ends with a full segment is as likely as a cork that begins behind one. A tail that
    /// was lost before it came to the capture point is seen first when it is sent again, as late as a
    /// corked one. And of many pauses of a sender's own one is as long as the timer.
    fn may_be_no_cork(&self, hold: &Hold) -> bool {
        let tally = &self.half.tally;
        let far = hold.sender_distance_ns.is_none_or(|ns| ns > FINEST_NS);
        (hold.pushed && hold.flight == hold.mss)
            || (far && tally.retransmitted + tally.missed > 0)
            || (hold.pushed && tally.self_clocked > self.half.odds_of(false).hits())
    }

    /// The trigger was sent again, and nothing tells that its receiver had it before; or it was sent again after
    /// twice the time by which this receiver delays its ACKs, so that the ACK of the first was lost.
    pub(crate) fn may_be_loss(&self, hold: &Hold) -> bool {
        let tally = &self.half.tally;
        hold.resent.is_some_and(|resent| {
            let delayed_ns = i64::from(self.half.delayed_ns);
            let too_late = tally.delayed_acks >= 3 && resent.after_ns > 2 * delayed_ns;
            !resent.needlessly || too_late
        })
    }

    /// The receiver's timer against a path that the handshake has measured decides, not how many ACKs
    /// were late: behind a slow server every one of them is.
    fn ack(&self, hold: &Hold) -> Ack {
        let half = self.half;
        let path_ns = half.receiver_distance_ns().unwrap_or(0);
        let beyond_ns = hold.ack_wait_ns - path_ns;
        let on_timer = is_on_timer(beyond_ns) || self.on_own_timer(hold);
        if beyond_ns < LATE_ACK_NS || (beyond_ns < path_ns / 4 && !on_timer) {
            return Ack::Prompt;
        }
        if !(LEAST_DELAY_NS..2 * LONGEST_DELAY_NS).contains(&beyond_ns) {
            return Ack::Otherwise(Lookalike::LateAck);
        }
        let carried_ns = i64::from(hold.flight) * i64::from(half.pace) / 16;
        if beyond_ns - carried_ns < LEAST_DELAY_NS && hold.step_ns < LEAST_DELAY_NS {
            return Ack::Otherwise(Lookalike::SlowLink);
        }
        // What RFC 1122 does not let wait was as late.
        if (i64::from(half.prompt_ns) - path_ns) * 2 > beyond_ns {
            return Ack::Otherwise(Lookalike::LateAck);
        }
        // The handshake or another ACK tells that the path is shorter by a timer.
        let shorter = |way_ns: u32| {
            let ns = i64::from(way_ns);
            let beyond_ns = hold.ack_wait_ns - ns;
            way_ns != u32::MAX && beyond_ns >= LEAST_DELAY_NS && (beyond_ns >= ns || on_timer)
        };
        let (measured, sooner) = (shorter(half.handshake_ns), shorter(half.ack_min_ns));
        // The few ACKs that there were are no witnesses against themselves where the handshake tells
        // the way.
        let few = half.tally.acks <= 3 && measured;
        match (sooner || few, on_timer, measured) {
            (true, ..) | (_, true, true) => Ack::Delayed,
            (_, true, false) => Ack::Perhaps,
            // A timer of no usual length, or a path that has become slower.
            (false, false, _) if half.handshake_ns != u32::MAX && beyond_ns < LONGEST_DELAY_NS => {
                Ack::Perhaps
            }
            _ => Ack::Otherwise(Lookalike::LateAck),
        }
    }

    /// Returns whether the receiver's other late ACKs took as long.
    fn on_own_timer(&self, hold: &Hold) -> bool {
        let typical_ns = i64::from(self.half.delayed_ns);
        self.half.tally.delayed_acks >= 3
            && (hold.ack_wait_ns - typical_ns).abs() < typical_ns / 10
            && typical_ns > LEAST_DELAY_NS
    }

    /// Returns the probability that what was seen of this direction is an accident: upon ACKs that came as
    /// soon as the path allows, or upon late ones.
    pub(crate) fn accident(&self, prompt: bool) -> f64 {
        self.half.odds_of(prompt).accident(self.blur_ns)
    }

    /// Is this fit one of the habit?
    pub(crate) fn vouches_for(&self, prompt: bool, off_ns: i64) -> bool {
        self.half.odds_of(prompt).vouches_for(off_ns, self.blur_ns)
    }

    /// Queues and the sender's link account for the time by which it left later than its ACK puts it, or it is
    /// known to have been ready. A kernel lets a held segment go at once, or nearly always; a program that takes a
    /// little longer than the ACK does is late each time.
    pub(crate) fn left_upon_release(&self, hold: &Hold) -> bool {
        let seldom_ns = hold.ack_wait_ns / BY_ACCIDENT;
        let within_ns = (4 * FINEST_NS).max(3 * self.blur_ns).max(seldom_ns);
        let (late_ns, late) = (self.late_ns(hold), self.half.odds_of(false));
        is_ready(hold)
            || late_ns <= within_ns
            || (!hold.prompt
                && (late.mostly_within(within_ns)
                    || (late_ns <= BUSY_HOST_NS && late.follows_acks())))
    }

    /// It left as fast as a kernel lets go, and so did three of four of this sender's. A relay that passes on what
    /// came to it at the tick of the clock at which the ACK comes must first be woken. Near the sender that shows;
    /// farther off the path blurs as much.
    pub(crate) fn left_at_once(&self, hold: &Hold) -> bool {
        let habit = self.half.odds_of(false).mostly_at_once();
        is_ready(hold) || hold.prompt || habit.unwrap_or_else(|| hold.is_at_once(self.blur_ns))
    }

    /// Returns how much later it left than its ACK, the way and the link put it, in nanoseconds.
    fn late_ns(&self, hold: &Hold) -> i64 {
        let distance_ns = hold.sender_distance_ns.unwrap_or(0);
        let carried_ns = self.half.link.bound_ns(hold.held_len, distance_ns);
        (hold.reaction_ns - distance_ns - carried_ns).min(hold.off_ns)
    }

    /// The peer answered the held segment as soon as it usually does.
    pub(crate) fn answered_at_once(&self, hold: &Hold) -> bool {
        let Some(answered_ns) = self.answered_ns else {
            return false;
        };
        let distance_ns = self.half.receiver_distance_ns().unwrap_or(0);
        // Who thinks for seconds before each question waits for each answer all the same: of two that take
        // turns each waits for the other.
        let tally = &self.half.tally;
        if self.takes_turns && self.half.asked && tally.self_clocked <= tally.answers {
            return true;
        }
        let usual_ns =
            (distance_ns + self.answers_ns.min(LONGEST_DELAY_NS) * 3 / 2).min(LONGEST_DELAY_NS);
        answered_ns - hold.held.time_ns < ANSWER_AT_ONCE_NS.max(4 * distance_ns).max(usual_ns)
    }
}

/// Nothing but its release was missing.
fn is_ready(hold: &Hold) -> bool {
    hold.release.is_none() || hold.more_ready
}

#[cfg(test)]
mod tests;
