//! Follows a connection's holds: they are pending until the turn passes, then accused or ruled out.
//!
//! A hold becomes an accusation only if somebody waited for the held segment. That shows when the
//! turn passes: the peer answers, or the connection is closed behind the segment. A sender that
//! goes on by its own clock kept nobody waiting.

use std::cell::RefCell;

use super::check::{Asked, Check, Saw};
use super::checks::{
    at_once, first_time, loss, many_holds, open_window, room, stream, upon_release, went_on,
};
use super::evidence::{Evidence, Question, TurnSeen};
use super::examine::{self, Ruling};
use super::kinds::small_buffer;
use super::ledger::Ledger;
use super::lookalikes::Lookalike;
use super::ruled_out::{RuledOut, Tally};
use crate::flow::hold::Hold;
use crate::flow::mark::Mark;
use tinygram_stalls::Kind;
use tinygram_stalls::thresholds::{OWN_CLOCK_IN, PUNCTUAL_NS, SAME_FLIGHTS, STREAM_HOLDS};

/// The remarkable part of a connection; most have none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Story {
    directions: [Direction; 2],
    pub(crate) ruled_out: RuledOut,
    /// Until when time was counted as a loss's.
    lost_until_ns: i64,
    pub(crate) stalls: u32,
    /// The kinds that were found, a bit for each.
    kinds: u16,
    pub(crate) cost_ns: i64,
}

#[derive(Clone, Debug, Default)]
struct Direction {
    /// Holds of the turn under way.
    pending: Vec<Hold>,
    /// Those that did not fit.
    overflow: Tally,
    /// Accused, but not yet beyond chance.
    suspects: Vec<Suspect>,
    /// How long the last tail waited for a timer, how many there were, and how many waited as long as the
    /// one before: a program's disk is not so punctual.
    timer_ns: i64,
    tails: u32,
    punctual: u32,
    /// Never to be more than possible.
    doubtful: Vec<Suspect>,
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

/// A hold that is a stall if nothing else explains it, and what the checks have said of it.
#[derive(Clone, Debug)]
pub(crate) struct Suspect {
    pub(crate) kind: Kind,
    pub(crate) hold: Hold,
    pub(crate) asked: Vec<Asked>,
}

impl Story {
    /// Takes note of a hold, which waits for the turn to pass.
    pub(crate) fn hold(&mut self, from: usize, hold: Hold, ledger: Option<&RefCell<Ledger>>) {
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
        let beyond = match direction.pending.last_mut() {
            // Whoever waits for the whole waits for what comes last.
            Some(last) if bulk && full => std::mem::replace(last, hold),
            _ if bulk => return direction.pending.push(hold),
            _ => hold,
        };
        let frame = beyond.held.frame;
        direction.overflow.add(frame, cost_ns(&beyond));
        if let Some(ledger) = ledger {
            let (count, bound) = (direction.pending.len() as u32 + 1, PENDING_LIMIT as u32);
            let asked = Asked::failed(&many_holds::CHECK, Saw::Count(count, bound));
            ledger.borrow_mut().end(frame, asked);
        }
    }

    /// Returns whether flights of one size in a row are all that tells a buffer from a program's clock.
    pub(crate) fn may_go_by_a_clock(&self, from: usize) -> bool {
        let direction = &self.directions[from];
        direction.is_bulk(&direction.pending) && !follow(&direction.pending)
    }

    #[inline]
    pub(crate) fn is_open(&self, from: usize) -> bool {
        !self.directions[from].pending.is_empty()
    }

    /// Rules out the holds of a sender that went on by its own clock: nobody waited for them.
    pub(crate) fn abandon(&mut self, from: usize, evidence: &Evidence<'_>) {
        let direction = &mut self.directions[from];
        if direction.pending.is_empty() {
            return;
        }
        let streaming = late(&direction.pending) >= STREAM_HOLDS;
        let went_on = match streaming {
            true => &stream::CHECK,
            false => &went_on::CHECK,
        };
        let holds = std::mem::take(&mut direction.pending);
        direction.end_turn(&holds);
        let turn = TurnSeen::default();
        for hold in holds {
            let question = evidence.question(&turn, &hold);
            let mut asked = Vec::new();
            let ruling = examine::of_a_hold(&question, &mut asked);
            let mut by = match ruling {
                Ruling::RuledOut(check) if !is_unwatched(check) => check,
                Ruling::RuledOut(_) | Ruling::Accused | Ruling::Suspected => {
                    direction.unwatched.add(hold.held.frame, cost_ns(&hold));
                    asked.push(Asked::failed(went_on, Saw::Nothing));
                    went_on
                }
            };
            if loss::is(evidence, &hold) {
                by = &loss::CHECK;
                asked.push(Asked::failed(by, Saw::Nothing));
            }
            evidence.note(&hold, &asked, Some(by));
            self.ruled_out.add(by, hold.held.frame, cost_ns(&hold));
        }
        direction.drop_overflow(&mut self.ruled_out);
    }

