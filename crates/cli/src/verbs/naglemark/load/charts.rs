//! The charts of `naglemark load`: latency against load.

use tinygram_naglemark::load::{Least, LoadCell, LoadRow, Metric, envelope, is_simple};
use tinygram_report::{Axis, Chart, Mark, Point, Scale, Series};

use super::cells::{acks, planned};
use super::show::Shown;

impl Shown {
    /// Returns a chart for each ACK policy and latency, and with several ACK policies one for each policy and latency, with
    /// its file's name.
    pub(super) fn charts(&self) -> Vec<(String, Chart)> {
        let mut charts = Vec::new();
        for cell in self.cells() {
            let acks = acks(cell);
            for metric in Metric::ALL {
                let name = format!("load-{acks}-{}.svg", metric.name());
                if !charts.iter().any(|(known, _)| *known == name) {
                    charts.push((name, self.chart(&acks, metric)));
                }
            }
        }
        let cells = self.cells();
        let one = cells.first().map(|cell| acks(cell));
        let mut cells = cells.into_iter();
        if cells.clone().any(|cell| Some(acks(cell)) != one) {
            // Each policy has the first ACK policy once.
            for cell in cells.by_ref().filter(|cell| Some(acks(cell)) == one) {
                let label = cell.policy.label();
                charts.extend(Metric::ALL.map(|metric| {
                    let name = format!("load-of-{}-{}.svg", label.to_lowercase(), metric.name());
                    (name, self.by_acks(label, metric))
                }));
            }
        }
        charts
    }

    /// Returns a policy's latency against load, a line for each ACK policy.
    fn by_acks(&self, policy: &str, metric: Metric) -> Chart {
        let own = self
            .cells()
            .into_iter()
            .filter(|cell| cell.policy.label() == policy);
        let line = |cell: &LoadCell| {
            let acks = acks(cell);
            let points = self.points(&acks, policy, metric);
            Series::new(acks, Mark::Line, points)
        };
        Chart {
            title: format!("Latency against load: {}, {policy}", metric.name()),
            series: own.map(line).collect(),
            ..self.chart_of(metric, "")
        }
    }

    fn points(&self, of: &str, policy: &str, metric: Metric) -> Vec<Point> {
        let rows = self.outcome.rows.iter();
        let own = rows.filter(|row| acks(&row.cell) == of && row.cell.policy.label() == policy);
        let point = |row: &LoadRow| {
            let load = planned(&row.cell.demand)?;
            Some(Point::at(load, metric.of(&row.score)?.value))
        };
        own.filter_map(point).collect()
    }

    /// Returns a chart's axes, and what it says of the requests.
    fn chart_of(&self, metric: Metric, more: &str) -> Chart {
        Chart {
            subtitle: format!(
                "{} connections, {} under way on each; {} write(s) an answer{more}",
                self.connections, self.depth, self.answer_writes
            ),
            x: Axis::new("requests", "1/s"),
            y: Axis {
                scale: Scale::Decades,
                ..Axis::new(metric.name(), "ms")
            },
            ..Chart::default()
        }
    }

    fn chart(&self, of: &str, metric: Metric) -> Chart {
        let rows = &self.outcome.rows;
        let policies = self.cells().into_iter().filter(|cell| acks(cell) == of);
        let simple = policies.clone().filter(|cell| is_simple(&cell.policy));
        let simple: Vec<&str> = simple.map(|cell| cell.policy.label()).collect();
        let rings = match simple.is_empty() {
            true => String::new(),
            false => format!("; rings: the least of {}", simple.join(", ")),
        };
        let mut series: Vec<Series> = policies
            .map(|cell| {
                let label = cell.policy.label();
                Series::new(label, Mark::Line, self.points(of, label, metric))
            })
            .collect();
        let least = envelope(rows, metric, |it| acks(it) == of && is_simple(&it.policy));
        let place = |it: &Least<'_>| Some(Point::at(planned(&it.row.cell.demand)?, it.ms));
        series.push(Series::new(
            "envelope",
            Mark::Rings,
            least.iter().filter_map(place).collect(),
        ));
        Chart {
            title: format!("Latency against load: {}, ACKs: {of}", metric.name()),
            series,
            ..self.chart_of(metric, &rings)
        }
    }
}
