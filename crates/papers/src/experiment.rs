//! The model of an experiment: published values beside reproduced ones, and what they rest on.
//!
//! A paper's module lists its experiments and computes them. The [`Status`] of each value is
//! decided only here.

use serde::Serialize;
use tinygram_sim::medium::{MediumFrame, Side};

use crate::standard::{Source, Standard};
use crate::value::{PaperValue, Tolerance};

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
    /// Its id, made of the paper and the paper's name for it: `moldeklev-table-1`.
    pub id: &'static str,
    /// The paper.
    pub paper: Paper,
    /// What is measured, in one line.
    pub title: &'static str,
    /// Its place in the paper: `Table 1, section 4.1`.
    pub source: &'static str,
    /// Runs it, on the caller's thread pool if it has many runs to do.
    pub run: fn(&Effort) -> Outcome,
}

/// The caller's choices for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Effort {
    /// The seed of all random numbers.
    pub seed: u64,
    /// The repetitions of what the papers repeated ten times. Tolerances are meant for ten.
    pub repetitions: u32,
}

impl Effort {
    /// The choices for which the tolerances are meant.
    pub const PAPER: Self = Self {
        seed: 1,
        repetitions: 10,
    };
}

/// The results of an experiment, with everything that a reader needs to judge them.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The protocol rules it rests on, a sentence each, with their place in the paper.
    pub rules: Vec<&'static str>,
    /// The numbers it rests on.
    pub parameters: Vec<Parameter>,
    /// Published values beside reproduced ones.
    pub rows: Vec<Row>,
    /// The arrangement of the rows in a table.
    pub layout: Layout,
    /// Pictures.
    pub plots: Vec<Plot>,
    /// Exchanges of segments.
    pub traces: Vec<Trace>,
    /// Errors of the paper, and what cannot be reproduced and why: a sentence each.
    pub notes: Vec<String>,
}

/// A number that an experiment rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// What it is: `system call`.
    pub name: &'static str,
    /// Its value and unit: `305 us`.
    pub value: String,
    /// Its origin.
    pub origin: Origin,
}

/// The origin of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The paper states it; where.
    Paper(&'static str),
    /// Chosen so that certain published values are reproduced; which ones.
    Fitted(&'static str),
    /// Neither stated nor fitted; why this value was chosen.
    Assumed(&'static str),
}

/// A reproduced value, beside the value that it is held to.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What the value belongs to, for example `s` 16384 and `r` 32768, in the layout's order.
    pub cell: Vec<(&'static str, PaperValue)>,
    /// The value that it is held to, with its source; `None` if there is none.
    pub standard: Option<Standard>,
    /// The reproduced value.
    pub reproduced: PaperValue,
    /// How far apart they may be.
    pub tolerance: Tolerance,
    /// The kind of claim.
    pub class: Class,
}

/// The kind of claim of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It follows from protocol rules alone: no fitted value can change it.
    Rules,
    /// It needs fitted values, and it is, or may be, among the values that they were fitted to.
    Fitted,
    /// It needs fitted values, none of which was fitted to it.
    Predicted,
    /// It is not reproduced; why. If it agrees after all, the row matches, and a test reports that
    /// the list is outdated.
    KnownMismatch(&'static str),
    /// It was measured on the running kernel today, on other hosts than the paper's. It is shown beside the paper's
    /// value and held to nothing.
    MeasuredHere,
    /// The paper has no such value.
    NotPublished,
}

/// The result of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Within tolerance, by rules alone.
    Match,
    /// Within tolerance, with fitted values.
    Fitted,
    /// Outside the tolerance for a known, named reason.
    KnownMismatch,
    /// Outside the tolerance.
    Miss,
    /// Measured on the running kernel, and held to nothing.
    MeasuredHere,
    /// Without a value to compare with.
    NotPublished,
}

/// The arrangement of an outcome's rows in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// A line per row: cell, published, reproduced.
    #[default]
    List,
    /// A grid, as in the paper: the keys of the cell that go down, and those that go across
    /// (outermost first).
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
    /// The series, in the legend's order.
    pub series: Vec<PlotSeries>,
}

