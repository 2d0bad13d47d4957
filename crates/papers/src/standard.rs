//! What a row is held to, and where that comes from: the paper prints it, it follows from what the paper
//! says, or it is a bound on a distance of ours.

use crate::value::Value;

/// What a row is held to.
#[derive(Clone, Debug, PartialEq)]
pub struct Standard {
    /// The value itself; of a bound, zero.
    pub value: Value,
    /// Where it comes from.
    pub source: Source,
}

/// Where the value that a row is held to comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The paper prints this number, or says it in these words.
    Printed,
    /// The paper's words or other numbers come to it; the paper does not print it.
    Derived,
    /// The row is a distance between the paper and us. It should be small, and the row's tolerance says
    /// how small. The paper cannot have it.
    Bound,
}

impl Standard {
    /// Returns what the paper prints.
    #[must_use]
    pub const fn printed(value: Value) -> Self {
        let source = Source::Printed;
        Self { value, source }
    }

    /// Returns what the paper's words or other numbers come to.
    #[must_use]
    pub const fn derived(value: Value) -> Self {
        let source = Source::Derived;
        Self { value, source }
    }

    /// Returns a distance from the paper, shown with so many digits after the point.
    #[must_use]
    pub const fn bound(digits: u8) -> Self {
        Self {
            value: Value::Number(0.0, digits),
            source: Source::Bound,
        }
    }
}
