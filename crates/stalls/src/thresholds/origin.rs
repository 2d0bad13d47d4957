//! What a threshold is, and where its value is from.

use core::fmt;

/// A number on which a verdict depends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// The constant's name.
    pub name: &'static str,
    /// The value, in `unit`.
    pub value: f64,
    /// The unit.
    pub unit: Unit,
    /// Where the value is from.
    pub origin: Origin,
    /// What it decides.
    pub meaning: &'static str,
}

/// The unit of a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Nanoseconds,
    /// Seconds.
    Seconds,
    /// Bytes, or sequence numbers.
    Bytes,
    /// How often, or how many.
    Count,
    /// A share or a multiple.
    Ratio,
    /// Percent.
    Percent,
    /// How probable an accident is.
    Probability,
    /// Events per second.
    PerSecond,
}

/// Where a value is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// An RFC; its number and section.
    Rfc(&'static str),
    /// The source of a kernel; which, and the name there.
    Kernel(&'static str),
    /// A published paper; which, and the section.
    Paper(&'static str),
    /// A standard that is no RFC, or a fact of hardware or physics.
    Fact(&'static str),
    /// It was measured; on what.
    Measured(&'static str),
    /// It was chosen so that known cases come out right; which cases.
    Fitted(&'static str),
    /// It is neither stated nor measured nor fitted; why this value was chosen.
    Assumed(&'static str),
}

impl Origin {
    /// Returns the sort of origin in one word.
    #[must_use]
    pub const fn sort(self) -> &'static str {
        match self {
            Self::Rfc(_) => "RFC",
            Self::Kernel(_) => "kernel",
            Self::Paper(_) => "paper",
            Self::Fact(_) => "fact",
            Self::Measured(_) => "measured",
            Self::Fitted(_) => "fitted",
            Self::Assumed(_) => "assumed",
        }
    }

    /// Returns the source itself.
    #[must_use]
    pub const fn source(self) -> &'static str {
        match self {
            Self::Rfc(text)
            | Self::Kernel(text)
            | Self::Paper(text)
            | Self::Fact(text)
            | Self::Measured(text)
            | Self::Fitted(text)
            | Self::Assumed(text) => text,
        }
    }
}

/// Writes for example `RFC 1122, section 4.2.3.2`.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rfc(text) => write!(f, "RFC {text}"),
            other => write!(f, "{}: {}", other.sort(), other.source()),
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unit {
            Unit::Nanoseconds => write!(f, "{}", crate::cost::Ms(self.value as i64)),
            Unit::Seconds => write!(f, "{} s", self.value),
            Unit::Bytes => write!(f, "{} bytes", self.value),
            Unit::Count | Unit::Ratio | Unit::Probability => write!(f, "{}", self.value),
            Unit::Percent => write!(f, "{} %", self.value),
            Unit::PerSecond => write!(f, "{}/s", self.value),
        }
    }
}
