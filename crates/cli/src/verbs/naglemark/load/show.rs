//! What `naglemark load` shows: rows, knees, distances from the envelope.

use serde::Serialize;
use tinygram_naglemark::load::{
    Demand, Distance, Estimate, KneeRule, Knees, LoadCell, LoadOutcome, LoadPart, LoadPlan,
    LoadRow, Metric, distance, envelope, is_simple,
};
use tinygram_report::units::grouped;
use tinygram_report::{Column, Document, Entry, Ink, Row, Table, csv, json};

use super::super::args::load::{Args, Format};
use super::super::fields::Fields;

/// The results, ready for any exporter.
pub(super) struct Shown {
    pub(super) parameters: Fields,
    /// What a chart says of the requests.
    pub(super) connections: u32,
    pub(super) depth: u32,
    pub(super) answer_writes: u32,
    pub(super) outcome: LoadOutcome,
    pub(super) knees: Knees,
    pub(super) rule: KneeRule,
}

/// Returns everything that the results depend on, as it was meant.
pub(super) fn parameters(args: &Args, plan: &LoadPlan) -> Fields {
    #[derive(Serialize)]
    struct OfPlan {
        patience_ms: f64,
    }
    let of_plan = OfPlan {
        patience_ms: plan.patience.as_nanos() as f64 / 1e6,
    };
    Fields::of(args).and(&of_plan).in_order(&ORDER)
}

/// The order of the parameters.
const ORDER: [&str; 26] = [
    "connections",
    "depth",
    "request",
    "answer",
    "request_writes",
    "answer_writes",
    "arrivals",
    "server",
    "gather",
    "pause_us",
    "service_us",
    "digest_us",
    "ends",
    "other",
    "ack_timer",
    "loads",
    "closed",
    "costs",
    "rate",
    "rtt_us",
    "warmup_ms",
    "window_ms",
    "patience_ms",
    "repetitions",
    "knee",
    "seed",
];

/// A row as in the document and in the CSV.
#[derive(Clone, Debug, Serialize)]
struct Record {
    backend: String,
    policy: String,
    ack_policy: String,
    /// Requests a second that were planned; absent in a closed loop and in a course.
    load_per_second: Option<f64>,
    offered_per_second: f64,
    answers_per_second: f64,
    answers_per_second_within: Option<f64>,
    mean_ms: Option<f64>,
    mean_ms_within: Option<f64>,
    p50_ms: Option<f64>,
    p50_ms_within: Option<f64>,
    p99_ms: Option<f64>,
    p99_ms_within: Option<f64>,
    segments_per_answer: f64,
    all_segments_per_answer: f64,
    client_us_per_answer: f64,
    server_us_per_answer: f64,
    client_busy: f64,
    server_busy: f64,
    unanswered: u64,
    /// Absent in a closed loop, and if requests were too few to tell.
    keeps_up: Option<bool>,
    /// The parts of a course, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<PartRecord>,
}

/// A part of a course, as in the document.
#[derive(Clone, Debug, Serialize)]
struct PartRecord {
    offered_per_second: f64,
    mean_ms: Option<f64>,
    mean_ms_within: Option<f64>,
    p99_ms: Option<f64>,
    p99_ms_within: Option<f64>,
}

impl PartRecord {
    fn of(part: &LoadPart) -> Self {
        Self {
            offered_per_second: part.offered_per_second,
            mean_ms: part.mean_ms.map(|it| it.value),
            mean_ms_within: half(part.mean_ms),
            p99_ms: part.p99_ms.map(|it| it.value),
            p99_ms_within: half(part.p99_ms),
        }
    }
}

/// A policy's knee and its distances, as in the document.
#[derive(Clone, Debug, Serialize)]
struct Summary {
    policy: String,
    ack_policy: String,
    knee_per_second: Option<f64>,
    distance: Vec<Away>,
}

/// A distance from the envelope.
#[derive(Clone, Debug, Serialize)]
struct Away {
    metric: &'static str,
    mean: Option<f64>,
    worst: Option<f64>,
    /// Loads with which the policy falls behind.
    left_out: usize,
}

#[derive(Serialize)]
struct Results {
    capacity_per_second: f64,
    unloaded_p99_ms: f64,
    rows: Vec<Record>,
    policies: Vec<Summary>,
}

