//! Results for a document; book/src/evidence/reproduction.md is made of it.

use tinygram_papers::experiment::Paper;
use tinygram_report::{Entry, Table};

use super::super::done::Reproduced;
use super::super::plan::Plan;
use super::{accounts, columns, disagreements, tables, text, trace, words};

pub(super) fn results(plan: &Plan, reproduced: &[Reproduced]) -> String {
    let mut parts = vec![
        "# Five papers, reproduced".to_owned(),
        INTRODUCTION.to_owned(),
        words::verdict(plan, reproduced),
        words::SIGNS.to_owned(),
        text::counts(reproduced).to_markdown(),
        format!("## {}", accounts::TITLE),
        accounts::IS.to_owned(),
        untitled(&accounts::table(reproduced)).to_markdown(),
    ];
    if let Some(reasons) = disagreements::reasons(reproduced) {
        parts.push(format!("## {}", reasons.title));
        parts.push(reasons.to_markdown());
    }
    let mut paper = None;
    for it in reproduced {
        let own = it.experiment.paper;
        if paper.replace(own) != Some(own) {
            parts.push(format!("## {}", words::authors(own)));
            parts.push(format!("{}.", own.citation()));
            parts.extend(errata(own));
        }
        parts.extend(experiment(it));
    }
    parts.extend(appendix(reproduced));
    parts
        .iter()
        .map(|part| part.trim_end())
        .collect::<Vec<_>>()
        .join("\n\n")
        + "\n"
}

fn errata(paper: Paper) -> Option<String> {
    let errors = paper.errata();
    (!errors.is_empty()).then(|| format!("Errors of the paper:\n\n{}", list(errors)))
}

fn experiment(it: &Reproduced) -> Vec<String> {
    let (experiment, outcome) = (it.experiment, &it.outcome);
    let mut parts = vec![
        format!("### {}", words::capital(experiment.title)),
        format!(
            "`tinygram reproduce {}`; {}.",
            experiment.id, experiment.source
        ),
    ];
    parts.extend(tables::tables(outcome).iter().map(table));
    if !outcome.notes.is_empty() {
        parts.push(list(&outcome.notes));
    }
    for trace in &outcome.traces {
        let lines = trace::lines(trace).join("\n");
        parts.push(format!("{}:\n\n```text\n{lines}\n```", trace.title));
    }
    if !outcome.plots.is_empty() {
        let plots: Vec<_> = outcome.plots.iter().map(|plot| &plot.title).collect();
        parts.push(format!("Plots (`--html`):\n\n{}", list(&plots)));
    }
    if !outcome.rules.is_empty() {
        parts.push(format!("Rules:\n\n{}", list(&outcome.rules)));
    }
    if !outcome.parameters.is_empty() {
        parts.push(parameters(it).to_markdown());
    }
    parts
}

/// Returns what the papers do not contain, by experiment.
fn appendix(reproduced: &[Reproduced]) -> Vec<String> {
    let mut parts = Vec::new();
    for it in reproduced {
        let beyond = tables::beyond(&it.outcome);
        if !beyond.is_empty() {
            parts.push(format!("### Appendix: {}", it.experiment.id));
            parts.extend(beyond.iter().map(table));
        }
    }
    if !parts.is_empty() {
        parts.insert(
            0,
            "## Appendix: values that the papers do not have".to_owned(),
        );
        parts.insert(1, APPENDIX.to_owned());
    }
    parts
}

const APPENDIX: &str = "The papers do not have the following values: they belong to policies and \
     settings that the papers did not measure, or to measures that the papers do not print. They \
     are compared with nothing and are not counted above.";

fn table(table: &Table) -> String {
    let body = untitled(table).to_markdown();
    match table.title.as_str() {
        "" => body,
        title => format!("*{title}*\n\n{body}"),
    }
}

/// Returns the table without its title: a heading for each part would hide the experiments'
/// headings.
fn untitled(table: &Table) -> Table {
    Table {
        title: String::new(),
        ..table.clone()
    }
}

fn parameters(it: &Reproduced) -> Table {
    let row = |parameter: &tinygram_papers::experiment::Parameter| {
        vec![
            Entry::new(parameter.name),
            Entry::new(&*parameter.value),
            Entry::new(words::origin(parameter.origin)),
        ]
    };
    Table {
        columns: columns(["parameter", "value", "where it comes from"]),
        rows: it.outcome.parameters.iter().map(row).collect(),
        ..Table::default()
    }
}

fn list(lines: &[impl std::fmt::Display]) -> String {
    let lines: Vec<_> = lines.iter().map(|line| format!("- {line}")).collect();
    lines.join("\n")
}

const INTRODUCTION: &str = "\
This page shows what the papers print, with our results beside it. For each number of the papers, a list in
`crates/papers/numbers/` names the row that reproduces it or says why there is none. This command makes the page:

```console
$ tinygram reproduce --format markdown --output book/src/evidence/reproduction.md
```

A test reports when the page is out of date. `tinygram reproduce --html FILE` makes the same page with plots.
An entry of a grid has the form `ours (paper)`.";