    /// Judges the holds of a turn that has passed; gives those beyond reasonable doubt.
    pub(crate) fn resolve(&mut self, from: usize, evidence: &Evidence<'_>) -> Vec<Suspect> {
        let direction = &mut self.directions[from];
        let mut holds = std::mem::take(&mut direction.pending);
        for hold in &mut holds {
            hold.more_ready &= evidence.half.marks_pushes;
            hold.chained |= hold.release.is_some()
                && evidence
                    .half
                    .goes_by_its_acks(hold.flight, hold.held_len, hold.mss);
        }
        let turn = direction.turn_seen(&holds, evidence);
        direction.was_bulk |= turn.bulk;
        // The frame of the last segment that a buffer held.
        let mut held_by_buffer = match (direction.overflow.count, holds.last()) {
            (1.., Some(hold)) => Some(hold.trigger.frame),
            _ => None,
        };
        direction.drop_overflow(&mut self.ruled_out);
        let mut accepted = direction.reconsider(evidence, &turn);
        let last = holds.len().saturating_sub(1);
        for (at, hold) in holds.into_iter().enumerate() {
            let question = Question {
                is_last: at == last,
                ..evidence.question(&turn, &hold)
            };
            let mut asked = Vec::new();
            let ruling = examine::of_a_turn(&question, &mut asked);
            let (ruling, kind) = match (ruling, question.kind) {
                (Ruling::RuledOut(check), _) => {
                    evidence.note(&hold, &asked, Some(check));
                    direction.rule_out(check, &hold, &mut self.ruled_out);
                    continue;
                }
                // What no kind explains is ruled out.
                (_, None) => continue,
                (ruling, Some(kind)) => (ruling, kind),
            };
            let mut suspect = Suspect { kind, hold, asked };
            if ruling == Ruling::Suspected {
                keep(suspect, &mut direction.doubtful, evidence);
                continue;
            }
            // While a buffer's pieces change, one of them is of no size that a buffer has.
            if turn.bulk
                && (small_buffer::leaves_a_short_one(&suspect.hold)
                    || held_by_buffer == Some(suspect.hold.trigger.frame))
            {
                held_by_buffer = Some(suspect.hold.held.frame);
                suspect.kind = Kind::SmallBuffer;
            }
            match suspect.is_beyond_doubt(evidence, &turn) {
                true => accepted.push(suspect),
                false => keep(suspect, &mut direction.suspects, evidence),
            }
        }
        let accuse = |suspect: Suspect| suspect.accuse(evidence, &turn);
        accepted.into_iter().map(accuse).collect()
    }

    /// Returns the holds of a direction that stayed suspects.
    pub(crate) fn suspects(&self, from: usize) -> &[Suspect] {
        &self.directions[from].suspects
    }

    /// Returns the holds of a direction for which nobody was seen to wait.
    pub(crate) fn unwatched(&self, from: usize) -> Tally {
        self.directions[from].unwatched
    }

    /// Returns the holds of a direction that can be no more than possible, each with its kind. Beside the flights of a
    /// small buffer they are of that kind, too.
    pub(crate) fn doubtful(&self, from: usize) -> impl Iterator<Item = (Kind, &Suspect)> {
        let direction = &self.directions[from];
        direction.doubtful.iter().map(|suspect| {
            let buffers = direction.was_bulk && small_buffer::leaves_a_short_one(&suspect.hold);
            (
                if buffers {
                    Kind::SmallBuffer
                } else {
                    suspect.kind
                },
                suspect,
            )
        })
    }

