//! The page: every table side by side, traces, plots, and the details behind each.

use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_papers::experiment::{Paper, Plot, PlotMark, Status};
use tinygram_report::units::counted;
use tinygram_report::{
    Article, Axis, Badge, Chart, Mark, Page, Part, Point, Section, Series, Tone, facts,
};

use super::super::done::{Reproduced, Tally};
use super::super::plan::Plan;
use super::{accounts, disagreements, tables, trace, words};
use crate::{glossary, shown};

pub(in super::super) fn page(plan: &Plan, reproduced: &[Reproduced]) -> Page {
    let verdict = words::verdict(plan, reproduced);
    let mut sections = vec![
        Section::Verdict(vec![(Tone::Plain, verdict)]),
        Section::Notes(vec![words::SIGNS.into()]),
        Section::Facts {
            summary: "What the words and the variants mean".into(),
            facts: glossary::of(SendPolicy::LIST.iter().map(|it| it.label)),
        },
    ];
    sections.push(Section::Table(accounts::table(reproduced)));
    sections.extend(disagreements::reasons(reproduced).map(Section::Reasons));
    let mut paper = None;
    for it in reproduced {
        let own = it.experiment.paper;
        if paper.replace(own) != Some(own) {
            sections.push(Section::Part(Part {
                title: words::authors(own).into(),
                lead: own.citation().into(),
            }));
            sections.extend(errata(own));
        }
        sections.push(Section::Article(article(it)));
    }
    sections.extend(appendix(reproduced));
    sections.push(Section::Facts {
        summary: "Parameters of this run".into(),
        facts: facts(&plan.effort),
    });
    Page {
        title: "Five papers, reproduced".into(),
        lead: "Every published number with ours beside it: the page shows what agrees by protocol \
             rules alone, what needs fitted values, and what cannot be reproduced and why."
            .into(),
        sections,
        origin: shown::origin(),
    }
}

/// Returns the paper's errors, folded.
fn errata(paper: Paper) -> Option<Section> {
    let facts = paper.errata().iter().enumerate();
    let facts: Vec<_> = facts
        .map(|(at, error)| ((at + 1).to_string(), (*error).to_owned()))
        .collect();
    (!facts.is_empty()).then_some(Section::Facts {
        summary: format!("Errors of the paper: {}", facts.len()),
        facts,
    })
}

fn article(it: &Reproduced) -> Article {
    let outcome = &it.outcome;
    let mut sections: Vec<Section> = tables::tables(outcome)
        .into_iter()
        .map(Section::Table)
        .collect();
    sections.push(Section::Notes(outcome.notes.clone()));
    sections.extend(outcome.plots.iter().map(|plot| Section::Chart(chart(plot))));
    sections.extend(outcome.traces.iter().map(|trace| Section::Lines {
        title: trace.title.clone(),
        lines: trace::lines(trace),
    }));
    sections.extend(background(it));
    Article {
        id: it.experiment.id.into(),
        title: words::heading(it.experiment),
        lead: format!("tinygram reproduce {}", it.experiment.id),
        badges: badges(Tally::of(&outcome.rows)),
        sections,
    }
}

/// Returns the rules and the parameters, folded.
fn background(it: &Reproduced) -> Option<Section> {
    let rules = it.outcome.rules.iter().enumerate();
    let rules = rules.map(|(at, rule)| (format!("rule {}", at + 1), (*rule).to_owned()));
    let parameters = it.outcome.parameters.iter().map(|parameter| {
        let value = format!("{}. {}", parameter.value, words::origin(parameter.origin));
        (parameter.name.to_owned(), value)
    });
    let facts: Vec<_> = rules.chain(parameters).collect();
    let summary = format!(
        "What it rests on: {}, {}",
        counted(it.outcome.rules.len() as u64, "rule"),
        counted(it.outcome.parameters.len() as u64, "parameter")
    );
    (!facts.is_empty()).then_some(Section::Facts { summary, facts })
}

/// Returns what the papers do not contain, by experiment.
fn appendix(reproduced: &[Reproduced]) -> Vec<Section> {
    let mut sections = Vec::new();
    for it in reproduced {
        let beyond = tables::beyond(&it.outcome);
        if !beyond.is_empty() {
            sections.push(Section::Article(Article {
                id: format!("{}-beyond", it.experiment.id),
                title: words::heading(it.experiment),
                lead: words::BEYOND_IS.into(),
                badges: Vec::new(),
                sections: beyond.into_iter().map(Section::Table).collect(),
            }));
        }
    }
    if !sections.is_empty() {
        let part = Part {
            title: "Appendix".into(),
            lead: "Values that the papers do not have".into(),
        };
        sections.insert(0, Section::Part(part));
    }
    sections
}

fn badges(tally: Tally) -> Vec<Badge> {
    let counted = tally.counted().into_iter().filter(|(_, count)| *count > 0);
    counted
        .map(|(status, count)| Badge {
            text: match status {
                Status::NotPublished => format!("{count} unpublished"),
                Status::MeasuredHere => format!("{count} here"),
                status => format!("{} {count}", words::sign(status)),
            },
            meaning: format!("{count} {}", words::status(status)),
            tone: words::tone(status),
        })
        .collect()
}

fn chart(plot: &Plot) -> Chart {
    // A figure with rows has nothing else, and each row has its own line.
    let is_rows = plot.series.iter().all(|it| it.mark == PlotMark::Row);
    let of_row = |row: usize| is_rows.then_some(row as f64);
    let series = plot.series.iter().enumerate();
    let series = series.map(|(at, it)| {
        let points = it.points.iter();
        let points = points.map(|&(x, y)| Point::at(x, of_row(at).unwrap_or(y)));
        Series::new(it.name.clone(), mark(it.mark), points.collect())
    });
    Chart {
        title: plot.title.clone(),
        x: axis(plot.x),
        y: match is_rows {
            true => Axis::rows(plot.series.iter().map(|it| it.name.clone()).collect()),
            false => axis(plot.y),
        },
        series: series.collect(),
        ..Chart::default()
    }
}

const fn mark(mark: PlotMark) -> Mark {
    match mark {
        PlotMark::Dots => Mark::Dots,
        PlotMark::Crosses => Mark::Crosses,
        PlotMark::Squares => Mark::Squares,
        PlotMark::Line => Mark::Line,
        PlotMark::Dashed => Mark::Dashed,
        PlotMark::Steps => Mark::Steps,
        PlotMark::Row => Mark::Strokes,
    }
}

/// Splits `elapsed time (ms)` or `elapsed time [ms]` into a name and a unit.
fn axis(label: &str) -> Axis {
    let part = |open, close| label.strip_suffix(close)?.rsplit_once(open);
    let (name, unit) = part(" (", ')')
        .or_else(|| part(" [", ']'))
        .unwrap_or((label, ""));
    Axis::new(name, unit)
}
