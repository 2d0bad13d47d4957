//! Times in the fields of a half.

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
