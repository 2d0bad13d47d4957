//! A chart as a self-contained SVG document, drawn by plotters.

use std::borrow::Cow;

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Chart, Mark, Scale, Series};
use crate::markup::escaped;
use crate::table::Tone;
use crate::units::{clock, grouped};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Plane<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Whether a drawing names its series.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    Absent,
    Beside,
}

impl Chart {
    /// Draws the chart as a self-contained SVG document.
    ///
    /// Without points, both axes span 0 to 1.
    pub fn to_svg(&self) -> String {
        self.drawn(Names::Absent)
    }

    /// Draws the chart, and names its series beside it, each in its colour.
    pub fn to_svg_with_names(&self) -> String {
        self.drawn(Names::Beside)
    }

    fn drawn(&self, names: Names) -> String {
        let mut svg = String::new();
        let area = SVGBackend::with_string(&mut svg, (WIDTH, HEIGHT)).into_drawing_area();
        self.placed()
            .draw(&area, names)
            .expect("drawing into a string cannot fail");
        drop(area);
        // A page or reader that does not show the marks gets their description.
        svg.replacen(
            '>',
            &format!(
                " role=\"img\" aria-label=\"{}\">",
                escaped(&format!("{}. {}", self.title, self.subtitle))
            ),
            1,
        )
    }

    /// Returns the chart with its points where they are drawn. Only those of scales by factors are elsewhere than their numbers; of
    /// lines, the level ones are left there.
    fn placed(&self) -> Cow<'_, Self> {
        let place: fn(f64) -> f64 = match self.y.scale {
            Scale::Decades => f64::log10,
            Scale::Doublings => f64::log2,
            Scale::Number | Scale::Clock(_) | Scale::Rows(_) => return Cow::Borrowed(self),
        };
        let mut placed = self.clone();
        for series in &mut placed.series {
            series.points.retain(|it| it.y > 0.0);
            for point in &mut series.points {
                (point.y, point.end) = (place(point.y), place(point.end));
            }
        }
        placed
            .lines
            .retain(|it| it.slope == 0.0 && it.at_zero > 0.0);
        for line in &mut placed.lines {
            line.at_zero = place(line.at_zero);
        }
        Cow::Owned(placed)
    }

    fn draw(&self, area: &Area<'_>, names: Names) -> Drawn {
        let extent = Extent::of(self);
        area.fill(&WHITE)?;
        let corner = Pos::new(HPos::Left, VPos::Top);
        area.draw_text(&self.title, &text(17, &INK).pos(corner), (MARGIN, 14))?;
        area.draw_text(&self.subtitle, &text(13, &SOFT).pos(corner), (MARGIN, 38))?;

        let (_, below) = area.split_vertically(64);
        let rows = match &self.y.scale {
            Scale::Rows(names) => names.as_slice(),
            Scale::Number | Scale::Decades | Scale::Doublings | Scale::Clock(_) => &[],
        };
        let mut plane = ChartBuilder::on(&below)
            .margin_right(match names {
                Names::Beside => LEGEND as u32 + 10,
                Names::Absent => 92,
            })
            .margin_left(10)
            .margin_bottom(8)
            .x_label_area_size(46)
            .y_label_area_size(if rows.is_empty() { 58 } else { 170 })
            .build_cartesian_2d(extent.x.0..extent.x.1, extent.y.0..extent.y.1)?;
        self.draw_axes(&mut plane, &extent, rows)?;
        for band in &self.bands {
            let ends = [band.from, band.to].map(|x| x.clamp(extent.x.0, extent.x.1));
            let corners = [(ends[0], extent.y.0), (ends[1], extent.y.1)];
            let colour = colour(band.tone, 1).mix(0.1);
            plane.draw_series([Rectangle::new(corners, colour.filled())])?;
        }
        self.draw_lines(area, &mut plane, &extent)?;
        // Lines lie beneath marks, which would be hidden behind them.
        let mut order: Vec<_> = self.series.iter().enumerate().collect();
        order.sort_by_key(|(_, it)| (!it.mark.is_line(), it.tone != Tone::Plain));
        for (at, series) in order {
            draw_series(
                &mut plane,
                series,
                colour(series.tone, series.like.unwrap_or(at)),
            )?;
        }
        if names == Names::Beside {
            self.draw_legend(area)?;
        }
        area.present()?;
        Ok(())
    }

    /// Names the series in the margin on the right, each in its colour.
    fn draw_legend(&self, area: &Area<'_>) -> Drawn {
        let named = self.series.iter().enumerate();
        for (row, (at, series)) in named.filter(|(_, it)| it.like.is_none()).enumerate() {
            let style = text(12, &colour(series.tone, at)).pos(Pos::new(HPos::Left, VPos::Center));
            let place = (WIDTH as i32 - LEGEND, 76 + 18 * row as i32);
            area.draw_text(&series.name, &style, place)?;
        }
        Ok(())
    }

    fn draw_axes(&self, plane: &mut Plane<'_, '_>, extent: &Extent, rows: &[String]) -> Drawn {
        let (x_scale, low) = (&self.x.scale, extent.y.1 < 5.0);
        let factor = factor(&self.y.scale);
        let y_labels = match rows.len() {
            0 if factor.is_some() => (extent.y.1 - extent.y.0) as usize + 1,
            0 => 6,
            rows => rows * 2,
        };
        plane
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(SOFT)
            .x_labels(6)
            .y_labels(y_labels)
            .x_desc(self.x.title())
            .y_desc(self.y.title())
            .axis_desc_style(text(13, &INK))
            .label_style(text(12, &SOFT))
            .x_label_formatter(&|x| match x_scale {
                Scale::Clock(at_zero) => clock(at_zero + x),
                _ if *x < 0.0 => format!("-{}", grouped(-x.round() as u64)),
                _ => grouped(x.round() as u64),
            })
            .y_label_formatter(&|y| match (rows, factor) {
                // Row 0 is at the top, where y is 0; y falls below it.
                ([_, ..], _) if y.fract() == 0.0 => {
                    rows.get(-y as usize).cloned().unwrap_or_default()
                }
                ([_, ..], _) => String::new(),
                ([], Some(factor)) => format!("{}", factor.powf(*y) as f32),
                ([], None) if low => format!("{y:.1}"),
                ([], None) => format!("{y:.0}"),
            })
            .draw()?;
        Ok(())
    }

    fn draw_lines(&self, area: &Area<'_>, plane: &mut Plane<'_, '_>, extent: &Extent) -> Drawn {
        let (left, right) = extent.x;
        let top = extent.y.1;
        for line in &self.lines {
            // A line that leaves through the top ends there.
            let end = match line.slope > 0.0 {
                true => right.min((top - line.at_zero) / line.slope),
                false => right,
            };
            let ends = [(left, line.at(left)), (end, line.at(end))];
            let style = ShapeStyle::from(&INK).stroke_width(1);
            if line.dashed {
                plane.draw_series(DashedLineSeries::new(ends, 6, 4, style))?;
            } else {
                plane.draw_series(LineSeries::new(ends, style))?;
            }
            let (x, y) = plane.backend_coord(&ends[1]);
            let beside = text(12, &INK).pos(Pos::new(HPos::Left, VPos::Center));
            area.draw_text(&line.name, &beside, (x + 6, y))?;
        }
        Ok(())
    }
}