impl Shown {
    pub(super) fn rendered(&self, format: Format, (ink, width): (Ink, usize)) -> String {
        let tables = || [self.rows(), self.summary()];
        match format {
            Format::Table => tables().map(|table| table.to_text(width, ink)).join("\n"),
            Format::Markdown => tables().map(|table| table.to_markdown()).join("\n"),
            Format::Csv => csv(&self.records_without_parts()),
            Format::Json => json(&Document {
                schema: SCHEMA,
                parameters: &self.parameters,
                results: Results {
                    capacity_per_second: self.knees.capacity,
                    unloaded_p99_ms: self.knees.unloaded_ms,
                    rows: self.records(),
                    policies: self.summaries(),
                },
            }),
        }
    }

    fn records(&self) -> Vec<Record> {
        let record = |row: &LoadRow| {
            let score = &row.score;
            Record {
                backend: self.outcome.conditions.backend.clone(),
                policy: row.cell.policy.label().into(),
                ack_policy: acks(&row.cell),
                load_per_second: planned(&row.cell.demand),
                offered_per_second: score.offered_per_second,
                answers_per_second: score.answered_per_second.value,
                answers_per_second_within: half(Some(score.answered_per_second)),
                mean_ms: score.mean_ms.map(|it| it.value),
                mean_ms_within: half(score.mean_ms),
                p50_ms: score.p50_ms.map(|it| it.value),
                p50_ms_within: half(score.p50_ms),
                p99_ms: score.p99_ms.map(|it| it.value),
                p99_ms_within: half(score.p99_ms),
                segments_per_answer: score.segments_per_answer,
                all_segments_per_answer: score.all_segments_per_answer,
                client_us_per_answer: score.client_us_per_answer,
                server_us_per_answer: score.server_us_per_answer,
                client_busy: score.client_busy,
                server_busy: score.server_busy,
                unanswered: score.unanswered,
                keeps_up: row.keeps_up(),
                parts: score.parts.iter().map(PartRecord::of).collect(),
            }
        };
        self.outcome.rows.iter().map(record).collect()
    }

    /// Returns the records as lines, which have no room for parts.
    fn records_without_parts(&self) -> Vec<Record> {
        let mut records = self.records();
        for record in &mut records {
            record.parts.clear();
        }
        records
    }

    /// Returns each policy with each ACK policy, with its knee and its distances.
    fn summaries(&self) -> Vec<Summary> {
        let summary = |(cell, knee): &(LoadCell, Option<f64>)| Summary {
            policy: cell.policy.label().into(),
            ack_policy: acks(cell),
            knee_per_second: *knee,
            distance: Metric::ALL
                .into_iter()
                .filter_map(|metric| {
                    let Distance {
                        mean,
                        worst,
                        left_out,
                    } = self.distance(cell, metric)?;
                    Some(Away {
                        metric: metric.name(),
                        mean,
                        worst,
                        left_out,
                    })
                })
                .collect(),
        };
        self.knees.knees.iter().map(summary).collect()
    }

    fn distance(&self, cell: &LoadCell, metric: Metric) -> Option<Distance> {
        let rows = &self.outcome.rows;
        let same_acks = |other: &LoadCell| acks(other) == acks(cell);
        let least = envelope(rows, metric, |it| same_acks(it) && is_simple(&it.policy));
        distance(rows, &least, metric, |it| {
            same_acks(it) && it.policy.label() == cell.policy.label()
        })
    }

    fn rows(&self) -> Table {
        let row = |row: &LoadRow| -> Row {
            let score = &row.score;
            let load = planned(&row.cell.demand);
            let mut offered = match row.cell.demand {
                Demand::Closed => "closed".into(),
                _ => grouped(load.unwrap_or(score.offered_per_second) as u64),
            };
            if row.keeps_up() == Some(false) {
                offered.push('!');
            }
            [
                row.cell.policy.label().into(),
                acks(&row.cell),
                offered,
                grouped(score.answered_per_second.value as u64),
                ms(score.mean_ms),
                ms(score.p50_ms),
                ms(score.p99_ms),
                within(score.p99_ms),
                format!("{:.2}", score.segments_per_answer),
                format!("{:.2}", score.all_segments_per_answer),
                format!("{:.1}", score.client_us_per_answer),
                format!("{:.1}", score.server_us_per_answer),
                format!("{:.0}%", score.server_busy * 100.0),
            ]
            .map(Entry::new)
            .into()
        };
        let number = |group: &str, head: &str| Column::numbers(head).in_group(group);
        Table {
            title: format!(
                "Policies under load ({})",
                self.outcome.conditions.backend
            ),
            columns: vec![
                Column::words("Policy"),
                Column::words("ACKs"),
                number("a second", "asked"),
                number("a second", "answered"),
                number("ms", "mean"),
                number("ms", "p50"),
                number("ms", "p99"),
                number("ms", "+-"),
                number("segments", "server"),
                number("segments", "all"),
                number("us", "client"),
                number("us", "server"),
                number("", "busy"),
            ],
            rows: self.outcome.rows.iter().map(row).collect(),
            notes: vec![
                "ms: from when a request was due to its answer's last byte; +-: half of the p99's 95 % interval. \
                 segments: the server's with data, and all of both ends, an answer. us: processor time an answer. busy: \
                 the server's processor. !: the hosts fall behind, so latencies depend on how long was measured."
                    .into(),
            ],
        }
    }

