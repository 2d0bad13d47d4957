//! Times and lengths in the fields of a half.

use std::cmp::Ordering;

/// Returns a time that fits into a field; never the largest number, which means that there is none.
pub(crate) fn saturate(ns: i64) -> u32 {
    u32::try_from(ns.max(0)).unwrap_or(u32::MAX - 1)
}

/// Returns the exponential average with a gain of 1/8, as RFC 6298 uses.
pub(super) fn smooth(average_ns: u32, sample_ns: i64) -> u32 {
    let sample = saturate(sample_ns);
    match average_ns {
        0 => sample,
        average => average - average / 8 + sample / 8,
    }
}

/// Returns whether a length is that of full segments alone; mostly without a division.
#[inline]
pub(super) fn is_whole(len: u32, mss: u32) -> bool {
    match len.cmp(&mss) {
        Ordering::Less => len == 0,
        Ordering::Equal => true,
        Ordering::Greater => len.is_multiple_of(mss),
    }
}
