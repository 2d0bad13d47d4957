//! What became of a connection's holds: pending until the turn passes, then accused or ruled out.
//!
//! A hold is an accusation only if somebody waited for the held segment. That shows when the
//! turn passes: the peer answers, or the connection is closed behind it. A sender that goes on by
//! its own clock kept nobody waiting.

use crate::findings::{self, Finding, small_buffer};
use crate::flow::half::{Half, LATE_NS, Mark, Turn};
use crate::hold::Hold;
use crate::lookalikes::{Lookalike, RuledOut};
use crate::vocabulary::{Kind, Tier};

/// The remarkable part of a connection; most have none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Story {
    directions: [Direction; 2],
    pub(crate) ruled_out: RuledOut,
    pub(crate) stalls: u32,
    pub(crate) cost_ns: i64,
}

#[derive(Clone, Debug, Default)]
struct Direction {
    /// Holds of the turn under way.
    pending: Vec<Hold>,
    /// Those that did not fit.
    overflow: u32,
    overflow_ns: i64,
    /// Accused, but not yet beyond chance.
    suspects: Vec<(Kind, Hold)>,
    /// How often in a row a hold followed a flight of a known size, and those sizes: where buffer and
    /// segments do not go into each other, two take turns.
    same_flight: u32,
    flights: [u32; 2],
    /// Since when this end advertises a window of zero.
    window_closed: Option<Mark>,
}

/// What a hold is judged by.
pub(crate) struct Judge<'a> {
    /// The direction that held.
    pub(crate) half: &'a Half,
    /// Round trip from the capture point to the sender, in nanoseconds, if known.
    pub(crate) sender_distance_ns: Option<i64>,
    /// When the peer answered, if it did; none if the connection was closed or goes on.
    pub(crate) answered_ns: Option<i64>,
}

enum Ruling {
    Accused(Kind),
    RuledOut(Lookalike),
}

impl Story {
    /// Takes note of a hold; true if it need not wait for the turn to pass.
    pub(crate) fn hold(&mut self, from: usize, hold: Hold) -> bool {
        let direction = &mut self.directions[from];
        // A short segment is held by policy; a full one tells of a full buffer, and so does a short
        // one behind as much as a buffer holds.
        let full = hold.held_len >= hold.mss || small_buffer::leaves_a_short_one(&hold);
        if full && direction.flights.contains(&hold.flight) {
            direction.same_flight += 1;
        } else {
            direction.flights = [direction.flights[1], hold.flight];
            direction.same_flight = u32::from(full);
        }
        if direction.pending.len() >= PENDING_LIMIT {
            direction.overflow += 1;
            direction.overflow_ns += cost_ns(&hold);
            return false;
        }
        direction.pending.push(hold);
        direction.pending.len() == PENDING_LIMIT && direction.is_bulk()
    }

    #[inline]
    pub(crate) fn is_open(&self, from: usize) -> bool {
        !self.directions[from].pending.is_empty()
    }

    /// The sender went on by its own clock: nobody waited.
    pub(crate) fn abandon(&mut self, from: usize) {
        let direction = &mut self.directions[from];
        if direction.pending.is_empty() {
            return;
        }
        let streaming = direction.pending.len() >= STREAM;
        let kind = match streaming {
            true => Lookalike::PeriodicSender,
            false => Lookalike::NobodyWaited,
        };
        let holds = std::mem::take(&mut direction.pending);
        direction.end_turn(&holds);
        for hold in holds {
            self.ruled_out.add(kind, hold.held.frame, cost_ns(&hold));
        }
        direction.drop_overflow(&mut self.ruled_out);
    }

    /// Judges the holds of a turn that has passed; gives those beyond reasonable doubt.
    pub(crate) fn resolve(&mut self, from: usize, judge: &Judge<'_>) -> (Vec<(Kind, Hold)>, Tier) {
        let direction = &mut self.directions[from];
        let holds = std::mem::take(&mut direction.pending);
        let bulk = direction.is_bulk();
        if holds.len() < PENDING_LIMIT {
            direction.end_turn(&holds);
        }
        let streaming = holds.len() >= STREAM && !bulk;
        direction.drop_overflow(&mut self.ruled_out);
        let accident = judge.accident();
        let sure = |(kind, hold): &(Kind, Hold)| {
            accident < DOUBT
                && (bulk || *kind != Kind::SmallBuffer)
                && (hold.release.is_none() || judge.half.odds.vouches_for(hold.off_ns))
        };
        let suspects = &mut direction.suspects;
        let mut accepted: Vec<_> = suspects.extract_if(.., |suspect| sure(suspect)).collect();
        for hold in holds {
            let verdict = match streaming {
                true => Ruling::RuledOut(Lookalike::PeriodicSender),
                false => judge.verdict(&hold),
            };
            let accused = match verdict {
                Ruling::RuledOut(kind) => {
                    self.ruled_out.add(kind, hold.held.frame, cost_ns(&hold));
                    continue;
                }
                Ruling::Accused(_) if bulk && small_buffer::leaves_a_short_one(&hold) => {
                    (Kind::SmallBuffer, hold)
                }
                Ruling::Accused(kind) => (kind, hold),
            };
            if sure(&accused) {
                accepted.push(accused);
            } else if suspects.len() < SUSPECT_LIMIT {
                suspects.push(accused);
            }
        }
        let tier = match accident < DOUBT / 10.0 {
            true => Tier::Certain,
            false => Tier::Likely,
        };
        (accepted, tier)
    }

