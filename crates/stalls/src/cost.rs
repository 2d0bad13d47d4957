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
        let (unit_ns, digits, unit) = match self.0 {
            100_000_000.. => (1_000_000, 0, " ms"),
            10_000_000.. => (100_000, 1, " ms"),
            1_000_000.. => (10_000, 2, " ms"),
            _ => (1_000, 0, " us"),
        };
        let ns = self.0.unsigned_abs();
        // A time in the middle between two texts goes where its fraction of a millisecond goes in binary.
        if ns > PLAIN_NS || ns % unit_ns == unit_ns / 2 {
            return self.as_float(f);
        }
        let (mut rest, mut left) = ((ns + unit_ns / 2) / unit_ns, digits);
        let mut text = [0; 24];
        let mut at = text.len() - unit.len();
        text[at..].copy_from_slice(unit.as_bytes());
        loop {
            at -= 1;
            text[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            left -= 1;
            if left == 0 {
                at -= 1;
                text[at] = b'.';
            } else if left < 0 && rest == 0 {
                break;
            }
        }
        if self.0 < 0 {
            at -= 1;
            text[at] = b'-';
        }
        f.write_str(core::str::from_utf8(&text[at..]).unwrap_or_default())
    }
}

impl Ms {
    fn as_float(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0 as f64 / 1e6;
        match ms {
            ms if ms >= 100.0 => write!(f, "{ms:.0} ms"),
            ms if ms >= 10.0 => write!(f, "{ms:.1} ms"),
            ms if ms >= 1.0 => write!(f, "{ms:.2} ms"),
            ms => write!(f, "{:.0} us", ms * 1e3),
        }
    }
}

/// The longest time whose text is made without a float, in nanoseconds: eleven days, far below what a float tells apart.
const PLAIN_NS: u64 = 1_000_000_000_000_000;

/// Returns a duration for people to read: three digits, in microseconds or milliseconds.
#[cfg(feature = "texts")]
#[must_use]
pub fn ms(ns: i64) -> alloc::string::String {
    alloc::format!("{}", Ms(ns))
}

#[cfg(all(test, feature = "texts"))]
mod tests {
    use super::*;

    #[test]
    fn a_time_reads_as_its_float_does() {
        struct Float(i64);
        impl fmt::Display for Float {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Ms(self.0).as_float(f)
            }
        }
        let mut ns = 1_i64;
        let mut times = alloc::vec![0, -1, -499, -5_000, i64::MIN, i64::MAX];
        for step in 1..4_000 {
            times.extend([-1, 0, 1].map(|off| step * 50_000 + off));
            times.extend([-1, 0, 1].map(|off| step * 500 + off));
            ns = ns
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            times.extend((1..63).map(|bits| ns.wrapping_abs() >> bits));
        }
        for power in 1..19 {
            let ten = 10_i64.pow(power);
            times.extend([ten - ten / 2_000, ten - 1, ten, ten + 1, ten + ten / 2]);
        }
        for ns in times {
            assert_eq!(ms(ns), alloc::format!("{}", Float(ns)), "{ns}");
        }
    }
}
