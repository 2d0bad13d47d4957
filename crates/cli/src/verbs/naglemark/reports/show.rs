//! What `naglemark reports` shows: verdicts, loads, conditions, the chart.

use serde::Serialize;
use tinygram_naglemark::load::Estimate;
use tinygram_naglemark::load::reports::{Compared, Origin, Reported, Scene, UnderWay};
use tinygram_report::{
    Axis, Chart, Column, Document, Entry, Ink, Line, Mark, Point, Row, Scale, Series, Table, csv,
    json,
};

use super::super::args::reports::{Args, Format};
use super::super::fields::Fields;

/// The results, ready for any exporter.
pub(super) struct Shown {
    pub(super) reported: Vec<Reported>,
}

/// A report, as in the document.
#[derive(Serialize)]
struct ReportRecord {
    report: &'static str,
    url: &'static str,
    year: u16,
    said: &'static str,
    measure: Option<&'static str>,
    /// How many times better with TCP_NODELAY, from and to.
    reported_times: Option<[f64; 2]>,
    verdict: &'static str,
    needs: &'static str,
    conditions: Vec<Condition>,
}

/// A condition of a scene, and where it is from.
#[derive(Serialize)]
struct Condition {
    scene: &'static str,
    condition: String,
    /// `report`, `program` or `assumed`.
    origin: &'static str,
    why: &'static str,
}

/// A load, as in the document and in the CSV.
#[derive(Serialize)]
struct LoadRecord {
    report: &'static str,
    scene: &'static str,
    connections: u32,
    depth: u32,
    /// Whether it is the report's own load.
    is_reports: bool,
    /// The share of the time for which the busier processor worked.
    load: f64,
    than_linux: f64,
    than_linux_within: Option<f64>,
    than_nagle: f64,
    than_nagle_within: Option<f64>,
}

#[derive(Serialize)]
struct Results {
    reports: Vec<ReportRecord>,
    loads: Vec<LoadRecord>,
}

impl Shown {
    pub(super) fn rendered(&self, args: &Args, (ink, width): (Ink, usize)) -> String {
        let mut tables = vec![self.verdicts(), self.loads()];
        tables.extend(args.verbose.then(|| self.conditions()));
        let each =
            |of: &dyn Fn(&Table) -> String| tables.iter().map(of).collect::<Vec<_>>().join("\n");
        match args.format {
            Format::Table => each(&|table| table.to_text(width, ink)),
            Format::Markdown => each(&Table::to_markdown),
            Format::Csv => csv(&self.load_records()),
            Format::Json => json(&Document {
                schema: SCHEMA,
                parameters: Fields::of(args),
                results: Results {
                    reports: self.reported.iter().map(record).collect(),
                    loads: self.load_records(),
                },
            }),
        }
    }

    fn each_load(&self) -> impl Iterator<Item = (&Reported, &Scene, &Compared)> {
        self.reported.iter().flat_map(|reported| {
            let scenes = reported.scenes.iter();
            scenes.flat_map(move |(scene, loads)| {
                loads.iter().map(move |load| (reported, *scene, load))
            })
        })
    }

    fn load_records(&self) -> Vec<LoadRecord> {
        let record = |(reported, scene, load): (&Reported, &Scene, &Compared)| LoadRecord {
            report: reported.report.name,
            scene: scene.name,
            connections: load.asked.connections,
            depth: load.asked.depth,
            is_reports: load.asked.is_reports,
            load: load.load,
            than_linux: load.than_linux.value,
            than_linux_within: half(load.than_linux),
            than_nagle: load.than_nagle.value,
            than_nagle_within: half(load.than_nagle),
        };
        self.each_load().map(record).collect()
    }

