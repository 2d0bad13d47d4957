//! The data of an interactive plot; `plot.js` draws it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::figure::Line;
use crate::markup::escaped;

/// A scatter whose series are chosen by facets: one or two of them are shown at a time.
#[derive(Clone, Debug, Default)]
pub struct Plot {
    /// What the plot shows, for those who do not see it.
    pub title: String,
    /// What the horizontal axis counts, and in which unit.
    pub x: Axis,
    /// What the vertical axis counts, and in which unit.
    pub y: Axis,
    /// The questions whose answers name a series, such as `Variant` and `Trial`.
    pub facets: Vec<String>,
    /// Of the facets, the number of the one along which two series are compared.
    pub compare: usize,
    /// The series; the first is shown first.
    pub series: Vec<Series>,
    /// Straight lines over all series; above the last of them a point counts as marked.
    pub lines: Vec<Line>,
    /// What a marked point is: `delayed`.
    pub marked: String,
}

/// An axis of a plot.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Axis {
    /// `elapsed time`.
    pub name: String,
    /// `ms`.
    pub unit: String,
}

/// One series of a plot.
#[derive(Clone, Debug)]
pub struct Series {
    /// What an entry of a table names to open this series.
    pub id: String,
    /// One answer per facet.
    pub keys: Vec<String>,
    /// Horizontal, in the axis's unit.
    pub x: Vec<u64>,
    /// Vertical, in thousandths of the axis's unit: whole numbers keep the page small and exact.
    pub y_milli: Vec<u64>,
}

/// What the script reads. Series over the same lengths share one list.
#[derive(Serialize)]
struct Data<'a> {
    x: &'a Axis,
    y: &'a Axis,
    facets: &'a [String],
    compare: usize,
    marked: &'a str,
    lines: Vec<DataLine<'a>>,
    xs: Vec<&'a [u64]>,
    series: Vec<DataSeries<'a>>,
}

#[derive(Serialize)]
struct DataLine<'a> {
    name: &'a str,
    at_zero: f64,
    slope: f64,
    dashed: bool,
}

#[derive(Serialize)]
struct DataSeries<'a> {
    id: &'a str,
    keys: &'a [String],
    x: usize,
    y: &'a [u64],
}

impl Plot {
    pub(super) fn to_html(&self) -> String {
        let data = serde_json::to_string(&self.data()).expect("plots serialise as JSON");
        // The only way out of a script element is its end tag.
        let data = data.replace("</", "<\\/");
        format!(
            "<section class=\"plot\" aria-label=\"{}\">\n<noscript><p class=\"note\">The plot needs \
             scripts; the tables do not.</p></noscript>\n\
             <script type=\"application/json\">{data}</script>\n</section>\n",
            escaped(&self.title)
        )
    }

    fn data(&self) -> Data<'_> {
        let mut xs: Vec<&[u64]> = Vec::new();
        let mut known: BTreeMap<&[u64], usize> = BTreeMap::new();
        let series = self
            .series
            .iter()
            .map(|series| DataSeries {
                id: &series.id,
                keys: &series.keys,
                x: *known.entry(&series.x).or_insert_with(|| {
                    xs.push(&series.x);
                    xs.len() - 1
                }),
                y: &series.y_milli,
            })
            .collect();
        Data {
            x: &self.x,
            y: &self.y,
            facets: &self.facets,
            compare: self.compare,
            marked: &self.marked,
            lines: self
                .lines
                .iter()
                .map(|line| DataLine {
                    name: &line.name,
                    at_zero: line.at_zero,
                    slope: line.slope,
                    dashed: line.dashed,
                })
                .collect(),
            xs,
            series,
        }
    }
}