/// Draws a series' points with its mark.
fn draw_series(plane: &mut Plane<'_, '_>, series: &Series, colour: RGBColor) -> Drawn {
    let places = || series.points.iter().map(|it| (it.x, it.y));
    // In the plane, rows go downwards from 0.
    let row = |y: f64| -y;
    match series.mark {
        Mark::Dots => {
            plane.draw_series(places().map(|at| Circle::new(at, 2, colour.filled())))?;
        }
        Mark::Rings => {
            let ring = colour.stroke_width(2);
            plane.draw_series(places().map(|at| Circle::new(at, 8, ring)))?;
        }
        Mark::Crosses => {
            let cross = colour.stroke_width(1);
            plane.draw_series(places().map(|at| Cross::new(at, 3, cross)))?;
        }
        Mark::Triangles => {
            plane.draw_series(places().map(|at| TriangleMarker::new(at, 4, colour.filled())))?;
        }
        Mark::Squares => {
            let square =
                |at| EmptyElement::at(at) + Rectangle::new([(-3, -3), (3, 3)], colour.filled());
            plane.draw_series(places().map(square))?;
        }
        Mark::Line => {
            plane.draw_series(LineSeries::new(places(), colour.stroke_width(2)))?;
        }
        Mark::Dashed => {
            plane.draw_series(DashedLineSeries::new(
                places(),
                6,
                4,
                colour.stroke_width(2),
            ))?;
        }
        Mark::Steps => {
            plane.draw_series(LineSeries::new(steps(series), colour.stroke_width(2)))?;
        }
        Mark::Strokes => {
            let stroke = |(x, y): (f64, f64)| {
                let ends = vec![(x, row(y) - ROW_HALF), (x, row(y) + ROW_HALF)];
                PathElement::new(ends, colour)
            };
            plane.draw_series(places().map(stroke))?;
        }
        Mark::Bars => {
            // One that matters is seen beside a line at the same place.
            let wide = if series.tone == Tone::Plain { 3 } else { 5 };
            let bar = |it: &super::Point| {
                PathElement::new(
                    vec![(it.x, it.y), (it.x, it.end)],
                    colour.stroke_width(wide),
                )
            };
            plane.draw_series(series.points.iter().map(bar))?;
        }
        Mark::Spans | Mark::Outlines => {
            let style = match series.mark {
                Mark::Spans => colour.filled(),
                _ => colour.stroke_width(1),
            };
            let span = |it: &super::Point| {
                let corners = [(it.x, row(it.y) - ROW_HALF), (it.end, row(it.y) + ROW_HALF)];
                Rectangle::new(corners, style)
            };
            plane.draw_series(series.points.iter().map(span))?;
        }
        Mark::Threads => {
            let thread = |it: &super::Point| {
                let ends = vec![(it.x, row(it.y)), (it.end, row(it.y))];
                PathElement::new(ends, colour.stroke_width(2))
            };
            plane.draw_series(series.points.iter().map(thread))?;
        }
    }
    Ok(())
}

