//! The standard of a row: the value that it is held to, and its source. The paper prints it, it
//! follows from what the paper says, or it bounds a distance from the paper.

use crate::value::PaperValue;

/// The value that a row is held to.
#[derive(Clone, Debug, PartialEq)]
pub struct Standard {
    /// The value itself; zero for a bound.
    pub value: PaperValue,
    /// Its source.
    pub source: Source,
}

/// The source of the value that a row is held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The paper prints this number, or states it in these words.
    Printed,
    /// It follows from the paper's words or other numbers; the paper does not print it.
    Derived,
    /// The row is a distance between the paper and the reproduction, which the paper cannot have.
    /// The row's tolerance says how small it must be.
    Bound,
}

impl Standard {
    /// Returns a standard that the paper prints.
    #[must_use]
    pub const fn printed(value: PaperValue) -> Self {
        let source = Source::Printed;
        Self { value, source }
    }

    /// Returns a standard that follows from the paper's words or other numbers.
    #[must_use]
    pub const fn derived(value: PaperValue) -> Self {
        let source = Source::Derived;
        Self { value, source }
    }

    /// Returns a bound on a distance from the paper, shown with this many decimals.
    #[must_use]
    pub const fn bound(digits: u8) -> Self {
        Self {
            value: PaperValue::Number(0.0, digits),
            source: Source::Bound,
        }
    }
}
