//! What a row is held to: most often what the paper prints, sometimes a number that we had to work out
//! because the paper has it in words, or not at all. Which rows those are is decided here alone.

use crate::experiment::{Row, Tolerance, Value};

/// What a row is held to.
#[derive(Clone, Debug, PartialEq)]
pub enum Standard {
    /// The paper's own number or words.
    Printed(Value),
    /// What the paper's words or other numbers come to; it does not print it.
    Wanted(Value),
    /// A measure of distance from the paper, which should be small; the paper cannot have it.
    AtMost(f64),
}

/// What our own measures are called, by a part of the name. Everything else is the paper's.
const OURS: &[(&str, Kind)] = &[
    // Distances of a whole table from ours.
    ("mean distance from the paper's entries", Kind::AtMost),
    ("rms of the ", Kind::AtMost),
    (
        "that MSMV delays and this combination does not",
        Kind::AtMost,
    ),
    // Sentences, counted: none, all, as many as there are.
    (
        "clearly apart in the paper, that rank otherwise",
        Kind::Wanted,
    ),
    ("runs that deadlock sooner or later", Kind::Wanted),
    ("steps of ours that the table does not have", Kind::Wanted),
    ("so many deadlock", Kind::Wanted),
    ("points below length / raw rate", Kind::Wanted),
    ("delayed length (the", Kind::Wanted),
    ("stalls per transaction", Kind::Wanted),
    ("stalls of document", Kind::Wanted),
    // Quotients of printed numbers.
    ("of Nagle off's", Kind::Wanted),
];

#[derive(Clone, Copy)]
enum Kind {
    Wanted,
    AtMost,
}

impl Row {
    /// What it is held to, if anything.
    #[must_use]
    pub fn standard(&self) -> Option<Standard> {
        let published = self.published.clone()?;
        let is_ours = |(part, _): &&(&str, Kind)| self.measures(part);
        Some(match OURS.iter().find(is_ours) {
            None => Standard::Printed(published),
            Some((_, Kind::Wanted)) => Standard::Wanted(published),
            Some((_, Kind::AtMost)) => Standard::AtMost(self.most(&published)),
        })
    }

    /// Whether the name of what it measures has this part.
    fn measures(&self, part: &str) -> bool {
        self.cell.iter().any(|(key, value)| {
            let Value::Text(name) = value else {
                return false;
            };
            *key == "measure" && name.contains(part)
        })
    }

    /// The largest number that its tolerance allows.
    fn most(&self, published: &Value) -> f64 {
        let wanted = published.number().unwrap_or_default();
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

    fn row(measure: &str, published: Option<f64>) -> Row {
        Row {
            cell: vec![("measure", Value::Text(measure.into()))],
            published: published.map(|value| Value::Number(value, 1)),
            reproduced: Value::Number(1.8, 1),
            tolerance: Tolerance::Within(3.0),
            class: Class::Fitted,
        }
    }

    #[test]
    fn what_the_paper_prints_is_told_from_what_we_worked_out() {
        let printed = row("retrieval time [ms]", Some(43.0)).standard();
        assert_eq!(printed, Some(Standard::Printed(Value::Number(43.0, 1))));
        let wanted = row("stalls per transaction", Some(3.0)).standard();
        assert_eq!(wanted, Some(Standard::Wanted(Value::Number(3.0, 1))));
        let distance = row("rms of the 41 fast cells (%)", Some(0.0)).standard();
        assert_eq!(distance, Some(Standard::AtMost(3.0)));
        assert_eq!(row("stalls per transaction", None).standard(), None);
    }
}
