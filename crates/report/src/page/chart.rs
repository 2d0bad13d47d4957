//! The data of a picture of points and lines; `chart.js` draws it.

use serde::Serialize;

use super::Axis;
use crate::markup::escaped;

/// A picture as data: several curves over the same axes, with a legend.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// One line above the picture.
    pub title: String,
    /// What the horizontal axis counts.
    pub x: Axis,
    /// What the vertical axis counts.
    pub y: Axis,
    /// What is drawn, in the legend's order.
    pub curves: Vec<Curve>,
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// What the legend says.
    pub name: String,
    /// How its points are drawn.
    pub mark: Mark,
    /// Points (x, y), in the axes' units.
    pub points: Vec<(f64, f64)>,
}

/// How points are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// A dot each.
    Dots,
    /// A cross each.
    Crosses,
    /// A square each that fills its cell of a regular grid.
    Squares,
    /// A line through them.
    Line,
    /// A broken line through them.
    Dashed,
    /// A line that keeps its height until the next point, for what changes at once.
    Steps,
    /// A stroke each, in a row of its own under the curve's name. Rows stand beneath each other in
    /// the curves' order, and a chart that has rows has nothing else.
    Row,
}

#[derive(Serialize)]
struct Data<'a> {
    x: &'a Axis,
    y: &'a Axis,
    curves: Vec<DataCurve<'a>>,
}

#[derive(Serialize)]
struct DataCurve<'a> {
    name: &'a str,
    mark: Mark,
    points: Vec<(f64, f64)>,
}

impl Chart {
    pub(super) fn to_html(&self) -> String {
        let data = serde_json::to_string(&self.data()).expect("charts serialise as JSON");
        // The only way out of a script element is its end tag.
        let data = data.replace("</", "<\\/");
        let title = escaped(&self.title);
        format!(
            "<figure class=\"plot chart\" aria-label=\"{title}\">\n<figcaption>{title}</figcaption>\n\
             <noscript><p class=\"note\">The picture needs scripts; the tables do not.</p></noscript>\n\
             <script type=\"application/json\">{data}</script>\n</figure>\n"
        )
    }

    fn data(&self) -> Data<'_> {
        let curve = |curve: &'_ Curve| -> Vec<(f64, f64)> {
            curve
                .points
                .iter()
                .map(|(x, y)| (short(*x), short(*y)))
                .collect()
        };
        Data {
            x: &self.x,
            y: &self.y,
            curves: self
                .curves
                .iter()
                .map(|it| DataCurve {
                    name: &it.name,
                    mark: it.mark,
                    points: curve(it),
                })
                .collect(),
        }
    }
}

/// Six digits after the point are more than anybody sees, and keep the page small.
fn short(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}
