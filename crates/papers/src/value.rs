//! A value, and how close another value must be to it.

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum PaperValue {
    /// A measure, with the number of decimals worth showing.
    Number(f64, u8),
    /// A count, or a size in octets.
    Count(u64),
    /// Words: `stalls`, or a list of sizes.
    Text(String),
}

/// How far a reproduced value may be from the published one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// It must be equal.
    Exact,
    /// By this much, in the value's own unit.
    Within(f64),
    /// By this share of the published value: 0.03 is 3 %.
    Share(f64),
    /// Anything between the two, whatever the published value.
    Between(f64, f64),
    /// Anything: there is nothing to hold it to.
    Unbounded,
}

impl Tolerance {
    /// Returns whether `reproduced` is close enough to `published`. Words must be equal.
    #[must_use]
    pub fn allows(self, published: &PaperValue, reproduced: &PaperValue) -> bool {
        let (Some(paper), Some(ours)) = (published.number(), reproduced.number()) else {
            return self == Self::Unbounded || published == reproduced;
        };
        // Bounds are inclusive also for decimal values, which binary fractions only approximate.
        let slack = 1e-9 * paper.abs().max(1.0);
        match self {
            Self::Exact => (paper - ours).abs() <= slack,
            Self::Within(distance) => (paper - ours).abs() <= distance + slack,
            Self::Share(share) => (paper - ours).abs() <= share * paper.abs() + slack,
            Self::Between(low, high) => (low - slack..=high + slack).contains(&ours),
            Self::Unbounded => true,
        }
    }
}

impl PaperValue {
    /// Returns the number, if it is one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(value, _) => Some(*value),
            Self::Count(count) => Some(*count as f64),
            Self::Text(_) => None,
        }
    }
}

impl std::fmt::Display for PaperValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(value, digits) => write!(f, "{value:.*}", usize::from(*digits)),
            Self::Count(count) => write!(f, "{count}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}
