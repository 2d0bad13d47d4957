//! Follows a connection's holds: they are pending until the turn passes, then accused or ruled out.
//!
//! A hold becomes an accusation only if somebody waited for the held segment. That shows when the
//! turn passes: the peer answers, or the connection is closed behind the segment. A sender that
//! goes on by its own clock kept nobody waiting.

use crate::flow::hold::Hold;
use crate::flow::mark::Mark;
use crate::verdict::judge::{Judge, Ruling};
use crate::verdict::kinds::small_buffer;
use crate::verdict::lookalikes::{Lookalike, RuledOut, Tally};
use tinygram_stalls::thresholds::{CERTAIN, PUNCTUAL_NS, SAME_FLIGHTS, STREAM_HOLDS, doubt};
use tinygram_stalls::{Kind, Tier};

/// The remarkable part of a connection; most have none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Story {
    directions: [Direction; 2],
    pub(crate) ruled_out: RuledOut,
    /// Until when time was counted as a loss's.
    lost_until_ns: i64,
    pub(crate) stalls: u32,
    pub(crate) cost_ns: i64,
}

#[derive(Clone, Debug, Default)]
struct Direction {
    /// Holds of the turn under way.
    pending: Vec<Hold>,
    /// Those that did not fit.
    overflow: Tally,
    /// Accused, but not yet beyond chance.
    suspects: Vec<(Kind, Hold)>,
    /// How long the last tail waited for a timer, how many there were, and how many waited as long as the
    /// one before: a program's disk is not so punctual.
    timer_ns: i64,
    tails: u32,
    punctual: u32,
    /// Never to be more than possible.
    doubtful: Vec<(Kind, Hold)>,
    /// How often in a row a hold followed a flight of a known size, and those sizes: where buffer and
    /// segments do not go into each other, two take turns.
    same_flight: u32,
    flights: [u32; 2],
    /// The same flight came often enough to be a buffer's.
    was_bulk: bool,
    /// Held though nobody was seen to wait.
    unwatched: Tally,
    /// Since when this end advertises a window of zero.
    window_closed: Option<Mark>,
}

impl Story {
    /// Takes note of a hold, which waits for the turn to pass.
    pub(crate) fn hold(&mut self, from: usize, hold: Hold) {
        let direction = &mut self.directions[from];
        if hold.release.is_none() {
            let waited_ns = cost_ns(&hold);
            let as_long = (waited_ns - direction.timer_ns).abs() < PUNCTUAL_NS;
            direction.punctual += u32::from(as_long);
            direction.tails += 1;
            direction.timer_ns = waited_ns;
        }
        // A short segment is held by policy; a full one tells of a full buffer, and so does a short
        // one behind as much as a buffer holds.
        // What a buffer holds leaves at once.
        let full =
            !hold.grew && (hold.held_len >= hold.mss || small_buffer::leaves_a_short_one(&hold));
        if direction.flights.contains(&hold.flight) {
            // The rest of a message is less than the buffer holds.
            direction.same_flight += u32::from(full);
        } else {
            direction.flights = [direction.flights[1], hold.flight];
            direction.same_flight = u32::from(full);
        }
        if direction.pending.len() < PENDING_LIMIT {
            direction.pending.push(hold);
            return;
        }
        let bulk = direction.is_bulk(&direction.pending);
        let full = direction.pending.len() >= BULK_LIMIT;
        match direction.pending.last_mut() {
            // Whoever waits for the whole waits for what comes last.
            Some(last) if bulk && full => {
                let before = std::mem::replace(last, hold);
                direction.overflow.add(before.held.frame, cost_ns(&before));
            }
            _ if bulk => direction.pending.push(hold),
            _ => direction.overflow.add(hold.held.frame, cost_ns(&hold)),
        }
    }

    /// Flights of one size in a row, and no more than that tells a buffer from a program's clock.
    pub(crate) fn may_go_by_a_clock(&self, from: usize) -> bool {
        let direction = &self.directions[from];
        direction.is_bulk(&direction.pending) && !follow(&direction.pending)
    }

    #[inline]
    pub(crate) fn is_open(&self, from: usize) -> bool {
        !self.directions[from].pending.is_empty()
    }

    /// The sender went on by its own clock: nobody waited.
    pub(crate) fn abandon(&mut self, from: usize, judge: &Judge<'_>) {
        let direction = &mut self.directions[from];
        if direction.pending.is_empty() {
            return;
        }
        let streaming = late(&direction.pending) >= STREAM_HOLDS;
        let kind = match streaming {
            true => Lookalike::PeriodicSender,
            false => Lookalike::NobodyWaited,
        };
        let holds = std::mem::take(&mut direction.pending);
        direction.end_turn(&holds);
        for hold in holds {
            let kind = match judge.ruling(&hold) {
                Ruling::RuledOut(Lookalike::NobodyWaited | Lookalike::PeriodicSender)
                | Ruling::Accused(_)
                | Ruling::Suspected(_) => {
                    direction.unwatched.add(hold.held.frame, cost_ns(&hold));
                    kind
                }
                Ruling::RuledOut(kind) => kind,
            };
            let kind = match judge.may_be_loss(&hold) {
                true => Lookalike::Loss,
                false => kind,
            };
            self.ruled_out.add(kind, hold.held.frame, cost_ns(&hold));
        }
        direction.drop_overflow(&mut self.ruled_out);
    }

