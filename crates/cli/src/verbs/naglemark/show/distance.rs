//! Figures that the paper could not measure: the price in packets, and the distances from both
//! bounds.

use tinygram_report::units::size;
use tinygram_report::{Column, Entry, Row, Table};

use super::{Panel, Record, distinct};

impl Panel {
    /// Returns a table with one row per variant in the order of the scores. For each application
    /// buffer it has the segments, the short ones among them, and the distances from the two
    /// bounds, each as a mean over socket buffers and trial types. The last columns have the
    /// distances over everything.
    pub(in super::super) fn distances(&self) -> Table {
        let apps = distinct(self.cells.iter().map(|c| c.app_buffer));
        let mut columns = vec![Column::words("Variant").in_group("App buffer")];
        for &app in &apps {
            columns.extend(column_group(&size(app), &["segs", "short"]));
            if self.has_bounds() {
                columns.extend(column_group(&size(app), &BOUNDS));
            }
        }
        if self.has_bounds() {
            columns.extend(column_group("all", &BOUNDS));
        }
        let rows = self
            .ranking()
            .into_iter()
            .map(|variant| self.distance_row(variant, &apps));
        Table {
            title: match self.has_bounds() {
                true => format!(
                    "Segments per transfer, and distance from both bounds ({})",
                    self.medium()
                ),
                false => format!("Segments per transfer ({})", self.medium()),
            },
            columns,
            rows: rows.collect(),
            notes: self.distance_notes(),
        }
    }

    fn distance_row(&self, variant: &str, apps: &[u64]) -> Row {
        let mut row = vec![Entry::new(variant)];
        for &app in apps {
            let mean = |of| self.mean(of, |c| c.variant == variant && c.app_buffer == app);
            row.push(number(mean(|c| Some(c.segments_per_transfer)), 1));
            row.push(number(mean(|c| c.short_segments_per_transfer), 1));
            if self.has_bounds() {
                row.push(number(mean(|c| c.segments_over_fewest), 2));
                row.push(number(mean(|c| c.elapsed_over_earliest), 2));
            }
        }
        if self.has_bounds() {
            let mean = |of| self.mean(of, |c| c.variant == variant);
            row.push(number(mean(|c| c.segments_over_fewest), 2));
            row.push(number(mean(|c| c.elapsed_over_earliest), 2));
        }
        row
    }

    fn distance_notes(&self) -> Vec<String> {
        let mut note = "Means over socket buffers and trial types. segs, short: data segments and those below \
                        the MSS, per transfer."
            .to_owned();
        if self.has_bounds() {
            note += " xfew: segments over the fewest that carry the bytes. xearly: elapsed time over \
                     that of sending each byte as soon as window and link allow.";
        }
        let mut notes = vec![note];
        if let Some((variant, few, early)) = self.nearest() {
            notes.push(format!(
                "Nearest to both bounds: {variant} ({few:.2} x {early:.2}), by the product of the two."
            ));
        }
        notes
    }

    /// Returns the result in a sentence: the variant that delays most, and what the other relevant
    /// ones do and cost beside it: OFF, the one that delays least, and the nearest to both bounds.
    pub(in super::super) fn sentence(&self) -> Option<String> {
        let ranking = self.ranking();
        let (least, most) = (*ranking.first()?, *ranking.last()?);
        let worst = |variant| {
            let cell = self.worst(|it| it.variant == variant);
            cell.map_or(0.0, |it| it.score_percent)
        };
        let off = ranking.iter().copied().find(|it| *it == "OFF");
        let nearest = self.nearest().map(|(variant, ..)| variant);
        let others = distinct([off, Some(least), nearest].into_iter().flatten());
        let mut sentence = format!(
            "On {} {most} delays {} of a cell's transfers",
            self.medium(),
            share(worst(most))
        );
        for other in others.into_iter().filter(|it| *it != most) {
            sentence += &format!("; {other} {}", share(worst(other)));
            if let Some((times, what)) = self.price(other, most) {
                sentence += &format!(", at {times:.1} times the {what}");
            }
        }
        Some(sentence + ".")
    }

    /// Returns how many times as many segments a variant sends as another one; short segments if
    /// they are counted.
    fn price(&self, variant: &str, other: &str) -> Option<(f64, &'static str)> {
        let times = |of: fn(&Record) -> Option<f64>| {
            let [own, others] = [variant, other].map(|name| self.mean(of, |it| it.variant == name));
            Some(own? / others?).filter(|times| times.is_finite())
        };
        let short = times(|it| it.short_segments_per_transfer);
        let all = || times(|it| Some(it.segments_per_transfer));
        short
            .map(|times| (times, "short segments"))
            .or_else(|| Some((all()?, "segments")))
    }

    /// Returns the variant with the smallest product of both distances, and the two distances.
    fn nearest(&self) -> Option<(&str, f64, f64)> {
        let distances = self.ranking().into_iter().filter_map(|variant| {
            let few = self.mean(|c| c.segments_over_fewest, |c| c.variant == variant)?;
            let early = self.mean(|c| c.elapsed_over_earliest, |c| c.variant == variant)?;
            Some((variant, few, early))
        });
        distances.min_by(|a, b| (a.1 * a.2).total_cmp(&(b.1 * b.2)))
    }

    /// Returns whether these cells have bounds.
    fn has_bounds(&self) -> bool {
        self.cells.iter().all(|c| c.elapsed_over_earliest.is_some())
    }

    /// Returns the mean; `None` if there is nothing, or if something was not measured.
    fn mean(
        &self,
        of: fn(&Record) -> Option<f64>,
        chosen: impl Fn(&Record) -> bool,
    ) -> Option<f64> {
        let values: Option<Vec<f64>> = self.cells.iter().filter(|c| chosen(c)).map(of).collect();
        let values = values.filter(|values| !values.is_empty())?;
        Some(values.iter().sum::<f64>() / values.len() as f64)
    }

    /// Returns the medium, which distinguishes the panels of a page.
    pub(super) fn medium(&self) -> String {
        self.cells.first().map_or_else(String::new, Record::place)
    }
}

/// The column headings of the distances from the bounds.
const BOUNDS: [&str; 2] = ["xfew", "xearly"];

fn column_group<'a>(group: &'a str, heads: &'a [&str]) -> impl Iterator<Item = Column> + 'a {
    let one = move |head: &&str| Column::numbers(*head).in_group(group);
    heads.iter().map(one)
}

/// Returns a cell's worst score in words.
fn share(percent: f64) -> String {
    match percent {
        0.0 => "none".into(),
        percent => format!("up to {percent:.1}%"),
    }
}

fn number(value: Option<f64>, decimals: usize) -> Entry {
    Entry::new(value.map_or_else(|| "-".into(), |v| format!("{v:.decimals$}")))
}
