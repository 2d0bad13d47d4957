//! What a row is held to, and where that comes from: the paper prints it, it follows from what the paper
//! says, or it is a bound on a distance of ours.

use crate::experiment::{Row, Tolerance, Value};

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
    /// What the paper prints.
    #[must_use]
    pub const fn printed(value: Value) -> Self {
        let source = Source::Printed;
        Self { value, source }
    }

    /// What the paper's words or other numbers come to.
    #[must_use]
    pub const fn derived(value: Value) -> Self {
        let source = Source::Derived;
        Self { value, source }
    }

    /// A distance from the paper, shown with so many digits after the point.
    #[must_use]
    pub const fn bound(digits: u8) -> Self {
        Self {
            value: Value::Number(0.0, digits),
            source: Source::Bound,
        }
    }
}

impl Row {
    /// The value that the row is held to.
    #[must_use]
    pub fn held_to(&self) -> Option<&Value> {
        self.standard.as_ref().map(|standard| &standard.value)
    }

    /// Where the value that the row is held to comes from.
    #[must_use]
    pub fn source(&self) -> Option<Source> {
        self.standard.as_ref().map(|standard| standard.source)
    }

    /// The largest number that the row's tolerance allows; infinite where any is allowed.
    #[must_use]
    pub fn most(&self) -> f64 {
        let wanted = self.held_to().and_then(Value::number).unwrap_or_default();
        match self.tolerance {
            Tolerance::Exact => wanted,
            Tolerance::Within(distance) => wanted + distance,
            Tolerance::Share(share) => wanted + share * wanted.abs(),
            Tolerance::Between(_, high) => high,
            Tolerance::Unbounded => f64::INFINITY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Class;

    fn row(standard: Option<Standard>) -> Row {
        Row {
            cell: vec![("measure", Value::Text("a distance".into()))],
            standard,
            reproduced: Value::Number(1.8, 1),
            tolerance: Tolerance::Within(3.0),
            class: Class::Fitted,
        }
    }

    #[test]
    fn a_row_says_where_its_number_is_from() {
        let printed = row(Some(Standard::printed(Value::Number(43.0, 1))));
        assert_eq!(printed.source(), Some(Source::Printed));
        assert_eq!(printed.most(), 46.0);
        let bound = row(Some(Standard::bound(1)));
        assert_eq!((bound.source(), bound.most()), (Some(Source::Bound), 3.0));
        assert_eq!(row(None).source(), None);
    }
}