/// A series of a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotSeries {
    /// The name in the legend.
    pub name: String,
    /// How it is drawn.
    pub mark: PlotMark,
    /// Points (x, y) in the axes' units.
    pub points: Vec<(f64, f64)>,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotMark {
    /// Dots.
    Dots,
    /// Crosses, for what stands out.
    Crosses,
    /// Filled squares side by side, for a plane of cells.
    Squares,
    /// A line through the points.
    Line,
    /// A dashed line through the points.
    Dashed,
    /// A line that keeps its height until the next point: what is sent or acknowledged at once.
    Steps,
    /// Strokes in a row with the series' name; y is the row's number from the top. A plot with rows
    /// has no other marks.
    Row,
}

/// An exchange of segments, to be shown in tcpdump's notation or kept as a capture.
#[derive(Clone, Debug)]
pub struct Trace {
    /// What it shows: `Figure 2: short initial segment`.
    pub title: String,
    /// The names of the hosts, client first.
    pub hosts: [&'static str; 2],
    /// Frames with their senders, in order of leaving; the time is in the frame.
    pub sent: Vec<(Side, MediumFrame)>,
}

impl Row {
    /// Returns the row's result.
    #[must_use]
    pub fn status(&self) -> Status {
        if self.class == Class::MeasuredHere {
            return Status::MeasuredHere;
        }
        let Some(standard) = &self.standard else {
            return Status::NotPublished;
        };
        let agrees = self.tolerance.allows(&standard.value, &self.reproduced);
        match self.class {
            Class::MeasuredHere => Status::MeasuredHere,
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
    pub fn held_to(&self) -> Option<&PaperValue> {
        self.standard.as_ref().map(|standard| &standard.value)
    }

    /// Returns the source of the value that the row is held to.
    #[must_use]
    pub fn source(&self) -> Option<Source> {
        self.standard.as_ref().map(|standard| standard.source)
    }

    /// Returns the largest number that the row's tolerance allows; infinite where any is allowed.
    #[must_use]
    pub fn most(&self) -> f64 {
        let wanted = self
            .held_to()
            .and_then(PaperValue::number)
            .unwrap_or_default();
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
    /// All five papers, in the order in which they are shown.
    pub const ALL: [Self; 5] = [
        Self::Mogul,
        Self::Moldeklev,
        Self::Heidemann,
        Self::Doupnik,
        Self::Davids,
    ];

    /// Returns authors, title, place and year.
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
            standard: published.map(|value| Standard::printed(PaperValue::Number(value, 2))),
            reproduced: PaperValue::Number(ours, 2),
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
    fn what_is_measured_here_agrees_with_nothing_and_misses_nothing() {
        for ours in [0.33, 1.0] {
            let status = row(Some(0.33), ours, Tolerance::Exact, Class::MeasuredHere);
            assert_eq!(status, Status::MeasuredHere);
        }
    }

    #[test]
    fn words_are_equal_or_not() {
        let text = |text: &str| PaperValue::Text(text.into());
        assert!(Tolerance::Exact.allows(&text("stalls"), &text("stalls")));
        assert!(!Tolerance::Within(9.0).allows(&text("stalls"), &text("runs")));
    }

    fn held_to(standard: Option<Standard>) -> Row {
        Row {
            cell: vec![("measure", PaperValue::Text("a distance".into()))],
            standard,
            reproduced: PaperValue::Number(1.8, 1),
            tolerance: Tolerance::Within(3.0),
            class: Class::Fitted,
        }
    }

    #[test]
    fn a_row_says_where_its_number_is_from() {
        let printed = held_to(Some(Standard::printed(PaperValue::Number(43.0, 1))));
        assert_eq!(printed.source(), Some(Source::Printed));
        assert_eq!(printed.most(), 46.0);
        let bound = held_to(Some(Standard::bound(1)));
        assert_eq!((bound.source(), bound.most()), (Some(Source::Bound), 3.0));
        assert_eq!(held_to(None).source(), None);
    }
}
