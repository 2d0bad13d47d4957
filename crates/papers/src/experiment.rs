//! What an experiment is: published values beside ours, and what stands behind them.
//!
//! A paper's module says which experiments it has and computes them; what became of each value
//! ([`Status`]) is decided here and nowhere else.

use tinygram_sim::medium::{Frame, Side};

use crate::standard::{Source, Standard};
use crate::value::{Tolerance, Value};

/// One of the five papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Paper {
    /// Mogul & Minshall, "Rethinking the TCP Nagle algorithm", 2001.
    Mogul,
    /// Moldeklev & Gunningberg, "Deadlock situations in TCP over ATM".
    Moldeklev,
    /// Heidemann, "Performance interactions between P-HTTP and TCP implementations", 1997.
    Heidemann,
    /// Doupnik, "A new TCP transmission policy replacing Nagle mode", 1999.
    Doupnik,
    /// Davids, "TCP: either fast or efficient".
    Davids,
}

/// An experiment that can be asked for by its id.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// `moldeklev-table-1`: the paper, and what the paper calls it.
    pub id: &'static str,
    /// Whose it is.
    pub paper: Paper,
    /// What is measured, in one line.
    pub title: &'static str,
    /// Where it stands in the paper: `Table 1, section 4.1`.
    pub source: &'static str,
    /// Measures it. Runs on the caller's thread pool, if it has many runs to do.
    pub run: fn(&Effort) -> Outcome,
}

/// What the caller chooses about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// The seed of all chance.
    pub seed: u64,
    /// Repetitions of what the papers repeated ten times; tolerances are for ten.
    pub repetitions: u32,
}

impl Effort {
    /// What the tolerances are meant for.
    pub const PAPER: Self = Self {
        seed: 1,
        repetitions: 10,
    };
}

/// What an experiment found, with all that a reader needs to judge it.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The protocol rules it rests on, a sentence each, with where the paper has them.
    pub rules: Vec<&'static str>,
    /// The numbers it rests on.
    pub parameters: Vec<Parameter>,
    /// Published beside reproduced.
    pub rows: Vec<Row>,
    /// How the rows stand in a table.
    pub layout: Layout,
    /// Pictures.
    pub plots: Vec<Plot>,
    /// Exchanges of segments.
    pub traces: Vec<Trace>,
    /// What the paper got wrong, what cannot be reproduced and why: a sentence each.
    pub notes: Vec<String>,
}

/// A number that an experiment rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// What it is: `system call`.
    pub name: &'static str,
    /// Its value with its unit: `305 us`.
    pub value: String,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where a parameter comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The paper says so: where.
    Paper(&'static str),
    /// Chosen so that certain published values come out: which.
    Fitted(&'static str),
    /// Neither said nor fitted: why this value.
    Assumed(&'static str),
}

/// One value of ours, beside what it is held to.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What the value belongs to, such as `s` 16384 and `r` 32768, in the layout's order.
    pub cell: Vec<(&'static str, Value)>,
    /// What ours is held to, and where that is from; `None` where there is nothing to hold it to.
    pub standard: Option<Standard>,
    /// Ours.
    pub reproduced: Value,
    /// How far they may be apart.
    pub tolerance: Tolerance,
    /// What kind of claim it is.
    pub class: Class,
}

/// What kind of claim a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Comes out of protocol rules alone: no fitted value can change it.
    Rules,
    /// Needs fitted values, and this value is among those that they were fitted to, or may be.
    Fitted,
    /// Needs fitted values, none of which was fitted to this one.
    Predicted,
    /// Is not reproduced: why. Should it agree after all, the row matches, and a test says that the
    /// list is out of date.
    KnownMismatch(&'static str),
    /// The paper has no such value.
    NotPublished,
}

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Within tolerance by rules alone.
    Match,
    /// Within tolerance, with fitted values.
    Fitted,
    /// Off, as is known, for a reason that is named.
    KnownMismatch,
    /// Off.
    Miss,
    /// Nothing to compare with.
    NotPublished,
}

/// How the rows of an outcome stand in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// A line each: cell, published, reproduced.
    #[default]
    List,
    /// A grid as the paper has it: keys of the cell down, and across (outermost first).
    Grid {
        /// Keys that name a line.
        down: &'static [&'static str],
        /// Keys that name a column.
        across: &'static [&'static str],
    },
}

/// A picture as data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    /// What it shows: `Figure 7: S x R plane, with inequalities (1) and (2)`.
    pub title: String,
    /// What the horizontal axis counts, with its unit in brackets.
    pub x: &'static str,
    /// What the vertical axis counts, with its unit in brackets.
    pub y: &'static str,
    /// What is drawn, in the legend's order.
    pub series: Vec<Series>,
}

/// A part of a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What the legend says.
    pub name: String,
    /// How it is drawn.
    pub mark: Mark,
    /// Points (x, y) in the axes' units.
    pub points: Vec<(f64, f64)>,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A dot a point.
    Dots,
    /// Crosses, for what stands out.
    Crosses,
    /// Filled squares side by side, for a plane of cells.
    Squares,
    /// A line through the points.
    Line,
    /// A broken line through the points.
    Dashed,
    /// A line that keeps its height until the next point: what is sent or acknowledged at once.
    Steps,
    /// A stroke for each point in a row under the series' name; y is the row's number from the top.
    /// A plot that has rows has nothing else.
    Row,
}