    /// Judges the suspects of a direction when nothing more will come. A retransmission was a loss, unless something
    /// shows that the data had arrived before. What the path does not account for had another reason. And what left as
    /// slowly as through a relay stays possible.
    pub(crate) fn drop_unproven(&mut self, from: usize, evidence: &Evidence<'_>) {
        let direction = &mut self.directions[from];
        let turn = direction.at_the_end(evidence);
        let Direction {
            suspects, doubtful, ..
        } = direction;
        let mut slow = Vec::new();
        for (held, are_suspects) in [(&mut *suspects, true), (&mut *doubtful, false)] {
            for mut suspect in std::mem::take(held) {
                let ruling = suspect.finally(evidence, &turn);
                // Other connections of the program may show that it is as late each time.
                let late = matches!(ruling, Ruling::RuledOut(by) if by.lookalike() == Lookalike::ThinkTime)
                    && upon_release::may_be_a_slow_host(evidence, &suspect.hold)
                    && at_once::is(evidence, &suspect.hold);
                match ruling {
                    Ruling::RuledOut(_) if late && are_suspects => held.push(suspect),
                    Ruling::RuledOut(by) => {
                        let hold = &suspect.hold;
                        evidence.note(hold, &suspect.asked, Some(by));
                        self.ruled_out.add(by, hold.held.frame, cost_ns(hold));
                    }
                    Ruling::Suspected if are_suspects => slow.push(suspect),
                    _ => held.push(suspect),
                }
            }
        }
        doubtful.extend(slow);
    }

    /// Returns whether a finding of this kind was counted.
    pub(crate) fn has(&self, kind: Kind) -> bool {
        self.kinds & (1 << kind as u16) != 0
    }

    /// Takes a finding back that the rest of the connection refutes.
    pub(crate) fn take_back(&mut self, by: &'static Check, frame: u64, cost_ns: i64) {
        self.stalls -= 1;
        self.cost_ns -= cost_ns;
        self.ruled_out.add_if_ruled_out(by, frame, cost_ns);
    }

    pub(crate) fn count(&mut self, kind: Kind, cost_ns: i64) {
        self.stalls += u32::from(kind.is_stall());
        self.kinds |= 1 << kind as u16;
        self.cost_ns += cost_ns;
    }

    /// Counts a loss that a retransmission repaired so long after the data was sent first. Time within an earlier loss
    /// counts once.
    pub(crate) fn lost(&mut self, mark: Mark, lost_ns: i64) {
        let since_ns = (mark.time_ns - lost_ns).max(self.lost_until_ns);
        let own_ns = (mark.time_ns - since_ns).max(0);
        self.lost_until_ns = mark.time_ns.max(self.lost_until_ns);
        self.ruled_out.add(&first_time::CHECK, mark.frame, own_ns);
    }

    /// Notes that the end `from` closed or opened its receive window.
    pub(crate) fn window(&mut self, from: usize, closed: bool, mark: Mark) {
        let since = &mut self.directions[from].window_closed;
        match (closed, since.take()) {
            (true, _) => *since = Some(mark),
            (false, Some(start)) => {
                let ns = mark.time_ns - start.time_ns;
                self.ruled_out.add(&open_window::CHECK, start.frame, ns);
            }
            (false, None) => {}
        }
    }
}

impl Suspect {
    /// Returns whether all that the rest of the connection could answer is answered.
    fn is_beyond_doubt(&mut self, evidence: &Evidence<'_>, turn: &TurnSeen) -> bool {
        let question = Question {
            kind: Some(self.kind),
            ..evidence.question(turn, &self.hold)
        };
        examine::is_beyond_doubt(&question, &mut self.asked)
    }

    fn finally(&mut self, evidence: &Evidence<'_>, turn: &TurnSeen) -> Ruling {
        let question = Question {
            kind: Some(self.kind),
            ..evidence.question(turn, &self.hold)
        };
        examine::finally(&question, &mut self.asked)
    }

