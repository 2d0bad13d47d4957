//! The predictor: what one socket's recent habit says about its next write.

use crate::{Policy, Rules};

/// One write as the program issued it.
#[derive(Clone, Copy, Debug)]
pub struct Write {
    /// Length in bytes.
    pub len: usize,
    /// The writing thread has not waited since its last write on this socket.
    pub same_interval: bool,
}

/// What becomes of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It leaves, and takes along what is held.
    Pass,
    /// It is held.
    Hold,
    /// As [`Decision::Pass`]: it would have been held, but by the socket's habit it is the last of its
    /// answer. What is held leaves with it and not when the thread waits, without a call of its own.
    Complete,
}

/// What is remembered of one socket. An *interval* is the time between two flushes: what one
/// `writev` could have sent at once.
///
/// Small, so that the hooks can keep it in one atomic word ([`Memory::pack`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Writes in the running interval, saturating.
    writes: u8,
    /// Writes in the interval before.
    usual: u8,
    /// How many more first writes will be held in the hope of company. Company renews it, so it
    /// counts how long ago the last was.
    hope: u8,
    /// Rescues by the watchdog not yet made up for by intervals without one.
    strikes: u8,
    /// Intervals for which nothing is held, after too many rescues.
    penance: u8,
    /// Intervals begun, up to [`YOUTH_INTERVALS`].
    age: u8,
    /// How many more intervals must have as many writes as the one before until that number is
    /// believed in.
    doubt: u8,
}

/// What the young connections of one service (a port, opened or accepted) have shown so far: what is
/// expected of the next. One for all of them, kept by the hooks as one atomic byte; zero is a
/// service nothing is known of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Habit(pub u8);

impl Habit {
    /// A fresh socket of this service.
    ///
    /// Of an unknown one nothing is expected, so its writes pass: a program that answers in one
    /// piece never pays for a single flush, nor for a watchdog.
    #[must_use]
    pub fn fresh(self, rules: &Rules) -> Memory {
        Memory {
            hope: if rules.eager { HOPE } else { self.0.min(HOPE) },
            ..Memory::default()
        }
    }
}

impl Memory {
    /// Decides one write.
    #[inline(always)]
    pub fn on_write(&mut self, rules: &Rules, write: Write) -> Decision {
        let hopeful = self.hope > 0;
        if !write.same_interval {
            self.begin_interval();
        }
        self.writes = self.writes.saturating_add(1);
        let has_company = self.writes > 1;
        if has_company {
            self.hope = HOPE;
        }
        let is_last = self.is_last();
        self.notice_surprise();
        match rules.policy {
            Policy::Nodelay => Decision::Pass,
            Policy::CorkUntilBlock => Decision::Hold,
            Policy::FlushOnBlock | Policy::Observe => {
                // A second write in an interval is held whatever the habit.
                let is_held =
                    write.len < rules.hold_below && self.penance == 0 && (hopeful || has_company);
                match (is_held, is_last) {
                    (true, true) => Decision::Complete,
                    (true, false) => Decision::Hold,
                    (false, _) => Decision::Pass,
                }
            }
        }
    }

    /// Whether the running interval has as many writes as the last ones all had. Of lone writes
    /// [`HOPE`] judges.
    #[inline(always)]
    fn is_last(&self) -> bool {
        self.doubt == 0 && self.writes == self.usual && self.usual > 1 && self.usual < u8::MAX
    }

    /// A write after the last one: the answer has cost a segment more than it need have.
    #[inline(always)]
    fn notice_surprise(&mut self) {
        if self.doubt == 0 && self.usual > 1 && self.writes > self.usual {
            self.doubt = SURPRISE_DOUBT;
        }
    }

    /// What this socket teaches of its service, if it is young enough to tell: a long life says
    /// nothing of how the next connection begins.
    #[inline(always)]
    #[must_use]
    pub fn lesson(self) -> Option<Habit> {
        (self.age < YOUTH_INTERVALS).then_some(Habit(self.hope))
    }

    /// Whether a write that is to be held is worth starting or waking the watchdog for. If not, it
    /// passes.
    ///
    /// A watchdog woken for one answer costs as much as ten segments, most of it timer interrupts: on
    /// an answer of two writes, now and then, that is more than holding can save. It pays for a busy
    /// program, and for answers of many writes. `is_busy` is asked only where it matters.
    #[must_use]
    pub fn is_worth_waking(
        &self,
        rules: &Rules,
        write: Write,
        is_busy: impl FnOnce() -> bool,
    ) -> bool {
        let pieces = self.writes.max(self.usual);
        rules.eager || pieces >= PIECES_WORTH_WAKING || (!write.same_interval && is_busy())
    }

