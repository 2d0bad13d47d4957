//! Positions in a stream of octets, and ranges of them.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A sequence number that never wraps (RFC 9293, section 3.4, without the modulus).
///
/// The SYN occupies offset 0, the first octet of data offset 1, and the FIN the offset after the
/// last octet. The crate that encodes packets adds the initial sequence number and cuts to 32 bits.
///
/// Below the SYN there is room for the whole space of sequence numbers: an arriving segment may
/// belong to an older connection, or be a guess, and must be answered all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Offset(u64);

/// The SYN's internal position: one whole space of sequence numbers above the least offset.
const SYN: u64 = 1 << 32;

impl Offset {
    /// The offset of the SYN.
    pub const SYN: Self = Self(SYN);
    /// The offset of the first octet of data.
    pub const FIRST: Self = Self(SYN + 1);

    /// Returns the offset `position` after the SYN.
    #[must_use]
    pub const fn new(position: u64) -> Self {
        Self(SYN + position)
    }

    /// Returns the distance from the SYN; 0 for offsets before it.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.saturating_sub(SYN)
    }

    /// Returns the offset `ahead` octets after this one, or before it if negative; never more than
    /// 2^32 before the SYN.
    #[must_use]
    pub const fn offset_by(self, ahead: i64) -> Self {
        Self(self.0.saturating_add_signed(ahead))
    }

    /// Returns the distance from the SYN modulo 2^32, on either side of it.
    #[must_use]
    pub const fn low_bits(self) -> u32 {
        self.0 as u32
    }

    /// Returns the distance from `earlier` to this offset; 0 if `earlier` is in fact later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Default for Offset {
    fn default() -> Self {
        Self::SYN
    }
}

impl Add<u64> for Offset {
    type Output = Self;
    fn add(self, octets: u64) -> Self {
        Self(self.0 + octets)
    }
}

impl AddAssign<u64> for Offset {
    fn add_assign(&mut self, octets: u64) {
        self.0 += octets;
    }
}

impl Sub for Offset {
    type Output = u64;
    /// Returns the distance between two offsets. Use [`since`](Offset::since) if the right one may
    /// be the later one.
    ///
    /// # Panics
    ///
    /// If the right one is the later one and debug assertions are on.
    fn sub(self, earlier: Self) -> u64 {
        debug_assert!(self >= earlier, "{self} lies before {earlier}");
        self.0.wrapping_sub(earlier.0)
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0.wrapping_sub(SYN) as i64).fmt(f)
    }
}

/// A range of octets that includes `start` and excludes `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// The first octet.
    pub start: Offset,
    /// One past the last octet.
    pub end: Offset,
}

impl Span {
    /// Returns the range from `start` up to but not including `end`.
    #[must_use]
    pub const fn new(start: Offset, end: Offset) -> Self {
        Self { start, end }
    }

    /// Returns the number of octets.
    #[must_use]
    pub const fn len(self) -> u64 {
        self.end.since(self.start)
    }

    /// Returns whether the range is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }
}

impl fmt::Display for Span {
    /// Writes the range as tcpdump prints sequence numbers: `1:1461`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.start, self.end)
    }
}
