//! How many fitted values explain how many of a paper's values, and how close the reproduction
//! comes to values that were not fitted.

use crate::experiment::{Class, Experiment, Origin, Outcome, Paper, Row, Status};
use crate::standard::Source;
use crate::value::PaperValue;

/// A paper's account. It counts the values that the paper prints, each table once
/// ([`Experiment::repeats`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// The paper.
    pub paper: Paper,
    /// Values chosen so that published values are reproduced.
    pub free: usize,
    /// Printed values that rules alone reproduce.
    pub by_rules: usize,
    /// Printed values that are reproduced with fitted values which may have been fitted to them.
    pub fitted: usize,
    /// Printed values that are reproduced with fitted values, none of which was fitted to them.
    pub held_out: usize,
    /// Printed values that are not reproduced.
    pub off: usize,
    /// How close the held-out values come, by experiment.
    pub distances: Vec<Distance>,
}

/// How close an experiment's held-out numbers come, without the known mismatches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// The experiment's id.
    pub id: &'static str,
    /// The number of values other than zero.
    pub values: usize,
    /// The root mean square of their distances, each in percent of the printed number.
    pub rms_percent: f64,
}

impl Account {
    /// Returns a paper's account from those of its experiments that are among `outcomes`; `None` if
    /// none is.
    #[must_use]
    pub fn of(paper: Paper, outcomes: &[(&Experiment, &Outcome)]) -> Option<Self> {
        let own: Vec<_> = outcomes
            .iter()
            .filter(|(it, _)| it.paper == paper)
            .collect();
        if own.is_empty() {
            return None;
        }
        let once = own.iter().filter(|(it, _)| it.repeats().is_none());
        let printed: Vec<&Row> = once
            .clone()
            .flat_map(|(_, outcome)| &outcome.rows)
            .filter(|row| row.source() == Some(Source::Printed) && row.class != Class::MeasuredHere)
            .collect();
        let count =
            |wanted: &dyn Fn(&Row) -> bool| printed.iter().filter(|row| wanted(row)).count();
        let agrees = |row: &Row| matches!(row.status(), Status::Match | Status::Fitted);
        Some(Self {
            paper,
            free: free(own.iter().map(|(_, outcome)| *outcome)),
            by_rules: count(&|row| row.status() == Status::Match),
            fitted: count(&|row| row.status() == Status::Fitted && row.class == Class::Fitted),
            held_out: count(&|row| agrees(row) && row.class == Class::Predicted),
            off: count(&|row| !agrees(row)),
            distances: once
                .filter_map(|(it, outcome)| Distance::of(it.id, outcome))
                .collect(),
        })
    }
}

/// Returns the number of distinct fitted values in some outcomes.
fn free<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> usize {
    let parameters = outcomes.flat_map(|outcome| &outcome.parameters);
    let fitted = parameters.filter(|it| matches!(it.origin, Origin::Fitted(_)));
    let mut seen: Vec<_> = fitted.map(|it| (it.name, &it.value)).collect();
    seen.sort_unstable();
    seen.dedup();
    seen.len()
}

impl Distance {
    fn of(id: &'static str, outcome: &Outcome) -> Option<Self> {
        let is_held_out =
            |row: &&Row| row.class == Class::Predicted && row.source() == Some(Source::Printed);
        let off = outcome.rows.iter().filter(is_held_out).filter_map(|row| {
            let printed = row.held_to().and_then(PaperValue::number)?;
            (printed != 0.0).then_some(100.0 * (row.reproduced.number()? / printed - 1.0))
        });
        let off: Vec<f64> = off.collect();
        let squares: f64 = off.iter().map(|percent| percent * percent).sum();
        (!off.is_empty()).then(|| Self {
            id,
            values: off.len(),
            rms_percent: (squares / off.len() as f64).sqrt(),
        })
    }
}

impl Experiment {
    /// Returns the experiment whose values this one prints a second time.
    #[must_use]
    pub fn repeats(&self) -> Option<&'static str> {
        (self.id == "moldeklev-table-2a").then_some("moldeklev-table-1")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Standard;
    use crate::experiment::{Effort, Parameter};
    use crate::value::Tolerance;

    const EXPERIMENT: Experiment = Experiment {
        id: "an-experiment",
        paper: Paper::Davids,
        title: "",
        source: "",
        run: |_: &Effort| Outcome::default(),
    };

    fn row(class: Class, standard: Standard, ours: f64) -> Row {
        Row {
            cell: Vec::new(),
            standard: Some(standard),
            reproduced: PaperValue::Number(ours, 1),
            tolerance: Tolerance::Share(0.05),
            class,
        }
    }

    #[test]
    fn printed_values_stand_against_free_ones() {
        let printed =
            |class, ours| row(class, Standard::printed(PaperValue::Number(10.0, 1)), ours);
        let derived = row(
            Class::Rules,
            Standard::derived(PaperValue::Number(10.0, 1)),
            10.0,
        );
        let parameter = |name, origin| Parameter {
            name,
            value: "1 ms".into(),
            origin,
        };
        let fitted = Origin::Fitted("that");
        let outcome = Outcome {
            rows: vec![
                printed(Class::Rules, 10.0),
                printed(Class::Fitted, 10.1),
                printed(Class::Predicted, 10.3),
                printed(Class::Predicted, 9.6),
                printed(Class::Predicted, 12.0),
                printed(Class::KnownMismatch("why"), 20.0),
                printed(Class::MeasuredHere, 20.0),
                derived,
            ],
            parameters: vec![
                parameter("one", fitted),
                parameter("one", fitted),
                parameter("other", fitted),
                parameter("said", Origin::Paper("somewhere")),
            ],
            ..Outcome::default()
        };
        let account = Account::of(Paper::Davids, &[(&EXPERIMENT, &outcome)]).expect("its own");
        let Account {
            by_rules,
            fitted,
            held_out,
            off,
            free,
            ..
        } = account;
        assert_eq!((by_rules, fitted, held_out, off, free), (1, 1, 2, 2, 2));
        let [
            Distance {
                id,
                values,
                rms_percent,
            },
        ] = account.distances[..]
        else {
            panic!("{account:?}");
        };
        // A held-out value that misses counts here as much as one that is reproduced.
        assert_eq!((id, values), ("an-experiment", 3));
        assert!((rms_percent - (425.0_f64 / 3.0).sqrt()).abs() < 1e-9);
        assert_eq!(Account::of(Paper::Mogul, &[(&EXPERIMENT, &outcome)]), None);
    }
}