    fn verdicts(&self) -> Table {
        let row = |reported: &Reported| -> Row {
            let figure = reported.report.figure;
            let spans = |of: fn(&Compared) -> f64| span(reported.held().map(of));
            [
                reported.report.name.into(),
                figure.map_or("-", |it| it.measure.name()).into(),
                figure.map_or_else(|| "-".into(), |it| span(it.times)),
                spans(|it| it.than_linux.value),
                spans(|it| it.than_nagle.value),
                percents(reported.held().map(|it| it.load)),
                reported.verdict().name().into(),
            ]
            .map(Entry::new)
            .into()
        };
        let needs = |reported: &Reported| {
            let report = reported.report;
            format!(
                "{} ({}): {}. It needs {}.",
                report.name, report.year, report.said, report.needs
            )
        };
        let mut notes = vec![
            "How many times better with TCP_NODELAY: a higher throughput or load, a lower latency. simulated: than a socket as Linux \
             has it, and than Nagle's rule, at the report's own loads, or at all if it does not give them. load: for how much of the \
             time the busier processor works. verdict: of Linux's."
                .into(),
        ];
        notes.extend(self.reported.iter().map(needs));
        Table {
            title: "Reports of TCP_NODELAY, and the same loads simulated".into(),
            columns: vec![
                Column::words("Report"),
                Column::words("of"),
                Column::numbers("reported"),
                Column::numbers("Linux").in_group("simulated"),
                Column::numbers("Nagle").in_group("simulated"),
                Column::numbers("load"),
                Column::words("verdict"),
            ],
            rows: self.reported.iter().map(row).collect(),
            notes,
        }
    }

    fn loads(&self) -> Table {
        let row = |(reported, scene, load): (&Reported, &Scene, &Compared)| -> Row {
            [
                reported.report.name.into(),
                scene.name.into(),
                under_way(load.asked),
                percent(load.load),
                format!("{:.2}", load.than_linux.value),
                within(load.than_linux),
                format!("{:.2}", load.than_nagle.value),
                within(load.than_nagle),
            ]
            .map(Entry::new)
            .into()
        };
        let number = |group: &str, head: &str| Column::numbers(head).in_group(group);
        Table {
            title: "Each load".into(),
            columns: vec![
                Column::words("Report"),
                Column::words(""),
                Column::numbers("under way"),
                Column::numbers("load"),
                number("than Linux", "times"),
                number("than Linux", "+-"),
                number("than Nagle", "times"),
                number("than Nagle", "+-"),
            ],
            rows: self.each_load().map(row).collect(),
            notes: vec![
                "under way: connections, times requests on each; *: the report's own load. +-: half of the 95 % interval, or for a \
                 highest load how near the search comes to it."
                    .into(),
            ],
        }
    }

    fn conditions(&self) -> Table {
        let row = |(report, it): (&'static str, Condition)| -> Row {
            [report, it.scene, &it.condition, it.origin, it.why]
                .map(Entry::new)
                .into()
        };
        let all = self.reported.iter().flat_map(|reported| {
            let own = conditions(reported).into_iter();
            own.map(|it| (reported.report.name, it))
        });
        Table {
            title: "Conditions".into(),
            columns: ["Report", "", "condition", "from", "why"]
                .map(Column::words)
                .into(),
            rows: all.map(row).collect(),
            notes: vec![
                "from: the report states it, or it follows from what it states; the program that was measured does so; or it is \
                 assumed. All hosts have the costs of --costs."
                    .into(),
            ],
        }
    }

    /// Returns the chart: each report's loads as a line, and its own figure at its own loads, or across all if it does not give
    /// them.
    pub(super) fn chart(&self) -> Chart {
        let drawn = self.reported.iter().filter(|it| !it.scenes.is_empty());
        let points = |loads: &[Compared]| -> Vec<Point> {
            let place = |it: &Compared| Point::at(100.0 * it.load, it.than_linux.value);
            loads.iter().map(place).collect()
        };
        // The lines of the first scenes come first: their places decide on colours.
        let first = |it: &Reported| {
            let (_, loads) = &it.scenes[0];
            Series::new(it.report.name, Mark::Line, points(loads))
        };
        let mut series: Vec<Series> = drawn.clone().map(first).collect();
        for (own, reported) in drawn.enumerate() {
            let mut add = |marks: Series| {
                series.push(Series {
                    like: Some(own),
                    ..marks
                });
            };
            for (at, (scene, loads)) in reported.scenes.iter().enumerate() {
                if at > 0 {
                    add(Series::new(scene.name, Mark::Line, points(loads)));
                }
                add(Series::new(scene.name, Mark::Squares, points(loads)));
            }
            if let Some(marks) = figure(reported) {
                add(marks);
            }
        }
        Chart {
            title: "Reports of TCP_NODELAY, each at its load".into(),
            subtitle: "squares: simulated, against Linux's own rule; rings: what was reported; dashed: reported, its load not given"
                .into(),
            x: Axis::new("for how long the busier processor works, with TCP_NODELAY", "%"),
            y: Axis {
                scale: Scale::Doublings,
                ..Axis::new("times better with TCP_NODELAY", "")
            },
            series,
            lines: vec![Line {
                name: "no difference".into(),
                at_zero: 1.0,
                slope: 0.0,
                dashed: true,
            }],
            ..Chart::default()
        }
    }
}

