//! What holding saves and costs one socket, in tenths of a microsecond of CPU time.

/// What holding has saved on a socket, less what its flushes have cost, and with a small allowance for
/// each interval. While it is overdrawn, nothing is held: so whatever the pattern of its writes, a
/// socket loses no more than the allowance.
///
/// Counted from the credit it begins with, so that all zero is a fresh one. What was saved beyond that
/// is forgotten: old savings are no licence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Purse(i8);

impl Purse {
    /// Returns whether a hold may be paid for.
    #[inline(always)]
    pub(crate) fn is_solvent(self) -> bool {
        self.0 >= -CREDIT
    }

    /// A write joined bytes that were held.
    #[inline(always)]
    pub(crate) fn saves_a_segment(&mut self) {
        self.add(SEGMENT_SAVED);
    }

    /// What was held left by a call of its own.
    #[inline(always)]
    pub(crate) fn pays_for_a_flush(&mut self) {
        self.add(-FLUSH_COSTS);
    }

    /// An interval has passed.
    #[inline(always)]
    pub(crate) fn has_lived_an_interval(&mut self) {
        self.add(ALLOWANCE);
    }

    #[inline(always)]
    fn add(&mut self, tenths: i8) {
        self.0 = self.0.saturating_add(tenths).min(0);
    }

    #[inline(always)]
    pub(crate) fn pack(self) -> u8 {
        self.0.cast_unsigned()
    }

    #[inline(always)]
    pub(crate) fn unpack(byte: u8) -> Self {
        Self(byte.cast_signed())
    }
}

/// What a flush of its own costs (docs/run.md, "What the hooks cost").
pub(crate) const FLUSH_COSTS: i8 = 10;
/// What a segment less saves the sender: 2 to 5 microseconds were measured.
pub(crate) const SEGMENT_SAVED: i8 = 30;
/// What holding may cost for each interval.
pub(crate) const ALLOWANCE: i8 = 1;
/// What it may cost before it has saved anything: eight flushes.
pub(crate) const CREDIT: i8 = 80;
