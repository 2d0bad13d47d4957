//! What `naglemark load` shows: rows, knees, distances from the envelope.

use serde::Serialize;
use tinygram_naglemark::Conditions;
use tinygram_naglemark::load::{
    Demand, Distance, Estimate, KneeRule, Knees, LoadCell, LoadOutcome, LoadPart, LoadPlan,
    LoadRow, Metric, Repetition, distance, envelope, is_simple,
};
use tinygram_report::units::grouped;
use tinygram_report::{Column, Document, Entry, Ink, Row, Table, csv, json};

use super::super::args::load::{Args, BackendName, Format};
use super::super::fields::Fields;
use super::cells::{acks, planned};
use super::compared::{self, Compared};

/// The results, ready for any exporter.
pub(super) struct Shown {
    pub(super) parameters: Fields,
    /// What a chart says of the requests.
    pub(super) connections: u32,
    pub(super) depth: u32,
    pub(super) answer_writes: u32,
    /// Whether it was measured in real time.
    pub(super) is_real: bool,
    pub(super) outcome: LoadOutcome,
    /// The most answers a second of any policy.
    pub(super) capacity: f64,
    /// The knees, if they were searched for.
    pub(super) knees: Option<Knees>,
    pub(super) rule: KneeRule,
}

/// Returns everything that the results depend on, as it was meant.
pub(super) fn parameters(args: &Args, plan: &LoadPlan, conditions: &Conditions) -> Fields {
    #[derive(Serialize)]
    struct OfPlan {
        patience_ms: f64,
    }
    let of_plan = OfPlan {
        patience_ms: plan.patience.as_nanos() as f64 / 1e6,
    };
    let all = Fields::of(args).and(&of_plan).in_order(&ORDER);
    match args.backend {
        BackendName::Sim => all,
        BackendName::Kernel | BackendName::Bpf => ["ack_timer", "costs", "rate", "rtt_us"]
            .into_iter()
            .fold(all, Fields::without)
            .and(conditions),
    }
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
    /// The repetitions, where they took real time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    repetitions: Vec<RepetitionRecord>,
}

/// A repetition, as in the document.
#[derive(Clone, Debug, Serialize)]
struct RepetitionRecord {
    answers_per_second: f64,
    mean_ms: Option<f64>,
    p50_ms: Option<f64>,
    p99_ms: Option<f64>,
}

impl RepetitionRecord {
    fn of(repetition: &Repetition) -> Self {
        let times = repetition.times;
        Self {
            answers_per_second: repetition.answered_per_second,
            mean_ms: times.map(|it| it.mean),
            p50_ms: times.map(|it| it.p50),
            p99_ms: times.map(|it| it.p99),
        }
    }
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
    /// Absent if knees were not searched for.
    unloaded_p99_ms: Option<f64>,
    rows: Vec<Record>,
    policies: Vec<Summary>,
    /// Empty where time is virtual.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    compared: Vec<Compared>,
}

impl Shown {
    pub(super) fn rendered(&self, format: Format, (ink, width): (Ink, usize)) -> String {
        let joined = |shown: fn(&Table, usize, Ink) -> String| {
            let tables = [
                Some(self.rows()),
                Some(self.summary()),
                compared::table(&self.beside()),
            ];
            let shown = tables
                .iter()
                .flatten()
                .map(|table| shown(table, width, ink));
            shown.collect::<Vec<_>>().join("\n")
        };
        match format {
            Format::Table => joined(Table::to_text),
            Format::Markdown => joined(|table, _, _| table.to_markdown()),
            Format::Csv => csv(&self.flat_records()),
            Format::Json => json(&Document {
                schema: SCHEMA,
                parameters: &self.parameters,
                results: Results {
                    capacity_per_second: self.capacity,
                    unloaded_p99_ms: self.knees.as_ref().map(|it| it.unloaded_ms),
                    rows: self.records(),
                    policies: self.summaries(),
                    compared: self.beside().iter().flat_map(compared::of).collect(),
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
                repetitions: match self.is_real {
                    true => score.repetitions.iter().map(RepetitionRecord::of).collect(),
                    false => Vec::new(),
                },
            }
        };
        self.outcome.rows.iter().map(record).collect()
    }

    /// Returns the records as lines, which have no room for parts and repetitions.
    fn flat_records(&self) -> Vec<Record> {
        let mut records = self.records();
        for record in &mut records {
            record.parts.clear();
            record.repetitions.clear();
        }
        records
    }

    /// Returns the rows beside that of the first policy at the same load, where they took real time.
    fn beside(&self) -> Vec<(&LoadRow, &LoadRow)> {
        match self.is_real {
            true => compared::beside_the_first(&self.outcome.rows),
            false => Vec::new(),
        }
    }

    /// Returns each policy with each ACK policy, in order.
    pub(super) fn cells(&self) -> Vec<&LoadCell> {
        let mut cells: Vec<&LoadCell> = Vec::new();
        for LoadRow { cell, .. } in &self.outcome.rows {
            let same =
                |it: &&LoadCell| it.policy.label() == cell.policy.label() && acks(it) == acks(cell);
            if !cells.iter().any(same) {
                cells.push(cell);
            }
        }
        cells
    }

    /// Returns each policy with each ACK policy, with its knee and its distances.
    fn summaries(&self) -> Vec<Summary> {
        let summary = |(at, cell): (usize, &LoadCell)| Summary {
            policy: cell.policy.label().into(),
            ack_policy: acks(cell),
            knee_per_second: self.knees.as_ref().and_then(|it| it.knees[at].1),
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
        self.cells().into_iter().enumerate().map(summary).collect()
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

    fn what_a_knee_is(&self) -> String {
        match &self.knees {
            Some(knees) => format!(
                "the highest load, of those that its own search tried, that is kept up with, with a p99 of at most {} times \
                 {:.3} ms, the unloaded server's; none: it tried no such load",
                self.rule.times, knees.unloaded_ms
            ),
            None => "not searched for".into(),
        }
    }

    fn summary(&self) -> Table {
        let row = |summary: Summary| -> Row {
            let mut row = vec![
                summary.policy,
                summary.ack_policy,
                match (&self.knees, summary.knee_per_second) {
                    (_, Some(knee)) => grouped(knee as u64),
                    (Some(_), None) => "none".into(),
                    (None, None) => "-".into(),
                },
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
                    "Capacity: {} answers a second. knee: {}.",
                    grouped(self.capacity as u64),
                    self.what_a_knee_is()
                ),
                "distance: the geometric mean over the loads of the policy's latency over the envelope's; worst: the \
                 largest of these ratios. Loads with which nothing on the envelope is known to keep up are left out, and the policy's \
                 own (left out: how many) with which it falls behind, or has too few requests to tell."
                    .into(),
            ],
        }
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