/// Returns the corners of a line that keeps its height until the next point.
fn steps(series: &Series) -> Vec<(f64, f64)> {
    let mut corners: Vec<(f64, f64)> = Vec::new();
    for point in &series.points {
        if let Some(&(_, before)) = corners.last() {
            corners.push((point.x, before));
        }
        corners.push((point.x, point.y));
    }
    corners
}

/// The ends of both axes.
struct Extent {
    x: (f64, f64),
    y: (f64, f64),
}

impl Extent {
    /// Returns the range from zero, or from the lowest value if that is negative, with a little
    /// room at the far ends.
    fn of(chart: &Chart) -> Self {
        let points = || {
            let of_series = |series: &Series| {
                let (tall, wide) = (series.mark.is_tall(), series.mark.is_wide());
                let ends = move |it: &super::Point| {
                    let end = (
                        if wide { it.end } else { it.x },
                        if tall { it.end } else { it.y },
                    );
                    [(it.x, it.y), end]
                };
                series.points.iter().flat_map(ends).collect::<Vec<_>>()
            };
            chart.series.iter().flat_map(of_series)
        };
        let low = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::min);
        let high = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
        let room = |(low, high): (f64, f64)| {
            if high > low {
                (low, high)
            } else {
                (low, low + 1.0)
            }
        };
        let x = room((
            low(&mut points().map(|p| p.0)),
            high(&mut points().map(|p| p.0)),
        ));
        let lines = chart.lines.iter().map(|it| it.at(x.1));
        let y = match &chart.y.scale {
            Scale::Rows(names) => (-(names.len() as f64) + 0.5, 0.5),
            Scale::Decades | Scale::Doublings => {
                let all = || points().map(|p| p.1);
                let (low, high) = (
                    all().fold(f64::MAX, f64::min),
                    all().fold(f64::MIN, f64::max),
                );
                match low <= high {
                    true => room((low.floor(), high.ceil())),
                    false => (0.0, 1.0),
                }
            }
            Scale::Number | Scale::Clock(_) => {
                let top = lines.fold(high(&mut points().map(|p| p.1)), f64::max);
                let (low, high) = room((low(&mut points().map(|p| p.1)), top));
                (low, low + (high - low) * 1.05)
            }
        };
        Self {
            x: (x.0, x.0 + (x.1 - x.0) * 1.01),
            y,
        }
    }
}

/// Returns by which factor a value is from the next place on a scale of factors.
fn factor(scale: &Scale) -> Option<f64> {
    match scale {
        Scale::Decades => Some(10.0),
        Scale::Doublings => Some(2.0),
        Scale::Number | Scale::Clock(_) | Scale::Rows(_) => None,
    }
}

/// Returns the colour of a tone, or that of the series' place in the order.
fn colour(tone: Tone, at: usize) -> RGBColor {
    match tone {
        Tone::Plain => SERIES[at % SERIES.len()],
        Tone::Good => RGBColor(26, 127, 75),
        Tone::Fair => SERIES[0],
        Tone::Odd => RGBColor(138, 97, 0),
        Tone::Bad => RGBColor(179, 38, 30),
    }
}

fn text(size: i32, colour: &RGBColor) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(colour)
}

const WIDTH: u32 = 860;
const HEIGHT: u32 = 520;
const MARGIN: i32 = 68;
/// The width of the names of series.
const LEGEND: i32 = 128;
const INK: RGBColor = RGBColor(28, 32, 40);
const SOFT: RGBColor = RGBColor(96, 104, 118);
const GRID: RGBColor = RGBColor(228, 231, 236);
/// Blue and orange of equal weight come first: every common kind of colour vision can distinguish
/// them. The marks differ, too; or a legend names lines from the top.
const SERIES: [RGBColor; 8] = [
    RGBColor(33, 102, 172),
    RGBColor(196, 78, 10),
    INK,
    RGBColor(107, 63, 160),
    RGBColor(13, 117, 102),
    RGBColor(190, 30, 110),
    RGBColor(122, 122, 0),
    RGBColor(110, 120, 135),
];
/// Half of a mark's height in its row; a row has the height 1.
const ROW_HALF: f64 = 0.3;

#[cfg(test)]
mod tests;