    /// Those of a direction that stayed suspects.
    pub(crate) fn suspects(&self, from: usize) -> &[(Kind, Hold)] {
        &self.directions[from].suspects
    }

    pub(crate) fn count(&mut self, finding: &Finding) {
        self.stalls += u32::from(finding.kind.is_stall());
        self.cost_ns += finding.cost_ns;
    }

    pub(crate) fn lost(&mut self, mark: Mark, lost_ns: i64) {
        self.ruled_out.add(Lookalike::Loss, mark.frame, lost_ns);
    }

    /// The end `from` closed or opened its receive window.
    pub(crate) fn window(&mut self, from: usize, closed: bool, mark: Mark) {
        let since = &mut self.directions[from].window_closed;
        match (closed, since.take()) {
            (true, _) => *since = Some(mark),
            (false, Some(start)) => {
                let ns = mark.time_ns - start.time_ns;
                self.ruled_out.add(Lookalike::ZeroWindow, start.frame, ns);
            }
            (false, None) => {}
        }
    }
}

impl Direction {
    fn is_bulk(&self) -> bool {
        self.same_flight >= BULK
    }

    /// Answers of one size leave short ones behind flights of one size, and no buffer is small: that
    /// of a buffer goes on and on within a turn.
    fn end_turn(&mut self, holds: &[Hold]) {
        if holds.last().is_some_and(small_buffer::leaves_a_short_one) {
            self.same_flight = 0;
        }
    }

    fn drop_overflow(&mut self, ruled_out: &mut RuledOut) {
        ruled_out.add_many(Lookalike::PeriodicSender, self.overflow, self.overflow_ns);
        (self.overflow, self.overflow_ns) = (0, 0);
    }
}

impl Judge<'_> {
    fn verdict(&self, hold: &Hold) -> Ruling {
        let half = self.half;
        if hold.release.is_some()
            && let Some(lookalike) = self.not_delayed(hold)
        {
            return Ruling::RuledOut(lookalike);
        }
        if hold.defied > half.odds.hits() {
            return Ruling::RuledOut(Lookalike::ThinkTime);
        }
        if half.turn == Turn::SelfClocked && !self.answered_at_once(hold) {
            return Ruling::RuledOut(Lookalike::NobodyWaited);
        }
        if half.tally.self_clocked > half.tally.answers + half.odds.hits() {
            return Ruling::RuledOut(Lookalike::PeriodicSender);
        }
        match findings::classify(hold) {
            Some(kind) => Ruling::Accused(kind),
            None if hold.room < hold.held_len => Ruling::RuledOut(Lookalike::ZeroWindow),
            None => Ruling::RuledOut(Lookalike::Uncorroborated),
        }
    }

    /// The acknowledgement came late, but not because the receiver delayed it.
    fn not_delayed(&self, hold: &Hold) -> Option<Lookalike> {
        let half = self.half;
        let distance_ns = half.receiver_distance_ns().unwrap_or(0);
        let beyond_ns = hold.ack_wait_ns - distance_ns;
        if beyond_ns < LATE_NS.max(distance_ns / 4) {
            return Some(Lookalike::RoundTrip);
        }
        if beyond_ns < TIMER_NS {
            return Some(Lookalike::LateAck);
        }
        // What RFC 1122 does not let wait was as late, or the answers were.
        let data_ns = i64::from(half.ack_min_ns);
        let prompt_ns = i64::from(half.prompt_ns);
        // The few ACKs that there were are no witnesses against themselves where the handshake tells the way.
        let alone = half.tally.acks <= 3 && half.handshake_ns != u32::MAX;
        let late_anyway = data_ns * 2 > hold.ack_wait_ns && half.ack_min_ns != u32::MAX && !alone;
        if late_anyway || prompt_ns * 2 > hold.ack_wait_ns {
            return Some(Lookalike::LateAck);
        }
        None
    }

    /// The probability that what was seen of this direction is an accident.
    fn accident(&self) -> f64 {
        // Queues on the way blur the round trip to a sender far off.
        let blur_ns = self.sender_distance_ns.unwrap_or(0) / 4;
        self.half.odds.accident(blur_ns)
    }

    fn answered_at_once(&self, hold: &Hold) -> bool {
        let Some(answered_ns) = self.answered_ns else {
            return false;
        };
        let distance_ns = self.half.receiver_distance_ns().unwrap_or(0);
        answered_ns - hold.held.time_ns < AT_ONCE_NS.max(4 * distance_ns)
    }
}

/// What a hold cost: its segment could have left with the trigger.
pub(crate) fn cost_ns(hold: &Hold) -> i64 {
    hold.held.time_ns - hold.trigger.time_ns
}

/// Slow hosts acknowledge after 10 to 20 ms without any timer. Delayed-ACK timers in use start at
/// 40 ms; the tick of a cyclic one may fall earlier, and such a stall costs least.
const TIMER_NS: i64 = 20_000_000;
/// Data that was ready when the trigger left needs one hold, and a strict Nagle a second for the
/// last piece. More in one turn: the sender writes as it goes.
const STREAM: usize = 3;
/// Flights of one size this often in a row are a buffer's size, not an application's habit.
const BULK: u32 = 3;
const PENDING_LIMIT: usize = 64;
const SUSPECT_LIMIT: usize = 16;
/// An answer within this time answers the segment before it.
const AT_ONCE_NS: i64 = 5_000_000;
/// One false accusation in a hundred suspicious connections is the most that is borne.
pub(crate) const DOUBT: f64 = 0.01;