    fn summary(&self) -> Table {
        let row = |summary: Summary| -> Row {
            let mut row = vec![
                summary.policy,
                summary.ack_policy,
                summary
                    .knee_per_second
                    .map_or_else(|| "none".into(), |it| grouped(it as u64)),
            ];
            let left_out = summary.distance.first();
            row.push(left_out.map_or_else(|| "-".into(), |it| it.left_out.to_string()));
            for metric in Metric::ALL {
                let mut named = summary.distance.iter();
                let away = named.find(|it| it.metric == metric.name());
                row.push(times(away.and_then(|it| it.mean)));
                row.push(times(away.and_then(|it| it.worst)));
            }
            row.into_iter().map(Entry::new).collect()
        };
        let mut columns = vec![
            Column::words("Policy"),
            Column::words("ACKs"),
            Column::numbers("knee"),
            Column::numbers("left out"),
        ];
        for metric in Metric::ALL {
            let heads = ["distance", "worst"].map(Column::numbers);
            columns.extend(heads.map(|one| one.in_group(metric.name())));
        }
        Table {
            title: "Knees, and distances from the lower envelope of what holds by a fixed rule".into(),
            columns,
            rows: self.summaries().into_iter().map(row).collect(),
            notes: vec![
                format!(
                    "Capacity: {} answers a second. knee: the highest load, of those that its own search tried, that is kept up \
                     with, with a p99 of at most {} times {:.3} ms, the unloaded server's; none: it tried no such load.",
                    grouped(self.knees.capacity as u64),
                    self.rule.times,
                    self.knees.unloaded_ms
                ),
                "distance: the geometric mean over the loads of the policy's latency over the envelope's; worst: the \
                 largest of these ratios. Loads with which nothing on the envelope is known to keep up are left out, and the policy's \
                 own (left out: how many) with which it falls behind, or has too few requests to tell."
                    .into(),
            ],
        }
    }
}

/// Returns the name of a cell's ACK policy; both hosts' own is Linux's.
pub(super) fn acks(cell: &LoadCell) -> String {
    cell.ack_policy
        .as_ref()
        .map_or_else(|| "linux".into(), ToString::to_string)
}

/// Returns the requests a second of an open loop that do not change.
pub(super) fn planned(demand: &Demand) -> Option<f64> {
    match demand {
        Demand::Open(rate) => Some(*rate),
        Demand::Course(_) | Demand::Closed => None,
    }
}

fn ms(estimate: Option<Estimate>) -> String {
    match estimate.map(|it| it.value) {
        None => "-".into(),
        Some(value) if value < 10.0 => format!("{value:.3}"),
        Some(value) => format!("{value:.1}"),
    }
}

/// Returns half of an interval, if it is known.
fn half(estimate: Option<Estimate>) -> Option<f64> {
    estimate.map(|it| it.within).filter(|it| it.is_finite())
}

/// Returns half of an interval, as a share of the value.
fn within(estimate: Option<Estimate>) -> String {
    let share = |half| Some(half / estimate?.value).filter(|share: &f64| share.is_finite());
    let share = half(estimate).and_then(share);
    share.map_or_else(|| "-".into(), |share| format!("{:.0}%", 100.0 * share))
}

/// Returns a ratio.
fn times(ratio: Option<f64>) -> String {
    match ratio {
        None => "-".into(),
        Some(ratio) if ratio < 10.0 => format!("{ratio:.2}"),
        Some(ratio) => format!("{ratio:.0}"),
    }
}

/// The name and version of the JSON document.
const SCHEMA: &str = "tinygram.naglemark-load/1";
