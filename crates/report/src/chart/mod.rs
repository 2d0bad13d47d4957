//! The one model of charts: data, axes and marks.
//!
//! A [`Chart`] knows nothing of how it is drawn. [`Chart::to_svg`] draws it into a file; a page draws it on
//! a canvas, where the reader can hover, walk from point to point, zoom and compare.

mod ladder;
mod page;
mod svg;

pub use ladder::{By, Ladder, Step};

use serde::Serialize;

use crate::table::Tone;

/// A chart as data: series over the same two axes.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// One line above the chart.
    pub title: String,
    /// A second, smaller line: how to read it. May be empty.
    pub subtitle: String,
    /// What the horizontal axis counts.
    pub x: Axis,
    /// What the vertical axis counts.
    pub y: Axis,
    /// What is drawn, in the legend's order.
    pub series: Vec<Series>,
    /// Straight lines from the left edge to the right.
    pub lines: Vec<Line>,
    /// Stretches of the horizontal axis that stand out.
    pub bands: Vec<Band>,
    /// What a point above the last of the lines is, such as `delayed`; empty if they divide nothing.
    pub above: String,
    /// Where a page shows one or two of the series at a time: how they are chosen.
    pub choice: Option<Choice>,
}

/// What an axis counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Axis {
    /// `elapsed time`.
    pub name: String,
    /// `ms`; may be empty.
    pub unit: String,
    /// How a place on the axis is named.
    pub scale: Scale,
}

/// How a place on an axis is named.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// By its number.
    #[default]
    Number,
    /// By the time of day, hours to milliseconds: the axis counts milliseconds, and 0 is so many of them after
    /// midnight.
    Clock(f64),
    /// By the name of the row: 0 is the first, which stands at the top. For the vertical axis.
    Rows(Vec<String>),
}

/// Points that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// What the legend says.
    pub name: String,
    /// How its points are drawn.
    pub mark: Mark,
    /// Its colour; where it is plain, the place in the order says which.
    pub tone: Tone,
    /// The points, in their order.
    pub points: Vec<Point>,
    /// What an entry of a table names to open this series; empty without a choice.
    pub id: String,
    /// One answer for each facet of the choice.
    pub keys: Vec<String>,
    /// What points open on a page, by their places among the points.
    pub ladders: Vec<(usize, Ladder)>,
}

/// A point, or a stretch between two places.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Horizontal, in the axis's unit.
    pub x: f64,
    /// Vertical, in the axis's unit, or the row's number.
    pub y: f64,
    /// Where a bar ends on the vertical axis, or a span on the horizontal one. Other marks do not look at it.
    pub end: f64,
    /// What a page says of the point in place of its coordinates; may be empty.
    pub said: String,
}

/// How points are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// A dot each.
    #[default]
    Dots,
    /// A cross each.
    Crosses,
    /// A ring each, wide enough to stand around another mark.
    Rings,
    /// A triangle each, its tip upwards.
    Triangles,
    /// A square each that fills its cell of a regular grid.
    Squares,
    /// A line through them.
    Line,
    /// A broken line through them.
    Dashed,
    /// A line that keeps its height until the next point, for what changes at once.
    Steps,
    /// An upright stroke each, in its row.
    Strokes,
    /// An upright bar each, from the point's place to its end.
    Bars,
    /// A thick line along the row each, from the point's place to its end.
    Spans,
    /// The outline of such a line.
    Outlines,
    /// A thin line along the row each, from the point's place to its end.
    Threads,
}

/// A straight line, `y = at_zero + slope * x`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// What stands at its right end.
    pub name: String,
    /// Where it crosses the vertical axis.
    pub at_zero: f64,
    /// Rise per unit of x.
    pub slope: f64,
    /// Broken instead of whole.
    pub dashed: bool,
}

/// A stretch of the horizontal axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Band {
    /// Where it begins.
    pub from: f64,
    /// Where it ends; beyond the data if it has no end there.
    pub to: f64,
    /// What it is; a page says it of the points in it, too.
    pub name: String,
    /// Of what kind it is.
    #[serde(serialize_with = "page::tone")]
    pub tone: Tone,
}

/// How the series of a chart are chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// The questions whose answers name a series, such as `Variant` and `Trial`.
    pub facets: Vec<String>,
    /// Of the facets, the number of the one along which two series are compared.
    pub compare: usize,
}

impl Axis {
    /// Returns an axis that counts in numbers.
    pub fn new(name: impl Into<String>, unit: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            unit: unit.into(),
            scale: Scale::Number,
        }
    }

    /// Returns a vertical axis of rows; the first stands at the top.
    pub fn rows(names: Vec<String>) -> Self {
        Self {
            scale: Scale::Rows(names),
            ..Self::default()
        }
    }

    /// Returns the axis's name with its unit, as it stands beside the axis.
    pub fn title(&self) -> String {
        match self.unit.as_str() {
            "" => self.name.clone(),
            unit => format!("{} ({unit})", self.name),
        }
    }
}

impl Series {
    /// Returns a series of these points; its colour follows from its place.
    pub fn new(name: impl Into<String>, mark: Mark, points: Vec<Point>) -> Self {
        Self {
            name: name.into(),
            mark,
            points,
            ..Self::default()
        }
    }

    /// Returns the same series in the colour of this tone.
    #[must_use]
    pub fn toned(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}

impl Point {
    /// Returns a point at this place.
    pub fn at(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            ..Self::default()
        }
    }

    /// Returns the same with an end.
    #[must_use]
    pub fn to(self, end: f64) -> Self {
        Self { end, ..self }
    }

    /// Returns the same with what a page says of it.
    #[must_use]
    pub fn saying(self, said: impl Into<String>) -> Self {
        Self {
            said: said.into(),
            ..self
        }
    }
}

impl Line {
    /// Returns the line's height there.
    pub fn at(&self, x: f64) -> f64 {
        self.at_zero + self.slope * x
    }
}

impl Mark {
    /// Returns whether each point has an end upwards.
    const fn is_tall(self) -> bool {
        matches!(self, Self::Bars)
    }

    /// Returns whether each point has an end to its right.
    const fn is_wide(self) -> bool {
        matches!(self, Self::Spans | Self::Outlines | Self::Threads)
    }
}
