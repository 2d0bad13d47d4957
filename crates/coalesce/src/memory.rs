//! The predictor, which predicts a socket's next write from its recent habit.

use crate::debt::Debt;
use crate::purse::Purse;
use crate::{Policy, Rules};

/// One write as the program issued it.
#[derive(Clone, Copy, Debug)]
pub struct Write {
    /// Length in bytes.
    pub len: usize,
    /// Whether the writing thread has not waited since its last write on this socket.
    pub same_interval: bool,
}

/// The decision about a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The write leaves, together with the held bytes.
    Pass,
    /// The write is held.
    Hold,
    /// As [`Decision::Pass`]. The write would have been held, but by the socket's habit it is the
    /// last of its answer. So the held bytes leave with it and need no call of their own when the
    /// thread waits.
    Complete,
    /// As [`Decision::Pass`]. The write would have been held, but its answer takes so long to write
    /// that the watchdog would flush in the middle; see [`Memory::is_overdue`].
    Overdue,
}

/// The memory of one socket. An *interval* is the time between two flushes. One `writev` could have
/// sent all writes of an interval, so an interval is usually one answer.
///
/// The memory is small, so that the hooks can keep it in one atomic word ([`Memory::pack`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Writes in the running interval, saturating.
    writes: u8,
    /// Writes in the interval before.
    usual: u8,
    /// How many more first writes will be held in the hope that a second write joins them. A second
    /// write renews the number, so it shows how long ago the last one was.
    hope: u8,
    /// Intervals begun, up to [`YOUTH_INTERVALS`].
    age: u8,
    /// How many more intervals must have as many writes as the one before until the predictor
    /// relies on that number.
    doubt: u8,
    /// Whether the last write was held. If so, the interval ends with a call of its own, unless
    /// another write follows.
    open: bool,
    /// What holding has saved, minus what its flushes have cost; see [`Purse`].
    purse: Purse,
    /// What the socket owes for rescues by the watchdog.
    debt: Debt,
}

/// What the young connections of one service (a port, opened or accepted) have done so far, and so
/// what is expected of the next connection. All connections of the service share one, which the
/// hooks keep in one atomic word ([`Habit::pack`]). Zero stands for an unknown service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Habit {
    hope: u8,
    debt: Debt,
}

impl Habit {
    /// Returns the memory of a fresh socket of this service.
    ///
    /// Nothing is expected of an unknown service, so its writes pass. A program that answers in one
    /// piece therefore never pays for a flush or for a watchdog.
    #[must_use]
    pub fn fresh(self, rules: &Rules) -> Memory {
        Memory {
            hope: if rules.eager {
                HOPE
            } else {
                self.hope.min(HOPE)
            },
            debt: self.debt,
            ..Memory::default()
        }
    }

    /// Returns the service's habit after a write on one of its sockets. Only young sockets change
    /// it, because an old socket says nothing about how the next connection begins.
    #[inline(always)]
    #[must_use]
    pub fn after_write(mut self, memory: &Memory, write: Write) -> Self {
        if memory.age < YOUTH_INTERVALS {
            self.hope = memory.hope;
            if !write.same_interval {
                self.debt.pay();
            }
        }
        self
    }

    /// Returns the service's habit after a rescue of one of its sockets, so that not every short
    /// connection needs a rescue of its own.
    #[must_use]
    pub fn after_rescue(mut self, contended: bool) -> Self {
        self.debt.grow(contended);
        self
    }

    /// Returns the habit as one word for an atomic cell.
    #[inline(always)]
    #[must_use]
    pub fn pack(self) -> u32 {
        u32::from(self.hope) | self.debt.pack() << 4
    }

    /// Returns the habit from a word that [`Habit::pack`] made.
    #[inline(always)]
    #[must_use]
    pub fn unpack(word: u32) -> Self {
        Self {
            hope: (word & 0xf) as u8,
            debt: Debt::unpack(word >> 4),
        }
    }
}

impl Memory {
    /// Decides about one write.
    #[inline(always)]
    pub fn on_write(&mut self, rules: &Rules, write: Write) -> Decision {
        let hopeful = self.hope > 0;
        if !write.same_interval {
            self.begin_interval();
        } else if self.open {
            self.purse.saves_a_segment();
        }
        self.writes = self.writes.saturating_add(1);
        let has_company = self.writes > 1;
        if has_company {
            self.hope = HOPE;
        }
        let is_last = self.is_last();
        self.notice_surprise();
        let decision = match rules.policy {
            Policy::Nodelay => Decision::Pass,
            Policy::CorkUntilBlock => Decision::Hold,
            Policy::FlushOnBlock | Policy::Observe => {
                // A second write in an interval is held, whatever the habit.
                let is_held = write.len < rules.hold_below
                    && (hopeful || has_company)
                    && self.purse.is_solvent()
                    && self.debt.is_borne();
                match (is_held, is_last) {
                    (true, true) => Decision::Complete,
                    (true, false) => Decision::Hold,
                    (false, _) => Decision::Pass,
                }
            }
        };
        self.open = decision == Decision::Hold;
        decision
    }