    /// The watchdog had to flush this socket: its program computes, or spins, with bytes held.
    ///
    /// A thread that had no CPU (`contended`) tells nothing of its program. One that had, and is
    /// rescued more often than not, has a habit for which `NODELAY` is the better policy.
    pub fn on_rescue(&mut self, contended: bool) {
        if contended {
            return;
        }
        self.strikes = self.strikes.saturating_add(STRIKES_PER_RESCUE);
        if self.strikes >= STRIKES_TO_PENANCE {
            self.strikes = 0;
            self.penance = PENANCE_INTERVALS;
        }
    }

    /// The memory as one word for an atomic cell; all zero is a socket that was never written.
    #[inline(always)]
    #[must_use]
    pub fn pack(self) -> u64 {
        let Self {
            writes,
            usual,
            hope,
            strikes,
            penance,
            age,
            doubt,
        } = self;
        u64::from_le_bytes([writes, usual, hope, strikes, penance, age, doubt, 0])
    }

    /// The inverse of [`Memory::pack`].
    #[inline(always)]
    #[must_use]
    pub fn unpack(word: u64) -> Self {
        let [writes, usual, hope, strikes, penance, age, doubt, _] = word.to_le_bytes();
        Self {
            writes,
            usual,
            hope,
            strikes,
            penance,
            age,
            doubt,
        }
    }

    #[inline(always)]
    fn begin_interval(&mut self) {
        if self.writes > 0 {
            self.doubt = if self.writes == self.usual {
                self.doubt.saturating_sub(1)
            } else {
                self.doubt.max(CHANGE_DOUBT)
            };
            self.usual = self.writes;
            self.strikes = self.strikes.saturating_sub(1);
            self.penance = self.penance.saturating_sub(1);
        }
        self.writes = 0;
        self.hope = self.hope.saturating_sub(1);
        self.age = self.age.saturating_add(1).min(YOUTH_INTERVALS);
    }
}