/// An exchange of segments, to be shown in tcpdump's notation or kept as a capture.
#[derive(Clone, Debug)]
pub struct Trace {
    /// What happened: `Figure 2: short initial segment`.
    pub title: String,
    /// The hosts' names, client's first.
    pub hosts: [&'static str; 2],
    /// Who sent what, in order of leaving; the time is in the frame.
    pub sent: Vec<(Side, Frame)>,
}

impl Row {
    /// Returns what became of it.
    #[must_use]
    pub fn status(&self) -> Status {
        let Some(standard) = &self.standard else {
            return Status::NotPublished;
        };
        let agrees = self.tolerance.allows(&standard.value, &self.reproduced);
        match self.class {
            Class::NotPublished => Status::NotPublished,
            Class::Rules if agrees => Status::Match,
            Class::KnownMismatch(_) if agrees => Status::Match,
            Class::Fitted | Class::Predicted if agrees => Status::Fitted,
            Class::KnownMismatch(_) => Status::KnownMismatch,
            Class::Rules | Class::Fitted | Class::Predicted => Status::Miss,
        }
    }

    /// Returns the value that the row is held to.
    #[must_use]
    pub fn held_to(&self) -> Option<&Value> {
        self.standard.as_ref().map(|standard| &standard.value)
    }

    /// Where the value that the row is held to comes from.
    #[must_use]
    pub fn source(&self) -> Option<Source> {
        self.standard.as_ref().map(|standard| standard.source)
    }

    /// Returns the largest number that the row's tolerance allows; infinite where any is allowed.
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

impl Paper {
    /// All five, in the order in which they are shown.
    pub const ALL: [Self; 5] = [
        Self::Mogul,
        Self::Moldeklev,
        Self::Heidemann,
        Self::Doupnik,
        Self::Davids,
    ];

    /// Authors, title, place and year.
    #[must_use]
    pub const fn citation(self) -> &'static str {
        match self {
            Self::Mogul => "Mogul & Minshall, Rethinking the TCP Nagle algorithm, 2001",
            Self::Moldeklev => "Moldeklev & Gunningberg, Deadlock situations in TCP over ATM",
            Self::Heidemann => {
                "Heidemann, Performance interactions between P-HTTP and TCP implementations, 1997"
            }
            Self::Doupnik => "Doupnik, A new TCP transmission policy replacing Nagle mode, 1999",
            Self::Davids => "Davids, TCP: either fast or efficient",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(published: Option<f64>, ours: f64, tolerance: Tolerance, class: Class) -> Status {
        Row {
            cell: vec![],
            standard: published.map(|value| Standard::printed(Value::Number(value, 2))),
            reproduced: Value::Number(ours, 2),
            tolerance,
            class,
        }
        .status()
    }

    #[test]
    fn a_row_matches_up_to_its_tolerance_and_no_further() {
        let near = Tolerance::Within(0.005);
        assert_eq!(row(Some(0.33), 0.335, near, Class::Rules), Status::Match);
        assert_eq!(row(Some(0.33), 0.3361, near, Class::Rules), Status::Miss);
        assert_eq!(row(Some(0.33), 0.33, near, Class::Fitted), Status::Fitted);
        let share = Tolerance::Share(0.03);
        assert_eq!(
            row(Some(605.0), 623.0, share, Class::Fitted),
            Status::Fitted
        );
        assert_eq!(row(Some(605.0), 624.0, share, Class::Fitted), Status::Miss);
        let between = Tolerance::Between(0.33, 0.35);
        assert_eq!(row(Some(0.34), 0.35, between, Class::Rules), Status::Match);
        assert_eq!(row(Some(0.34), 0.36, between, Class::Rules), Status::Miss);
    }

    #[test]
    fn a_known_mismatch_never_fails_and_never_hides_agreement() {
        let known = Class::KnownMismatch("depends on the tick");
        let exact = Tolerance::Exact;
        assert_eq!(row(Some(0.33), 0.49, exact, known), Status::KnownMismatch);
        assert_eq!(row(Some(0.33), 0.33, exact, known), Status::Match);
        assert_eq!(
            row(None, 1.0, exact, Class::NotPublished),
            Status::NotPublished
        );
    }

    #[test]
    fn words_are_equal_or_not() {
        let text = |text: &str| Value::Text(text.into());
        assert!(Tolerance::Exact.allows(&text("stalls"), &text("stalls")));
        assert!(!Tolerance::Within(9.0).allows(&text("stalls"), &text("runs")));
    }

    fn held_to(standard: Option<Standard>) -> Row {
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
        let printed = held_to(Some(Standard::printed(Value::Number(43.0, 1))));
        assert_eq!(printed.source(), Some(Source::Printed));
        assert_eq!(printed.most(), 46.0);
        let bound = held_to(Some(Standard::bound(1)));
        assert_eq!((bound.source(), bound.most()), (Some(Source::Bound), 3.0));
        assert_eq!(held_to(None).source(), None);
    }
}