/// Returns a report's own figure as marks: at the loads that it gives, or across those that were simulated.
fn figure(reported: &Reported) -> Option<Series> {
    let figure = reported.report.figure?;
    let loads: Vec<f64> = reported.held().map(|it| 100.0 * it.load).collect();
    let is_known = reported.held().any(|it| it.asked.is_reports);
    let name = reported.report.name;
    let [low, high] = figure.times;
    let least = loads.iter().copied().fold(f64::INFINITY, f64::min);
    let most = loads.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // Which figure is of which load no report says.
    let middle = (least + most) / 2.0;
    Some(match is_known {
        true => {
            let mut points = vec![Point::at(middle, low), Point::at(middle, high)];
            points.dedup();
            Series::new(name, Mark::Rings, points)
        }
        false => {
            let points = vec![Point::at(least, low), Point::at(most, high)];
            Series::new(name, Mark::Dashed, points)
        }
    })
}

fn record(reported: &Reported) -> ReportRecord {
    let report = reported.report;
    ReportRecord {
        report: report.name,
        url: report.url,
        year: report.year,
        said: report.said,
        measure: report.figure.map(|it| it.measure.name()),
        reported_times: report.figure.map(|it| it.times),
        verdict: reported.verdict().name(),
        needs: report.needs,
        conditions: conditions(reported),
    }
}

fn conditions(reported: &Reported) -> Vec<Condition> {
    let of_scene = |(scene, _): &(&'static Scene, Vec<Compared>)| {
        let each = scene.conditions().into_iter();
        let name = scene.name;
        each.map(move |(condition, origin)| {
            let (origin, why) = match origin {
                Origin::Report(why) => ("report", why),
                Origin::Program(why) => ("program", why),
                Origin::Assumed(why) => ("assumed", why),
            };
            Condition {
                scene: name,
                condition,
                origin,
                why,
            }
        })
    };
    reported.scenes.iter().flat_map(of_scene).collect()
}

fn under_way(asked: UnderWay) -> String {
    let mark = if asked.is_reports { "*" } else { "" };
    format!("{} x {}{mark}", asked.connections, asked.depth)
}

/// Returns what these values span.
fn span(values: impl IntoIterator<Item = f64>) -> String {
    let written: Vec<f64> = values.into_iter().collect();
    let least = written.iter().copied().fold(f64::INFINITY, f64::min);
    let most = written.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match (format!("{least:.2}"), format!("{most:.2}")) {
        _ if written.is_empty() => "-".into(),
        (least, most) if least == most => least,
        (least, most) => format!("{least}-{most}"),
    }
}

fn percents(values: impl Iterator<Item = f64>) -> String {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    match (values.first(), values.last()) {
        (Some(least), Some(most)) if percent(*least) != percent(*most) => {
            format!("{:.0}-{}", 100.0 * least, percent(*most))
        }
        (Some(one), _) => percent(*one),
        _ => "-".into(),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

/// Returns half of an interval, if it is known.
fn half(estimate: Estimate) -> Option<f64> {
    Some(estimate.within).filter(|it| it.is_finite())
}

fn within(estimate: Estimate) -> String {
    half(estimate).map_or_else(|| "-".into(), |it| format!("{it:.2}"))
}

/// The name and version of the JSON document.
const SCHEMA: &str = "tinygram.naglemark-reports/1";
