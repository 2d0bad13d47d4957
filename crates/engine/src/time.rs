//! Time, which is always an argument: an [`Instant`] is nanoseconds since an epoch that the caller
//! chose.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A moment in nanoseconds since the caller's epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Instant {
    /// The epoch.
    pub const ZERO: Self = Self(0);
    /// The last representable moment, later than anything that happens.
    pub const FAR_FUTURE: Self = Self(u64::MAX);

    /// Returns the moment `nanos` nanoseconds after the epoch.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns the nanoseconds since the epoch.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns how long ago `earlier` was; zero if it is still to come.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// The zero length.
    pub const ZERO: Self = Self(0);

    /// Returns a length of `nanos` nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns a length of `micros` microseconds, or the longest representable one.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// Returns a length of `millis` milliseconds, or the longest representable one.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Returns a length of `secs` seconds, or the longest representable one.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// Returns the whole nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the milliseconds with their fraction.
    #[must_use]
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Returns `factor` times the length, or the longest representable length.
    #[must_use]
    pub const fn times(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

/// A timer's deadline, which may be off. It compares as one number: a deadline that is off is later
/// than all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    pub(crate) const OFF: Self = Self(Instant::FAR_FUTURE);

    #[inline]
    pub(crate) const fn at(at: Instant) -> Self {
        Self(at)
    }

    #[inline]
    pub(crate) fn is_off(self) -> bool {
        self == Self::OFF
    }

    #[inline]
    pub(crate) fn is_due(self, now: Instant) -> bool {
        self.0 <= now
    }

    #[inline]
    pub(crate) fn get(self) -> Option<Instant> {
        (!self.is_off()).then_some(self.0)
    }
}

impl From<Option<Instant>> for Deadline {
    #[inline]
    fn from(at: Option<Instant>) -> Self {
        at.map_or(Self::OFF, Self::at)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, length: Duration) -> Self {
        Self(self.0.saturating_add(length.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, length: Duration) {
        *self = *self + length;
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    /// Returns an earlier moment, but none before the epoch.
    fn sub(self, length: Duration) -> Self {
        Self(self.0.saturating_sub(length.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl From<Duration> for core::time::Duration {
    fn from(length: Duration) -> Self {
        Self::from_nanos(length.0)
    }
}

impl TryFrom<core::time::Duration> for Duration {
    type Error = core::num::TryFromIntError;

    /// Returns the same length.
    ///
    /// # Errors
    ///
    /// A length beyond 2^64 - 1 nanoseconds (584 years) does not fit.
    ///
    /// ```
    /// use tinygram_engine::Duration;
    ///
    /// let usual = core::time::Duration::from_millis(40);
    /// let ours = Duration::try_from(usual)?;
    /// assert_eq!(ours, Duration::from_millis(40));
    /// assert_eq!(core::time::Duration::from(ours), usual);
    /// assert!(Duration::try_from(core::time::Duration::MAX).is_err());
    /// # Ok::<(), core::num::TryFromIntError>(())
    /// ```
    fn try_from(length: core::time::Duration) -> Result<Self, Self::Error> {
        Ok(Self(u64::try_from(length.as_nanos())?))
    }
}

impl fmt::Display for Instant {
    /// Writes seconds with six decimals, as tcpdump prints relative times.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:06}",
            self.0 / 1_000_000_000,
            self.0 % 1_000_000_000 / 1_000
        )
    }
}

impl fmt::Display for Duration {
    /// Writes the length in the largest unit in which the number is at least one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..1_000 => write!(f, "{} ns", self.0),
            1_000..1_000_000 => write!(f, "{} us", self.0 as f64 / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{} ms", self.0 as f64 / 1e6),
            _ => write!(f, "{} s", self.0 as f64 / 1e9),
        }
    }
}