    /// Asks what is asked of an accusation last.
    fn accuse(mut self, evidence: &Evidence<'_>, turn: &TurnSeen) -> Self {
        let question = Question {
            kind: Some(self.kind),
            ..evidence.question(turn, &self.hold)
        };
        examine::is_certain(&question, &mut self.asked);
        self
    }
}

/// Keeps a suspect as long as there is room.
fn keep(mut suspect: Suspect, among: &mut Vec<Suspect>, evidence: &Evidence<'_>) {
    if among.len() < SUSPECT_LIMIT {
        return among.push(suspect);
    }
    let (count, bound) = (among.len() as u32 + 1, SUSPECT_LIMIT as u32);
    let full = Asked::failed(&room::CHECK, Saw::Count(count, bound));
    suspect.asked.push(full);
    evidence.note(&suspect.hold, &suspect.asked, Some(full.check));
}

impl Direction {
    /// Returns what was seen of a turn that has passed, and begins the next.
    fn turn_seen(&mut self, holds: &[Hold], evidence: &Evidence<'_>) -> TurnSeen {
        let steady = self.same_flight >= SAME_FLIGHTS;
        let by_a_clock = evidence.half.tally.self_clocked > 0 || holds.iter().any(|hold| hold.grew);
        let turn = TurnSeen {
            streams: late(holds) >= STREAM_HOLDS && !steady,
            bulk: self.is_bulk(holds),
            by_a_clock,
            punctual: self.is_punctual(),
            accident: [false, true].map(|prompt| evidence.accident(prompt)),
        };
        if evidence.answered_ns.is_some() {
            self.end_turn(holds);
        }
        turn
    }

    /// Returns what was seen when the connection ended.
    fn at_the_end(&self, evidence: &Evidence<'_>) -> TurnSeen {
        TurnSeen {
            bulk: self.was_bulk,
            punctual: self.is_punctual(),
            accident: [false, true].map(|prompt| evidence.accident(prompt)),
            ..TurnSeen::default()
        }
    }

    /// Returns the suspects that what was seen since puts beyond doubt.
    fn reconsider(&mut self, evidence: &Evidence<'_>, turn: &TurnSeen) -> Vec<Suspect> {
        let sure = |suspect: &mut Suspect| suspect.is_beyond_doubt(evidence, turn);
        self.suspects.extract_if(.., sure).collect()
    }

    fn rule_out(&mut self, by: &'static Check, hold: &Hold, ruled_out: &mut RuledOut) {
        if is_unwatched(by) {
            self.unwatched.add(hold.held.frame, cost_ns(hold));
        }
        ruled_out.add(by, hold.held.frame, cost_ns(hold));
    }

    /// Returns whether flights of one size came again and again, or one after the other upon prompt ACKs, as a buffer's
    /// do.
    fn is_bulk(&self, holds: &[Hold]) -> bool {
        self.same_flight >= SAME_FLIGHTS || holds.iter().any(|hold| hold.chained)
    }

    /// Returns whether half of the tails or more waited as long as the one before. Two of many do so by accident.
    fn is_punctual(&self) -> bool {
        self.punctual > 0 && self.punctual * 2 >= self.tails
    }

    /// Forgets the flights of one size at the end of a turn if the last hold was a short one. Answers of one size leave
    /// short segments behind flights of one size without any small buffer. A buffer's flights go on and on within a
    /// turn.
    fn end_turn(&mut self, holds: &[Hold]) {
        if holds.last().is_some_and(small_buffer::leaves_a_short_one) {
            self.same_flight = 0;
        }
    }

    fn drop_overflow(&mut self, ruled_out: &mut RuledOut) {
        ruled_out.add_all(&many_holds::CHECK, &std::mem::take(&mut self.overflow));
    }
}

/// Returns whether a check says that nobody waited for what was held.
fn is_unwatched(check: &Check) -> bool {
    matches!(
        check.lookalike(),
        Lookalike::NobodyWaited | Lookalike::PeriodicSender
    )
}

/// Returns whether the sender followed its ACKs, however long they took. A clock of its own does not.
fn follow(holds: &[Hold]) -> bool {
    if holds.is_empty() || holds.iter().any(|hold| hold.chained) {
        return true;
    }
    let spread = |of: fn(&Hold) -> i64| {
        let mut all: Vec<i64> = holds.iter().map(of).collect();
        all.sort_unstable();
        all[all.len() * 3 / 4] - all[all.len() / 4]
    };
    OWN_CLOCK_IN * spread(|hold| hold.reaction_ns) < spread(|hold| hold.ack_wait_ns)
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
