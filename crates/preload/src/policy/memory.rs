//! The predictor: what one socket's recent habit says about its next write.

use super::{Policy, Rules};

/// One write as the program issued it.
#[derive(Clone, Copy, Debug)]
pub struct Write {
    /// Length in bytes.
    pub len: usize,
    /// The writing thread has not waited since its last write on this socket.
    pub same_interval: bool,
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
    /// Intervals in a row that had one write each, saturating.
    lone: u8,
    /// Rescues by the watchdog not yet made up for by intervals without one.
    strikes: u8,
    /// Intervals for which nothing is held, after too many rescues.
    penance: u8,
}

impl Memory {
    /// Decides one write: true holds it.
    pub fn on_write(&mut self, rules: &Rules, write: Write) -> bool {
        if !write.same_interval {
            self.close_interval();
        }
        self.writes = self.writes.saturating_add(1);
        match rules.policy {
            Policy::Nodelay => false,
            Policy::CorkUntilBlock => true,
            Policy::FlushOnBlock | Policy::Observe => {
                // A second write in an interval is held whatever the habit: it has a companion.
                let expects_company = self.lone < LONE_INTERVALS_TO_PASS || self.writes > 1;
                write.len < rules.hold_below && self.penance == 0 && expects_company
            }
        }
    }

    /// Whether a write that is to be held is worth waking a sleeping watchdog for. If not, it passes.
    ///
    /// A watchdog woken for one answer costs as much as ten segments, most of it timer interrupts: on
    /// an answer of two writes, now and then, that is more than holding can save. It pays for a busy
    /// program, and for answers of many writes. `quiet_ns`, how long ago this question was asked
    /// last in the process, is asked for only where it matters.
    #[must_use]
    pub fn is_worth_waking(&self, write: Write, quiet_ns: impl FnOnce() -> u64) -> bool {
        let pieces = self.writes.max(self.usual);
        pieces >= PIECES_WORTH_WAKING || (!write.same_interval && quiet_ns() < BUSY_NS)
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

    /// The memory as one word for an atomic cell; all zero is a fresh socket.
    #[must_use]
    pub fn pack(self) -> u64 {
        let Self {
            writes,
            usual,
            lone,
            strikes,
            penance,
        } = self;
        u64::from_le_bytes([writes, usual, lone, strikes, penance, 0, 0, 0])
    }

    /// The inverse of [`Memory::pack`].
    #[must_use]
    pub fn unpack(word: u64) -> Self {
        let [writes, usual, lone, strikes, penance, ..] = word.to_le_bytes();
        Self {
            writes,
            usual,
            lone,
            strikes,
            penance,
        }
    }

    fn close_interval(&mut self) {
        self.lone = match self.writes {
            0 => self.lone,
            1 => self.lone.saturating_add(1),
            _ => 0,
        };
        if self.writes > 0 {
            self.usual = self.writes;
            self.strikes = self.strikes.saturating_sub(1);
            self.penance = self.penance.saturating_sub(1);
        }
        self.writes = 0;
    }
}

/// After this many intervals of one write each the socket is taken to answer in one piece, and
/// holding would only add the cost of the flush (measured on Redis: 14-19 % of CPU).
const LONE_INTERVALS_TO_PASS: u8 = 8;
/// A rescue weighs this many intervals without one ...
const STRIKES_PER_RESCUE: u8 = 4;
/// ... and three rescues close together are a habit.
const STRIKES_TO_PENANCE: u8 = 10;
/// How long a habit of being rescued is believed in.
const PENANCE_INTERVALS: u8 = 64;
/// Answers of this many writes are held however rare they are. Measured: waking the watchdog costs
/// 40-50 us in all, a segment saved 4-5.
const PIECES_WORTH_WAKING: u8 = 8;
/// Writes to be held that come closer together than this are a busy program's.
const BUSY_NS: u64 = 250_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// A socket living through intervals of so many writes of 100 bytes each; which were held?
    fn held(memory: &mut Memory, rules: &Rules, intervals: &[usize]) -> Vec<Vec<bool>> {
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

    #[test]
    fn a_chatty_socket_is_held_for_ever() {
        let mut memory = Memory::default();
        let all = held(&mut memory, &Rules::default(), &[3; 1000]);
        assert!(all.into_iter().flatten().all(|held| held));
    }

    #[test]
    fn after_eight_lone_writes_a_socket_passes_until_it_has_company() {
        let mut memory = Memory::default();
        let rules = Rules::default();
        let lone = held(&mut memory, &rules, &[1; 20]);
        let count = lone.iter().flatten().filter(|held| **held).count();
        assert_eq!(count, usize::from(LONE_INTERVALS_TO_PASS));
        // The first of two has already gone when the second shows that it was not alone.
        assert_eq!(
            held(&mut memory, &rules, &[2, 2]),
            [vec![false, true], vec![true, true]]
        );
    }

    #[test]
    fn large_writes_are_never_held_but_count_as_company() {
        let rules = Rules::default();
        let mut memory = Memory::default();
        let large = Write {
            len: rules.hold_below,
            same_interval: false,
        };
        assert!(!memory.on_write(&rules, large));
        assert!(memory.on_write(
            &rules,
            Write {
                len: rules.hold_below - 1,
                same_interval: true
            }
        ));
    }

    #[test]
    fn a_socket_rescued_time_and_again_is_left_alone_for_a_while() {
        let rules = Rules::default();
        let mut memory = Memory::default();
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
        let mut memory = Memory::default();
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
            !memory.is_worth_waking(first, || 20_000_000),
            "now and then"
        );
        assert!(memory.is_worth_waking(first, || 50_000), "busy");
        assert!(
            !memory.is_worth_waking(more, || 50_000),
            "the second write of an answer says nothing of how many answers there are"
        );
        held(&mut memory, &rules, &[12, 1]);
        assert!(memory.is_worth_waking(first, || 20_000_000), "long answers");
        held(&mut memory, &rules, &[2, 8]);
        assert!(memory.is_worth_waking(more, || 20_000_000), "the eighth");
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
                Memory::default().on_write(
                    &rules,
                    Write {
                        len,
                        same_interval: false,
                    },
                )
            };
            assert_eq!((decide(1), decide(100_000)), (small, bulk), "{policy:?}");
        }
    }

    #[test]
    fn packing_loses_nothing() {
        let memory = Memory {
            writes: 1,
            usual: 5,
            lone: 2,
            strikes: 3,
            penance: 4,
        };
        assert_eq!(Memory::unpack(memory.pack()), memory);
        assert_eq!(Memory::unpack(0), Memory::default());
    }
}
