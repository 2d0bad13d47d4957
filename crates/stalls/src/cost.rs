use core::fmt;
use core::ops::AddAssign;

/// The cost of a finding: time for a stall, segments for a flood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The time that somebody waited in vain, in nanoseconds.
    pub time_ns: i64,
    /// Segments that could have been saved.
    pub segments: u64,
}

impl Cost {
    /// Returns the cost of a wait.
    #[must_use]
    pub fn time(time_ns: i64) -> Self {
        Self {
            time_ns,
            segments: 0,
        }
    }

    /// Returns the cost of needless segments.
    #[must_use]
    pub fn segments(segments: u64) -> Self {
        Self {
            time_ns: 0,
            segments,
        }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.time_ns += other.time_ns;
        self.segments += other.segments;
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.time_ns, self.segments) {
            (time_ns, 0) => Ms(time_ns).fmt(f),
            (0, segments) => write!(f, "{segments} segments"),
            (time_ns, segments) => write!(f, "{} and {segments} segments", Ms(time_ns)),
        }
    }
}

/// A duration in nanoseconds, shown to people: three digits, in microseconds or milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ms(pub i64);

impl fmt::Display for Ms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0 as f64 / 1e6;
        match ms {
            ms if ms >= 100.0 => write!(f, "{ms:.0} ms"),
            ms if ms >= 10.0 => write!(f, "{ms:.1} ms"),
            ms if ms >= 1.0 => write!(f, "{ms:.2} ms"),
            ms => write!(f, "{:.0} us", ms * 1e3),
        }
    }
}

/// Returns a duration for people to read: three digits, in microseconds or milliseconds.
#[cfg(feature = "texts")]
#[must_use]
pub fn ms(ns: i64) -> alloc::string::String {
    alloc::format!("{}", Ms(ns))
}
