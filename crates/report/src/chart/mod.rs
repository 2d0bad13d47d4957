//! The only model of charts: data, axes and marks.
//!
//! A [`Chart`] does not depend on how it is drawn. [`Chart::to_svg`] draws it into a file. A page
//! draws it on a canvas, where the reader can hover, walk from point to point, zoom and compare.

mod ladder;
mod page;
#[cfg(feature = "svg")]
mod svg;

pub use ladder::{By, Ladder, Step};

use serde::Serialize;

use crate::table::Tone;

/// A chart as data: series over the same two axes.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// One line above the chart.
    pub title: String,
    /// A second, smaller line that says how to read it. May be empty.
    pub subtitle: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The series, in the legend's order.
    pub series: Vec<Series>,
    /// Straight lines from the left edge to the right.
    pub lines: Vec<Line>,
    /// Stretches of the horizontal axis that are highlighted.
    pub bands: Vec<Band>,
    /// What a point above the last of the lines is, such as `delayed`; empty if the lines divide
    /// nothing.
    pub above: String,
    /// How to choose series, if a page shows only one or two of them at a time.
    pub choice: Option<Choice>,
}

/// An axis of a chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Axis {
    /// What it counts: `elapsed time`.
    pub name: String,
    /// The unit: `ms`; may be empty.
    pub unit: String,
    /// How places on the axis are named.
    pub scale: Scale,
}

/// How places on an axis are named.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// By its number.
    #[default]
    Number,
    /// By its number, and each ten times as much is as far from the last. What is not above 0 has no place. For the
    /// vertical axis of a drawing.
    Decades,
    /// The same, by doublings: for values within some times of 1.
    Doublings,
    /// By the time of day, from hours to milliseconds. The axis counts milliseconds, and its 0 is
    /// this many milliseconds after midnight.
    Clock(f64),
    /// By the name of the row: 0 is the first row, at the top. For the vertical axis.
    Rows(Vec<String>),
}

/// Points that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// How its points are drawn.
    pub mark: Mark,
    /// Its colour. If it is plain, the series' place in the order decides.
    pub tone: Tone,
    /// The place of another series whose colour it has, if its own place does not decide: then a drawing does not name it.
    pub like: Option<usize>,
    /// The points, in their order.
    pub points: Vec<Point>,
    /// The name by which an entry of a table opens this series; empty without a choice.
    pub id: String,
    /// One answer per facet of the choice.
    pub keys: Vec<String>,
    /// The ladders that points open on a page, by the points' indices.
    pub ladders: Vec<(usize, Ladder)>,
}

/// A point, or a stretch between two places.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Horizontal, in the axis's unit.
    pub x: f64,
    /// Vertical, in the axis's unit, or the row's number.
    pub y: f64,
    /// The end of a bar on the vertical axis, or of a span on the horizontal one. Other marks
    /// ignore it.
    pub end: f64,
    /// What a page shows for the point instead of its coordinates; may be empty.
    pub said: String,
}

/// How the points of a series are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// Dots.
    #[default]
    Dots,
    /// Crosses.
    Crosses,
    /// Rings, wide enough to surround another mark.
    Rings,
    /// Triangles with their tips upwards.
    Triangles,
    /// Squares that fill their cells of a regular grid.
    Squares,
    /// A line through the points.
    Line,
    /// A dashed line through the points.
    Dashed,
    /// A line that keeps its height until the next point, for values that change at once.
    Steps,
    /// Upright strokes in their rows.
    Strokes,
    /// Upright bars, from each point to its end.
    Bars,
    /// Thick lines along the row, from each point to its end.
    Spans,
    /// Outlines of such lines.
    Outlines,
    /// Thin lines along the row, from each point to its end.
    Threads,
}

/// A straight line, `y = at_zero + slope * x`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The name at its right end.
    pub name: String,
    /// Its value at x = 0.
    pub at_zero: f64,
    /// Rise per unit of x.
    pub slope: f64,
    /// Whether it is dashed.
    pub dashed: bool,
}

/// A stretch of the horizontal axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Band {
    /// Where it begins.
    pub from: f64,
    /// Its end; beyond the data if it is open-ended.
    pub to: f64,
    /// What it is; a page also shows it for the points in it.
    pub name: String,
    /// The kind of stretch.
    #[serde(serialize_with = "page::tone")]
    pub tone: Tone,
}

/// How to choose the series of a chart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// The questions whose answers name a series, such as `Variant` and `Trial`.
    pub facets: Vec<String>,
    /// The number of the facet along which two series are compared.
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

    /// Returns the axis's name with its unit, as shown beside the axis.
    pub fn title(&self) -> String {
        match self.unit.as_str() {
            "" => self.name.clone(),
            unit => format!("{} ({unit})", self.name),
        }
    }
}

impl Series {
    /// Returns a series of these points, whose colour follows from its place in the order.
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

    /// Returns the same with what a page shows for it.
    #[must_use]
    pub fn saying(self, said: impl Into<String>) -> Self {
        Self {
            said: said.into(),
            ..self
        }
    }
}

impl Line {
    /// Returns the line's value at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.at_zero + self.slope * x
    }
}

impl Mark {
    /// Returns whether each point has an end on the vertical axis.
    const fn is_tall(self) -> bool {
        matches!(self, Self::Bars)
    }

    /// Returns whether it connects its points.
    #[cfg(feature = "svg")]
    const fn is_line(self) -> bool {
        matches!(self, Self::Line | Self::Dashed | Self::Steps)
    }

    /// Returns whether each point has an end on the horizontal axis.
    const fn is_wide(self) -> bool {
        matches!(self, Self::Spans | Self::Outlines | Self::Threads)
    }
}
