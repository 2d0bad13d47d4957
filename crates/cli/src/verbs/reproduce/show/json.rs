//! One document, schema tinygram.reproduce/1.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value as Json;
use tinygram_papers::Experiment;
use tinygram_papers::Source;
use tinygram_papers::experiment::{Origin, Parameter, Plot, PlotMark, Row};
use tinygram_papers::value::{PaperValue, Tolerance};
use tinygram_report::{Document, json};

use super::super::done::{Reproduced, Tally};
use super::super::plan::Plan;
use super::{trace, words};

const SCHEMA: &str = "tinygram.reproduce/1";

pub(super) fn results(plan: &Plan, reproduced: &[Reproduced]) -> String {
    json(&Document {
        schema: SCHEMA,
        parameters: plan,
        results: Results {
            experiments: reproduced.iter().map(measured).collect(),
        },
    })
}

/// Returns the experiments without results.
pub(super) fn list(plan: &Plan) -> String {
    json(&Document {
        schema: "tinygram.reproduce.list/1",
        parameters: BTreeMap::<&str, Json>::new(),
        results: Results {
            experiments: plan.experiments.all().map(named).collect(),
        },
    })
}

#[derive(Serialize)]
struct Results<T> {
    experiments: Vec<T>,
}

#[derive(Serialize)]
struct Named {
    id: &'static str,
    paper: &'static str,
    title: &'static str,
    source: &'static str,
}

#[derive(Serialize)]
struct Measured {
    #[serde(flatten)]
    named: Named,
    tally: Counts,
    rows: Vec<JsonRow>,
    rules: Vec<&'static str>,
    parameters: Vec<JsonParameter>,
    notes: Vec<String>,
    traces: Vec<JsonTrace>,
    plots: Vec<JsonPlot>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Counts {
    r#match: usize,
    fitted: usize,
    known_mismatch: usize,
    miss: usize,
    /// Left out where nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured_here: Option<usize>,
    not_published: usize,
}

#[derive(Serialize)]
struct JsonRow {
    cell: serde_json::Map<String, Json>,
    /// The value that the paper prints; `null` if it prints none.
    published: Json,
    /// The value that it is held to if the paper does not print it but its words imply it.
    #[serde(skip_serializing_if = "Option::is_none")]
    wanted: Option<Json>,
    /// The largest value allowed, if the row should be small.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_most: Option<f64>,
    reproduced: Json,
    /// How far it may be from the value that it is held to, in the value's own unit; the larger
    /// distance if the directions differ; `null` if anything is allowed.
    tolerance: Option<f64>,
    /// The range of numbers that count as agreeing, both ends included.
    allowed: Option<(f64, f64)>,
    class: &'static str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'static str>,
}

#[derive(Serialize)]
struct JsonParameter {
    name: &'static str,
    value: String,
    origin: &'static str,
    detail: &'static str,
}

#[derive(Serialize)]
struct JsonTrace {
    title: String,
    lines: Vec<String>,
}

#[derive(Serialize)]
struct JsonPlot {
    title: String,
    x: &'static str,
    y: &'static str,
    series: Vec<JsonSeries>,
}

#[derive(Serialize)]
struct JsonSeries {
    name: String,
    mark: &'static str,
    points: Vec<(f64, f64)>,
}

fn named(experiment: &Experiment) -> Named {
    Named {
        id: experiment.id,
        paper: words::authors(experiment.paper),
        title: experiment.title,
        source: experiment.source,
    }
}

fn measured(it: &Reproduced) -> Measured {
    let tally = Tally::of(&it.outcome.rows);
    Measured {
        named: named(it.experiment),
        tally: Counts {
            r#match: tally.matches,
            fitted: tally.fitted,
            known_mismatch: tally.known,
            miss: tally.misses,
            measured_here: (tally.here > 0).then_some(tally.here),
            not_published: tally.unpublished,
        },
        rows: it.outcome.rows.iter().map(row).collect(),
        rules: it.outcome.rules.clone(),
        parameters: it.outcome.parameters.iter().map(parameter).collect(),
        notes: it.outcome.notes.clone(),
        traces: it
            .outcome
            .traces
            .iter()
            .map(|trace| JsonTrace {
                title: trace.title.clone(),
                lines: trace::lines(trace),
            })
            .collect(),
        plots: it.outcome.plots.iter().map(plot).collect(),
    }
}

fn row(row: &Row) -> JsonRow {
    let held_to = row.held_to();
    let from = |source| held_to.filter(|_| row.source() == Some(source));
    let allowed = held_to.and_then(PaperValue::number);
    let allowed = allowed.and_then(|paper| words::allowed(row.tolerance, paper));
    let distance = |paper: f64| allowed.map(|(low, high)| f64::max(paper - low, high - paper));
    JsonRow {
        cell: row
            .cell
            .iter()
            .map(|(name, part)| ((*name).to_owned(), value(part)))
            .collect(),
        published: from(Source::Printed).map_or(Json::Null, value),
        wanted: from(Source::Derived).map(value),
        at_most: from(Source::Bound).map(|_| tidy(row.most())),
        reproduced: value(&row.reproduced),
        tolerance: match held_to.and_then(PaperValue::number) {
            Some(paper) => distance(paper).map(tidy),
            // Words either agree or do not.
            None => (held_to.is_some() && row.tolerance != Tolerance::Unbounded).then_some(0.0),
        },
        allowed: allowed.map(|(low, high)| (tidy(low), tidy(high))),
        class: words::class_name(row.class),
        status: words::status_name(row.status()),
        why: words::reason(row),
    }
}

/// Returns the value with all its digits: shown values are rounded, compared ones are not.
fn value(value: &PaperValue) -> Json {
    match value {
        PaperValue::Number(number, _) => (*number).into(),
        PaperValue::Count(count) => (*count).into(),
        PaperValue::Text(text) => text.as_str().into(),
    }
}

/// Rounds off the errors of binary fractions: 30.9 - 2.5 is 28.4.
fn tidy(number: f64) -> f64 {
    (number * 1e9).round() / 1e9
}

fn parameter(parameter: &Parameter) -> JsonParameter {
    let (origin, detail) = match parameter.origin {
        Origin::Paper(place) => ("paper", place),
        Origin::Fitted(to) => ("fitted", to),
        Origin::Assumed(why) => ("assumed", why),
    };
    JsonParameter {
        name: parameter.name,
        value: parameter.value.clone(),
        origin,
        detail,
    }
}

fn plot(plot: &Plot) -> JsonPlot {
    let series = plot.series.iter().map(|series| JsonSeries {
        name: series.name.clone(),
        mark: match series.mark {
            PlotMark::Dots => "dots",
            PlotMark::Crosses => "crosses",
            PlotMark::Squares => "squares",
            PlotMark::Line => "line",
            PlotMark::Dashed => "dashed",
            PlotMark::Steps => "steps",
            PlotMark::Row => "row",
        },
        points: series.points.clone(),
    });
    JsonPlot {
        title: plot.title.clone(),
        x: plot.x,
        y: plot.y,
        series: series.collect(),
    }
}