/// After this many intervals of one write each the socket is taken to answer in one piece, and
/// holding would only add the cost of the flush (the prototype saw 14-19 % of Redis's CPU).
const HOPE: u8 = 8;
/// For so many intervals a socket teaches its service's habit.
const YOUTH_INTERVALS: u8 = 8;
/// A rescue weighs this many intervals without one ...
const STRIKES_PER_RESCUE: u8 = 4;
/// ... and three rescues close together are a habit.
const STRIKES_TO_PENANCE: u8 = 10;
/// How long a habit of being rescued is believed in.
const PENANCE_INTERVALS: u8 = 64;
/// So many intervals in a row must have the very same number of writes before it is believed in.
const CHANGE_DOUBT: u8 = 8;
/// And so many after one that went on when it was believed to be whole: no pattern of answers costs
/// more than a segment in 65 of them.
const SURPRISE_DOUBT: u8 = 64;
/// Answers of this many writes are held however rare they are. A choice between two differences of
/// CPU time an answer: with a watchdog woken for each, 40-50 us more; with a segment less, 4-5 us less.
const PIECES_WORTH_WAKING: u8 = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    /// A socket living through intervals of so many writes of 100 bytes each; what became of them?
    fn decided(memory: &mut Memory, rules: &Rules, intervals: &[usize]) -> Vec<Vec<Decision>> {
        let interval = |memory: &mut Memory, writes: usize| {
            (0..writes)
                .map(|nth| {
                    memory.on_write(
                        rules,
                        Write {
                            len: 100,
                            same_interval: nth > 0,
                        },
                    )
                })
                .collect()
        };
        intervals
            .iter()
            .map(|&writes| interval(memory, writes))
            .collect()
    }

    /// As [`decided`]; which waited for others or had others waiting for them?
    fn held(memory: &mut Memory, rules: &Rules, intervals: &[usize]) -> Vec<Vec<bool>> {
        decided(memory, rules, intervals)
            .iter()
            .map(|interval| interval.iter().map(|one| *one != Decision::Pass).collect())
            .collect()
    }

    /// Segments of an answer: each write that is not held ends one, and so does the wait.
    fn segments(answer: &[Decision]) -> usize {
        let ended = answer.iter().filter(|one| **one != Decision::Hold).count();
        ended + usize::from(answer.last() == Some(&Decision::Hold))
    }

    /// A socket that has been seen to write twice.
    fn chatty(rules: &Rules) -> Memory {
        let mut memory = Memory::default();
        held(&mut memory, rules, &[2]);
        memory
    }

    #[test]
    fn a_socket_that_answers_in_one_piece_is_never_held() {
        let mut memory = Memory::default();
        let all = held(&mut memory, &Rules::default(), &[1; 1000]);
        assert!(!all.into_iter().flatten().any(|held| held));
    }

    #[test]
    fn a_chatty_socket_is_held_for_ever() {
        let rules = Rules::default();
        let all = held(&mut chatty(&rules), &rules, &[3; 1000]);
        assert!(all.into_iter().flatten().all(|held| held));
    }

    #[test]
    fn after_eight_lone_writes_a_socket_passes_until_it_has_company() {
        let rules = Rules::default();
        let mut memory = chatty(&rules);
        let lone = held(&mut memory, &rules, &[1; 20]);
        let count = lone.iter().flatten().filter(|held| **held).count();
        assert_eq!(count, usize::from(HOPE));
        // The first of two has already gone when the second shows that it was not alone.
        assert_eq!(
            held(&mut memory, &rules, &[2, 2]),
            [vec![false, true], vec![true, true]]
        );
    }

    #[test]
    fn the_last_of_a_usual_number_takes_the_others_along() {
        use Decision::{Complete, Hold};
        let rules = Rules::default();
        let mut memory = chatty(&rules);
        let before = decided(&mut memory, &rules, &[3; 1 + CHANGE_DOUBT as usize]);
        assert!(before.iter().flatten().all(|one| *one == Hold));
        assert_eq!(
            decided(&mut memory, &rules, &[3, 2, 3]),
            [
                vec![Hold, Hold, Complete],
                vec![Hold, Hold],
                vec![Hold, Hold, Hold]
            ],
            "and after one of another length it must be learned anew"
        );
    }

    #[test]
    fn an_answer_that_goes_on_is_held_again_and_the_number_doubted_for_long() {
        use Decision::{Complete, Hold};
        let rules = Rules::default();
        let mut memory = chatty(&rules);
        decided(&mut memory, &rules, &[3; 20]);
        assert_eq!(
            decided(&mut memory, &rules, &[5]),
            [vec![Hold, Hold, Complete, Hold, Hold]]
        );
        let after = decided(&mut memory, &rules, &[3; 100]);
        let doubted = after
            .iter()
            .take_while(|one| segments(one) == 1 && one[2] == Hold);
        assert_eq!(doubted.count(), 1 + usize::from(SURPRISE_DOUBT));
    }

    #[test]
    fn no_pattern_of_answers_costs_a_segment_in_sixty_five() {
        let rules = Rules::default();
        let mut dice = 1_u64;
        let mut roll = || {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            dice >> 40
        };
        let mut patterns: Vec<Vec<usize>> = vec![
            [10, 11].repeat(5_000),
            [[10; 9].as_slice(), &[11]].concat().repeat(1_000),
            [[10; 64].as_slice(), &[11]].concat().repeat(200),
            [[10; 65].as_slice(), &[11]].concat().repeat(200),
            [[10; 20], [11; 20]].concat().repeat(300),
            (2..300).collect(),
            vec![300; 1_000],
        ];
        patterns.extend([2, 5, 9, 20, 100].map(|rarity| {
            let mut answer = || 10 + usize::from(roll() % rarity == 0);
            (0..10_000).map(|_| answer()).collect()
        }));
        for pattern in patterns {
            let all = decided(&mut chatty(&rules), &rules, &pattern);
            let more: usize = all.iter().map(|answer| segments(answer) - 1).sum();
            let bound = pattern.len() / (1 + usize::from(SURPRISE_DOUBT)) + 1;
            assert!(
                more <= bound,
                "{more} of {}: {:?}",
                pattern.len(),
                &pattern[..12]
            );
        }
    }

    /// A service's connections, one after the other, each living through these intervals; whether the
    /// first write of each was held.
    fn first_held(habit: &mut Habit, connections: usize, intervals: &[usize]) -> Vec<bool> {
        let rules = Rules::default();
        (0..connections)
            .map(|_| {
                let mut memory = habit.fresh(&rules);
                let mut first = None;
                for &interval in intervals {
                    let held = held(&mut memory, &rules, &[interval]);
                    first = first.or(Some(held[0][0]));
                    *habit = memory.lesson().unwrap_or(*habit);
                }
                first.unwrap()
            })
            .collect()
    }

    #[test]
    fn a_connection_begins_as_the_others_of_its_service_did() {
        let mut habit = Habit::default();
        assert_eq!(first_held(&mut habit, 3, &[2]), [false, true, true]);
        let lone = first_held(&mut habit, 20, &[1]);
        assert_eq!(lone.iter().filter(|held| **held).count(), usize::from(HOPE));
        assert!(lone[0] && !lone[19]);
    }

    #[test]
    fn a_long_life_teaches_nothing_of_how_the_next_begins() {
        let mut habit = Habit::default();
        first_held(&mut habit, 1, &[2]);
        let mut long = vec![2; usize::from(YOUTH_INTERVALS)];
        long.extend([1; 20]);
        first_held(&mut habit, 1, &long);
        assert_eq!(first_held(&mut habit, 1, &[2]), [true]);
    }

    #[test]
    fn large_writes_are_never_held_but_count_as_company() {
        let rules = Rules::default();
        let mut memory = chatty(&rules);
        let large = Write {
            len: rules.hold_below,
            same_interval: false,
        };
        assert_eq!(memory.on_write(&rules, large), Decision::Pass);
        let small = Write {
            len: rules.hold_below - 1,
            same_interval: true,
        };
        assert_eq!(memory.on_write(&rules, small), Decision::Hold);
    }

    #[test]
    fn a_socket_rescued_time_and_again_is_left_alone_for_a_while() {
        let rules = Rules::default();
        let mut memory = chatty(&rules);
        for _ in 0..3 {
            assert!(held(&mut memory, &rules, &[2])[0][0]);
            memory.on_rescue(false);
        }
        let after = held(&mut memory, &rules, &[2; 70]);
        let freed = after
            .iter()
            .take_while(|interval| interval == &&[false, false])
            .count();
        assert_eq!(freed, usize::from(PENANCE_INTERVALS) - 1);
        assert_eq!(after[69], [true, true], "and is trusted again");
    }

    #[test]
    fn a_rescue_now_and_then_is_forgiven() {
        let rules = Rules::default();
        let mut memory = chatty(&rules);
        for _ in 0..100 {
            let all = held(&mut memory, &rules, &[2; 5]);
            assert!(all.into_iter().flatten().all(|held| held));
            memory.on_rescue(false);
        }
    }

    #[test]
    fn a_rescue_for_want_of_a_cpu_changes_nothing() {
        let mut memory = Memory::default();
        held(&mut memory, &Rules::default(), &[2]);
        let before = memory;
        for _ in 0..100 {
            memory.on_rescue(true);
        }
        assert_eq!(memory, before);
    }

    #[test]
    fn a_sleeping_watchdog_is_woken_by_busy_programs_and_for_long_answers() {
        let rules = Rules::default();
        let first = Write {
            len: 100,
            same_interval: false,
        };
        let more = Write {
            same_interval: true,
            ..first
        };
        let mut memory = Memory::default();
        held(&mut memory, &rules, &[2, 2]);
        assert!(
            !memory.is_worth_waking(&rules, first, || false),
            "now and then"
        );
        assert!(memory.is_worth_waking(&rules, first, || true), "busy");
        assert!(
            !memory.is_worth_waking(&rules, more, || true),
            "the second write of an answer says nothing of how many answers there are"
        );
        held(&mut memory, &rules, &[12, 1]);
        assert!(
            memory.is_worth_waking(&rules, first, || false),
            "long answers"
        );
        held(&mut memory, &rules, &[2, 8]);
        assert!(memory.is_worth_waking(&rules, more, || false), "the eighth");
    }

    #[test]
    fn the_eager_hold_from_the_first_write_and_still_tire_of_lone_ones() {
        let rules = Rules {
            eager: true,
            ..Rules::default()
        };
        let mut memory = Habit::default().fresh(&rules);
        let first = Write {
            len: 100,
            same_interval: false,
        };
        assert!(memory.is_worth_waking(&rules, first, || false));
        let lone = held(&mut memory, &rules, &[1; 20]);
        let count = lone.iter().flatten().filter(|held| **held).count();
        assert_eq!(count, usize::from(HOPE));
    }

    #[test]
    fn policies_differ_only_here() {
        for (policy, small, bulk) in [
            (Policy::FlushOnBlock, true, false),
            (Policy::Observe, true, false),
            (Policy::CorkUntilBlock, true, true),
            (Policy::Nodelay, false, false),
        ] {
            let rules = Rules {
                policy,
                ..Rules::default()
            };
            let decide = |len| {
                chatty(&rules).on_write(
                    &rules,
                    Write {
                        len,
                        same_interval: false,
                    },
                ) == Decision::Hold
            };
            assert_eq!((decide(1), decide(100_000)), (small, bulk), "{policy:?}");
        }
    }

    #[test]
    fn packing_loses_nothing() {
        let memory = Memory {
            writes: 1,
            usual: 5,
            hope: 2,
            strikes: 3,
            penance: 4,
            age: 6,
            doubt: 7,
        };
        assert_eq!(Memory::unpack(memory.pack()), memory);
        assert_eq!(Memory::unpack(0), Memory::default());
    }
}
