//! A scatter of points with straight lines over it, and its rendering as SVG.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A figure as data.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    /// One line above the plot.
    pub title: String,
    /// A second, smaller line.
    pub subtitle: String,
    /// What the horizontal axis counts, with its unit.
    pub x_label: String,
    /// What the vertical axis counts, with its unit.
    pub y_label: String,
    /// The samples.
    pub points: Vec<Point>,
    /// Straight lines from the left edge to the right, in the order of the legend.
    pub lines: Vec<Line>,
}

/// One sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Horizontal.
    pub x: f64,
    /// Vertical.
    pub y: f64,
    /// Drawn as a cross instead of a dot, and in the second colour.
    pub marked: bool,
}

/// A straight line, `y = at_zero + slope * x`.
#[derive(Clone, Debug, PartialEq)]
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

impl Figure {
    /// Draws the figure as a self-contained SVG document.
    ///
    /// Without points there is nothing to scale by and the plot spans 0 to 1.
    pub fn to_svg(&self) -> String {
        let mut svg = String::new();
        let area = SVGBackend::with_string(&mut svg, (WIDTH, HEIGHT)).into_drawing_area();
        self.draw(&area).expect("drawing into a string cannot fail");
        drop(area);
        // A page or reader that does not see the marks is told what they are.
        svg.replacen(
            '>',
            &format!(
                " role=\"img\" aria-label=\"{}\">",
                escaped(&format!("{}. {}", self.title, self.subtitle))
            ),
            1,
        )
    }

    fn draw(&self, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Drawn {
        let (x_max, y_max) = self.extent();
        area.fill(&WHITE)?;
        let centre = Pos::new(HPos::Left, VPos::Top);
        area.draw_text(&self.title, &text(17, &INK).pos(centre), (MARGIN, 14))?;
        area.draw_text(&self.subtitle, &text(13, &SOFT).pos(centre), (MARGIN, 38))?;

        let (_, below) = area.split_vertically(64);
        let mut chart = ChartBuilder::on(&below)
            .margin_right(92)
            .margin_left(10)
            .margin_bottom(8)
            .x_label_area_size(46)
            .y_label_area_size(58)
            .build_cartesian_2d(0.0..x_max, 0.0..y_max)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(SOFT)
            .x_labels(6)
            .y_labels(6)
            .x_desc(&self.x_label)
            .y_desc(&self.y_label)
            .axis_desc_style(text(13, &INK))
            .label_style(text(12, &SOFT))
            .x_label_formatter(&|x| crate::units::grouped(x.round() as u64))
            .y_label_formatter(&|y| {
                if y_max < 5.0 {
                    format!("{y:.1}")
                } else {
                    format!("{y:.0}")
                }
            })
            .draw()?;

        for line in &self.lines {
            // Where the line leaves through the top, it ends there.
            let right = if line.slope > 0.0 {
                x_max.min((y_max - line.at_zero) / line.slope)
            } else {
                x_max
            };
            let ends = [
                (0.0, line.at_zero),
                (right, line.at_zero + line.slope * right),
            ];
            let style = ShapeStyle::from(&INK).stroke_width(1);
            if line.dashed {
                chart.draw_series(DashedLineSeries::new(ends, 6, 4, style))?;
            } else {
                chart.draw_series(LineSeries::new(ends, style))?;
            }
            let (x, y) = chart.backend_coord(&ends[1]);
            let beside = text(12, &INK).pos(Pos::new(HPos::Left, VPos::Center));
            area.draw_text(&line.name, &beside, (x + 6, y))?;
        }
        let (marked, plain): (Vec<&Point>, Vec<&Point>) =
            self.points.iter().partition(|p| p.marked);
        chart.draw_series(
            plain
                .iter()
                .map(|p| Circle::new((p.x, p.y), 2, NEAR.filled())),
        )?;
        chart.draw_series(
            marked
                .iter()
                .map(|p| Cross::new((p.x, p.y), 3, FAR.stroke_width(1))),
        )?;
        area.present()?;
        Ok(())
    }

    /// Returns the far ends of both axes, with a little room above the highest point.
    fn extent(&self) -> (f64, f64) {
        let far = |of: fn(&Point) -> f64| self.points.iter().map(of).fold(0.0, f64::max);
        let room = |far: f64| if far > 0.0 { far } else { 1.0 };
        let x_max = room(far(|p| p.x));
        let lines = self.lines.iter().map(|l| l.at_zero + l.slope * x_max);
        let y_max = lines.fold(far(|p| p.y), f64::max);
        (x_max * 1.01, room(y_max) * 1.05)
    }
}

type Drawn = Result<(), Box<dyn std::error::Error>>;

fn text(size: i32, colour: &RGBColor) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(colour)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}

const WIDTH: u32 = 860;
const HEIGHT: u32 = 520;
const MARGIN: i32 = 68;
const INK: RGBColor = RGBColor(28, 32, 40);
const SOFT: RGBColor = RGBColor(96, 104, 118);
const GRID: RGBColor = RGBColor(228, 231, 236);
/// Blue and orange of equal weight, told apart by every common colour vision; the shape says it too.
const NEAR: RGBColor = RGBColor(33, 102, 172);
const FAR: RGBColor = RGBColor(196, 78, 10);

#[cfg(test)]
mod tests {
    use super::*;

    fn figure() -> Figure {
        Figure {
            title: "NAGLE <S>".into(),
            subtitle: "two & two".into(),
            x_label: "Message length (bytes)".into(),
            y_label: "Elapsed (ms)".into(),
            points: vec![
                Point {
                    x: 100.0,
                    y: 2.0,
                    marked: false,
                },
                Point {
                    x: 200.0,
                    y: 200.0,
                    marked: true,
                },
            ],
            lines: vec![Line {
                name: "estimate".into(),
                at_zero: 10.0,
                slope: 0.0008,
                dashed: false,
            }],
        }
    }

    #[test]
    fn dots_and_crosses_tell_points_apart_without_colour() {
        let svg = figure().to_svg();
        assert_eq!(svg.matches("<circle").count(), 1);
        assert!(svg.contains("aria-label=\"NAGLE &lt;S>. two &amp; two\""));
        assert!(svg.contains("estimate"));
        assert!(svg.trim_end().ends_with("</svg>"));
        assert!(!svg.contains("http://www.w3.org/1999/xlink"));
    }

    #[test]
    fn a_figure_without_points_is_drawn_empty() {
        let svg = Figure::default().to_svg();
        assert!(svg.starts_with("<svg"));
        assert!(!svg.contains("<circle"));
    }

    #[test]
    fn the_same_figure_gives_the_same_bytes() {
        assert_eq!(figure().to_svg(), figure().to_svg());
    }
}
