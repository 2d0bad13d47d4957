//! Keeps account of what holding saves and costs one socket, in tenths of a microsecond of CPU
//! time.

/// What holding has saved on a socket, minus what its flushes have cost, plus a small allowance for
/// each interval. While the purse is overdrawn, nothing is held. So a socket loses no more than the
/// allowance, whatever the pattern of its writes.
///
/// The count is relative to the initial credit, so that zero is a fresh purse. Savings beyond the
/// credit are dropped, because old savings do not justify new costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Purse(i8);

impl Purse {
    /// Returns whether the purse can pay for a hold.
    #[inline(always)]
    pub(crate) fn is_solvent(self) -> bool {
        self.0 >= -CREDIT
    }

    /// Adds the saving of a write that joined held bytes.
    #[inline(always)]
    pub(crate) fn saves_a_segment(&mut self) {
        self.add(SEGMENT_SAVED);
    }

    /// Subtracts the cost of a flush: held bytes left by a call of their own.
    #[inline(always)]
    pub(crate) fn pays_for_a_flush(&mut self) {
        self.add(-FLUSH_COSTS);
    }

    /// Adds the allowance for an interval that has passed.
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

/// What a flush of its own costs (book/src/evidence/run.md, "What the hooks cost").
pub(crate) const FLUSH_COSTS: i8 = 10;
/// What one segment less saves the sender: 2 to 5 microseconds were measured.
pub(crate) const SEGMENT_SAVED: i8 = 30;
/// What holding may cost for each interval.
pub(crate) const ALLOWANCE: i8 = 1;
/// What holding may cost before it has saved anything: eight flushes.
pub(crate) const CREDIT: i8 = 80;