    /// Judges the holds of a turn that has passed; gives those beyond reasonable doubt.
    pub(crate) fn resolve(&mut self, from: usize, judge: &Judge<'_>) -> Vec<(Kind, Hold, Tier)> {
        let direction = &mut self.directions[from];
        let mut holds = std::mem::take(&mut direction.pending);
        for hold in &mut holds {
            hold.more_ready &= judge.half.marks_pushes;
            hold.chained |= hold.release.is_some()
                && judge
                    .half
                    .goes_by_its_acks(hold.flight, hold.held_len, hold.mss);
        }
        let steady = direction.same_flight >= SAME_FLIGHTS;
        let bulk = direction.is_bulk(&holds);
        direction.was_bulk |= bulk;
        if judge.answered_ns.is_some() {
            direction.end_turn(&holds);
        }
        let punctual = direction.is_punctual();
        let streaming = late(&holds) >= STREAM_HOLDS && !steady;
        let overflown = direction.overflow.count > 0;
        direction.drop_overflow(&mut self.ruled_out);
        let accident = [false, true].map(|prompt| judge.accident(prompt));
        let sure = |(kind, hold): &(Kind, Hold)| {
            (!judge.may_be_loss(hold) || judge.delays_for_longer)
                && (hold.more_ready || accident[usize::from(hold.prompt)] < doubt(hold.prompt))
                && (bulk || *kind != Kind::SmallBuffer)
                && (punctual || hold.more_ready || *kind != Kind::CorkHeld)
                && (hold.release.is_none()
                    || hold.more_ready
                    || (judge.vouches_for(hold.prompt, hold.off_ns)
                        && judge.left_upon_release(hold)
                        && (*kind == Kind::SmallBuffer || judge.left_at_once(hold))))
        };
        let (suspects, doubtful) = (&mut direction.suspects, &mut direction.doubtful);
        let mut accepted: Vec<_> = suspects.extract_if(.., |suspect| sure(suspect)).collect();
        let by_a_clock = judge.half.tally.self_clocked > 0 || holds.iter().any(|hold| hold.grew);
        let last = holds.len().saturating_sub(1);
        // The frame of the last segment that a buffer held.
        let mut held_by_buffer = match (overflown, holds.last()) {
            (true, Some(hold)) => Some(hold.trigger.frame),
            _ => None,
        };
        for (at, hold) in holds.into_iter().enumerate() {
            // What ends a stream and is answered was waited for, whatever became of the rest.
            let streams =
                streaming && !hold.chained && !(at == last && judge.answered_at_once(&hold));
            let ruling = match (judge.ruling(&hold), streams) {
                (Ruling::RuledOut(kind), _) => Ruling::RuledOut(kind),
                (_, true) => Ruling::RuledOut(Lookalike::PeriodicSender),
                (ruling, _) => ruling,
            };
            // Whoever pauses by a clock of its own writes reports; a stream that never does is awaited.
            let ruling = match ruling {
                Ruling::Accused(_) | Ruling::Suspected(_)
                    if bulk
                        && by_a_clock
                        && judge.answered_ns.is_none()
                        && !judge.half.was_asked() =>
                {
                    Ruling::RuledOut(Lookalike::NobodyWaited)
                }
                Ruling::Accused(kind) if hold.same_stamp || hold.may_be_full => {
                    Ruling::Suspected(kind)
                }
                ruling => ruling,
            };
            let accused = match ruling {
                Ruling::RuledOut(kind) => {
                    if matches!(kind, Lookalike::NobodyWaited | Lookalike::PeriodicSender) {
                        direction.unwatched.add(hold.held.frame, cost_ns(&hold));
                    }
                    self.ruled_out.add(kind, hold.held.frame, cost_ns(&hold));
                    continue;
                }
                Ruling::Suspected(kind) => {
                    if doubtful.len() < SUSPECT_LIMIT {
                        doubtful.push((kind, hold));
                    }
                    continue;
                }
                // While a buffer's pieces change, one of them is of no size that a buffer has.
                Ruling::Accused(_)
                    if bulk
                        && (small_buffer::leaves_a_short_one(&hold)
                            || held_by_buffer == Some(hold.trigger.frame)) =>
                {
                    held_by_buffer = Some(hold.held.frame);
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
        let tier = |hold: &Hold| match accident[usize::from(hold.prompt)] < CERTAIN {
            true => Tier::Certain,
            false => Tier::Likely,
        };
        accepted
            .into_iter()
            .map(|(kind, hold)| {
                let tier = tier(&hold);
                (kind, hold, tier)
            })
            .collect()
    }

    /// Those of a direction that stayed suspects.
    pub(crate) fn suspects(&self, from: usize) -> &[(Kind, Hold)] {
        &self.directions[from].suspects
    }

    /// Those of a direction that were held though nobody was seen to wait.
    pub(crate) fn unwatched(&self, from: usize) -> Tally {
        self.directions[from].unwatched
    }

    /// Those of a direction that fit and lack what would make them more than possible. Beside a
    /// buffer's flights they are that buffer's, too.
    pub(crate) fn doubtful(&self, from: usize) -> impl Iterator<Item = (Kind, &Hold)> {
        let direction = &self.directions[from];
        direction.doubtful.iter().map(|(kind, hold)| {
            let buffers = direction.was_bulk && small_buffer::leaves_a_short_one(hold);
            (if buffers { Kind::SmallBuffer } else { *kind }, hold)
        })
    }

    /// Where nothing shows that what was sent again had arrived before, it was lost. And what all that was seen of
    /// the path does not account for had another reason.
    pub(crate) fn drop_unproven(&mut self, from: usize, judge: &Judge<'_>) {
        let Direction {
            suspects, doubtful, ..
        } = &mut self.directions[from];
        let other = |hold: &Hold| match judge.may_be_loss(hold) {
            true => Some(Lookalike::Loss),
            false if !judge.left_upon_release(hold) => Some(Lookalike::ThinkTime),
            false => None,
        };
        for held in [&mut *suspects, &mut *doubtful] {
            held.retain(|(_, hold)| {
                let other = other(hold);
                if let Some(kind) = other {
                    self.ruled_out.add(kind, hold.held.frame, cost_ns(hold));
                }
                other.is_none()
            });
        }
        let as_slow_as_a_relay = |(kind, hold): &mut (Kind, Hold)| {
            *kind != Kind::SmallBuffer && !judge.left_at_once(hold)
        };
        doubtful.extend(suspects.extract_if(.., as_slow_as_a_relay));
    }

    pub(crate) fn count(&mut self, kind: Kind, cost_ns: i64) {
        self.stalls += u32::from(kind.is_stall());
        self.cost_ns += cost_ns;
    }

    /// Data was sent again, so long after it was sent first. Time that passed before another loss was made good
    /// counts once.
    pub(crate) fn lost(&mut self, mark: Mark, lost_ns: i64) {
        let since_ns = (mark.time_ns - lost_ns).max(self.lost_until_ns);
        let own_ns = (mark.time_ns - since_ns).max(0);
        self.lost_until_ns = mark.time_ns.max(self.lost_until_ns);
        self.ruled_out.add(Lookalike::Loss, mark.frame, own_ns);
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
    /// Flights of one size again and again, or one after the other upon prompt ACKs, are a buffer's.
    fn is_bulk(&self, holds: &[Hold]) -> bool {
        self.same_flight >= SAME_FLIGHTS || holds.iter().any(|hold| hold.chained)
    }

    /// Most tails waited as long as the one before: two of many do so by accident.
    fn is_punctual(&self) -> bool {
        self.punctual > 0 && self.punctual * 2 >= self.tails
    }

    /// Answers of one size leave short ones behind flights of one size, and no buffer is small: that
    /// of a buffer goes on and on within a turn.
    fn end_turn(&mut self, holds: &[Hold]) {
        if holds.last().is_some_and(small_buffer::leaves_a_short_one) {
            self.same_flight = 0;
        }
    }

    fn drop_overflow(&mut self, ruled_out: &mut RuledOut) {
        ruled_out.add_all(
            Lookalike::PeriodicSender,
            &std::mem::take(&mut self.overflow),
        );
    }
}

/// Whatever time the ACKs took, the sender was as fast behind them: they let it go, and no clock of its own.
fn follow(holds: &[Hold]) -> bool {
    if holds.is_empty() || holds.iter().any(|hold| hold.chained) {
        return true;
    }
    let spread = |of: fn(&Hold) -> i64| {
        let mut all: Vec<i64> = holds.iter().map(of).collect();
        all.sort_unstable();
        all[all.len() * 3 / 4] - all[all.len() / 4]
    };
    2 * spread(|hold| hold.reaction_ns) < spread(|hold| hold.ack_wait_ns)
}

/// Returns how many of them a late ACK released.
fn late(holds: &[Hold]) -> usize {
    holds.iter().filter(|hold| !hold.prompt).count()
}

/// Returns what a hold cost: its segment could have left with the trigger.
pub(crate) fn cost_ns(hold: &Hold) -> i64 {
    hold.held.time_ns - hold.trigger.time_ns
}

const PENDING_LIMIT: usize = 64;
/// The same for flights of one size.
const BULK_LIMIT: usize = 512;
const SUSPECT_LIMIT: usize = 16;