    /// Returns whether the write that is to be held should leave with the held bytes instead. This
    /// is so if its answer takes so long to write that the watchdog would flush in the middle and
    /// the socket would owe for a rescue. `age_ns` returns how long the oldest byte has been held;
    /// it is called only in a long answer.
    #[inline(always)]
    pub fn is_overdue(&mut self, rules: &Rules, age_ns: impl FnOnce() -> u64) -> bool {
        let is_overdue = rules.policy != Policy::CorkUntilBlock
            && self.writes >= PIECES_WORTH_WAKING
            && age_ns() >= rules.watchdog_ns / 2;
        if is_overdue {
            self.open = false;
        }
        is_overdue
    }

    /// Notes that the write that was to be held passes after all, because no watchdog can watch
    /// over it.
    pub fn passes_after_all(&mut self) {
        self.open = false;
    }

    /// Returns whether the last write was the second of its interval.
    #[inline(always)]
    #[must_use]
    pub fn is_second(&self) -> bool {
        self.writes == 2
    }

    /// Returns whether the running interval has as many writes as each of the last ones had. For
    /// intervals of one write [`HOPE`] decides.
    #[inline(always)]
    fn is_last(&self) -> bool {
        self.doubt == 0 && self.writes == self.usual && self.usual > 1 && self.usual < u8::MAX
    }

    /// Notes a write after the one that was believed to be the last: the answer has cost one
    /// segment more than necessary.
    #[inline(always)]
    fn notice_surprise(&mut self) {
        if self.doubt == 0 && self.usual > 1 && self.writes > self.usual {
            self.doubt = SURPRISE_DOUBT;
        }
    }

    /// Returns whether it is worth starting or waking the watchdog to hold a write. If not, the
    /// write passes.
    ///
    /// Waking the watchdog for one answer costs as much as ten segments, most of it for timer
    /// interrupts. If a program answers only now and then, with two writes, that is more than
    /// holding can save. The watchdog pays for a busy program, and for answers of many writes.
    /// `pays` (usually [`crate::Pace::is_worth_waking`]) is called only where its result matters.
    #[must_use]
    pub fn is_worth_waking(
        &self,
        rules: &Rules,
        write: Write,
        pays: impl FnOnce() -> bool,
    ) -> bool {
        let pieces = self.writes.max(self.usual);
        rules.eager || pieces >= PIECES_WORTH_WAKING || (!write.same_interval && pays())
    }

    /// Notes that the watchdog had to flush this socket because its program computes or spins while
    /// bytes are held. Returns whether the socket now changes to `NODELAY`, for at least a thousand
    /// intervals.
    ///
    /// If the thread had no CPU (`contended`), the rescue says little about its program and costs
    /// less. Many such rescues still mean that the program spins.
    pub fn on_rescue(&mut self, contended: bool) -> bool {
        if core::mem::take(&mut self.open) {
            self.purse.pays_for_a_flush();
        }
        self.debt.grow(contended)
    }

    /// Returns the memory as one word for an atomic cell; zero is a socket that was never written
    /// to.
    #[inline(always)]
    #[must_use]
    pub fn pack(self) -> u64 {
        u64::from(self.writes)
            | u64::from(self.usual) << 8
            | u64::from(self.hope) << 16
            | u64::from(self.age) << 20
            | u64::from(self.doubt) << 24
            | u64::from(self.open) << 31
            | u64::from(self.purse.pack()) << 32
            | u64::from(self.debt.pack()) << 40
    }

    /// Returns the memory from a word that [`Memory::pack`] made.
    #[inline(always)]
    #[must_use]
    pub fn unpack(word: u64) -> Self {
        Self {
            writes: word as u8,
            usual: (word >> 8) as u8,
            hope: (word >> 16 & 0xf) as u8,
            age: (word >> 20 & 0xf) as u8,
            doubt: (word >> 24 & 0x7f) as u8,
            open: word >> 31 & 1 == 1,
            purse: Purse::unpack((word >> 32) as u8),
            debt: Debt::unpack((word >> 40) as u32),
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
            self.debt.pay();
            self.purse.has_lived_an_interval();
            if self.open {
                self.purse.pays_for_a_flush();
            }
        }
        self.writes = 0;
        self.open = false;
        self.hope = self.hope.saturating_sub(1);
        self.age = self.age.saturating_add(1).min(YOUTH_INTERVALS);
    }
}

/// After this many intervals of one write each the socket is taken to answer in one piece, and
/// holding would only add the cost of the flush (the prototype saw 14-19 % of Redis's CPU).
const HOPE: u8 = 8;
/// For this many intervals a socket changes its service's habit.
const YOUTH_INTERVALS: u8 = 8;
/// This many intervals in a row must have the same number of writes before the predictor relies on
/// that number.
const CHANGE_DOUBT: u8 = 8;
/// As [`CHANGE_DOUBT`], but after an answer that went on when it was believed to be complete. With
/// this value no pattern of answers costs more than one segment in 65 answers.
const SURPRISE_DOUBT: u8 = 64;
/// Answers of this many writes are held however rare they are. The number weighs two differences in
/// CPU time: waking the watchdog costs 40-50 us for an answer, and each segment less saves 4-5 us.
const PIECES_WORTH_WAKING: u8 = 8;

#[cfg(test)]
mod tests;
