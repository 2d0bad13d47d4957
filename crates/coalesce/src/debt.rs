//! The debt of a socket: how much the watchdog's rescues reduce our trust in it.

/// What a socket, or a service, owes for the rescues that the watchdog had to make, counted in
/// intervals without a rescue. While it owes more than [`GRACE`], nothing is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Debt {
    intervals: u32,
    /// How often the debt has exceeded the grace. Each time doubles the weight of a rescue.
    level: u8,
}

impl Debt {
    /// Returns whether the socket's writes may still be held.
    #[inline(always)]
    pub(crate) fn is_borne(self) -> bool {
        self.intervals <= GRACE
    }

    /// Pays for one interval that has passed.
    #[inline(always)]
    pub(crate) fn pay(&mut self) {
        self.intervals = self.intervals.saturating_sub(1);
    }

    /// Adds a rescue, and returns whether the debt now exceeds the grace.
    pub(crate) fn grow(&mut self, contended: bool) -> bool {
        let (weight, highest) = if contended {
            (CONTENDED_WEIGHT, LAST_LEVEL - 1)
        } else {
            (GRACE, LAST_LEVEL)
        };
        if self.intervals == 0 {
            self.level = self.level.saturating_sub(1);
        }
        let was_borne = self.is_borne();
        self.intervals = (self.intervals + (weight << self.level)).min(MOST);
        let outgrown = was_borne && !self.is_borne();
        if outgrown {
            self.level = (self.level + 1).min(highest.max(self.level));
        }
        outgrown
    }

    /// Returns the debt in 24 bits.
    #[inline(always)]
    pub(crate) fn pack(self) -> u32 {
        u32::from(self.level) | self.intervals << 4
    }

    #[inline(always)]
    pub(crate) fn unpack(word: u32) -> Self {
        Self {
            level: (word & 0xf) as u8,
            intervals: word >> 4 & MOST,
        }
    }
}

/// A rescue costs this many intervals without one, so that no more than one answer in a thousand
/// waits for the watchdog. It is also the debt up to which writes are still held: a second rescue
/// among a thousand answers is one too many.
pub(crate) const GRACE: u32 = 1_000;
/// The cost of a rescue while the thread had no CPU: on a crowded machine a few answers in a
/// hundred are interrupted in the middle, and lose nothing by it.
pub(crate) const CONTENDED_WEIGHT: u32 = 32;
/// After this many doublings the weight grows no more: half a million intervals without holding for
/// a second rescue. A debt is never for good, because a program that spins, or a machine that is
/// crowded, may not always be so.
const LAST_LEVEL: u8 = 9;
/// The largest debt.
const MOST: u32 = (1 << 20) - 1;
