//! The predictor: what one socket's recent habit says about its next write.

use crate::debt::Debt;
use crate::purse::Purse;
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
    /// As [`Decision::Pass`]: it would have been held, but its answer takes so long to write that the
    /// watchdog would come in the middle, see [`Memory::is_overdue`].
    Overdue,
}

/// What is remembered of one socket. An *interval* is the time between two flushes: what one
/// `writev` could have sent at once, so mostly an answer.
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
    /// Intervals begun, up to [`YOUTH_INTERVALS`].
    age: u8,
    /// How many more intervals must have as many writes as the one before until that number is
    /// believed in.
    doubt: u8,
    /// The last write was held: the interval ends with a call of its own, unless a write follows.
    open: bool,
    /// What holding has saved, less what its flushes have cost, see [`Purse`].
    purse: Purse,
    /// What is owed for rescues by the watchdog.
    debt: Debt,
}

/// What the young connections of one service (a port, opened or accepted) have shown so far: what is
/// expected of the next. One for all of them, kept by the hooks as one atomic word
/// ([`Habit::pack`]); zero is a service nothing is known of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Habit {
    hope: u8,
    debt: Debt,
}

impl Habit {
    /// Returns a fresh socket of this service.
    ///
    /// Of an unknown one nothing is expected, so its writes pass: a program that answers in one
    /// piece never pays for a single flush, nor for a watchdog.
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

    /// Returns the service after a write on one of its sockets. Only young ones teach: a long life says
    /// nothing of how the next connection begins.
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

    /// Returns the service after a rescue of one of its sockets: short connections must not each be
    /// rescued anew.
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

    /// Returns the habit that [`Habit::pack`] made this word of.
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
    /// Decides one write.
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
                // A second write in an interval is held whatever the habit.
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

    /// Returns whether the write that is to be held takes along what is held instead: its answer takes so long to
    /// write that the watchdog would come in the middle, and a rescue be owed for. `age_ns`, how long the
    /// oldest byte has been held, is asked only in a long answer.
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

    /// The write that was to be held passes after all: there is nobody to watch over it.
    pub fn passes_after_all(&mut self) {
        self.open = false;
    }

    /// Returns whether the last write was the second of its interval.
    #[inline(always)]
    #[must_use]
    pub fn is_second(&self) -> bool {
        self.writes == 2
    }

    /// Returns whether the running interval has as many writes as the last ones all had. Of lone writes
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

    /// Returns whether a write that is to be held is worth starting or waking the watchdog for. If not, it
    /// passes.
    ///
    /// A watchdog woken for one answer costs as much as ten segments, most of it timer interrupts: on
    /// an answer of two writes, now and then, that is more than holding can save. It pays for a busy
    /// program, and for answers of many writes. `pays` (mostly [`crate::Pace::is_worth_waking`]) is asked
    /// only where it matters.
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

    /// Books that the watchdog had to flush this socket: its program computes, or spins, with bytes held. Returns
    /// whether the socket now goes over to `NODELAY`, for a thousand intervals at least.
    ///
    /// A thread that had no CPU (`contended`) tells little of its program, so such a rescue weighs
    /// less; but where there are many of them it spins.
    pub fn on_rescue(&mut self, contended: bool) -> bool {
        if core::mem::take(&mut self.open) {
            self.purse.pays_for_a_flush();
        }
        self.debt.grow(contended)
    }

    /// Returns the memory as one word for an atomic cell; all zero is a socket that was never written.
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

    /// Returns the memory that [`Memory::pack`] made this word of.
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
/// For so many intervals a socket teaches its service's habit.
const YOUTH_INTERVALS: u8 = 8;
/// So many intervals in a row must have the very same number of writes before it is believed in.
const CHANGE_DOUBT: u8 = 8;
/// And so many after one that went on when it was believed to be whole: no pattern of answers costs
/// more than a segment in 65 of them.
const SURPRISE_DOUBT: u8 = 64;
/// Answers of this many writes are held however rare they are. A choice between two differences of
/// CPU time an answer: with a watchdog woken for each, 40-50 us more; with a segment less, 4-5 us less.
const PIECES_WORTH_WAKING: u8 = 8;

#[cfg(test)]
mod tests;
