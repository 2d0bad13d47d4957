//! `--html`: one self-contained page.

mod group;
mod possible;
mod tables;
mod time_sequence;
mod timeline;

use std::io;

use tinygram_report::units::counted;
use tinygram_report::{Article, Column, Entry, Page, Part, Section, Table, Tone};
use tinygram_stalls::recipes;

use crate::group::{Group, groups};
use crate::outcome::{asides, outcome};
use crate::results::Diagnosis;

/// Returns the diagnosis as a page. `origin` says what made it.
///
/// # Errors
/// Those of opening a capture again, for the charts.
pub fn page(results: &Diagnosis, origin: String) -> io::Result<Page> {
    let groups = groups(results);
    let names: Vec<_> = results.captures.iter().map(|c| c.name.clone()).collect();
    let mut sections = vec![verdict(results, &groups)];
    sections.extend(
        results
            .captures
            .iter()
            .filter_map(timeline::of)
            .map(Section::Chart),
    );
    sections.extend(tables::totals(results).map(Section::Table));
    sections.extend(tables::connections(results));
    let possible = possible::article(results);
    if !groups.is_empty() || possible.is_some() {
        sections.push(part("Findings", "The costliest first."));
    }
    for (at, group) in groups.iter().take(GROUPS).enumerate() {
        let told = told(results, group);
        sections.push(Section::Article(group::article(at, group, told)?));
    }
    sections.extend(possible.map(Section::Article));
    if !groups.is_empty() {
        sections.push(part("How to make the change", ""));
        sections.push(Section::Article(recipe_article()));
    }
    Ok(Page {
        title: format!("tinygram diagnose: {}", names.join(", ")),
        lead: "Which connections stalled, what that cost, who can change it, and how.".into(),
        sections,
        origin,
    })
}

/// Returns a group's sentence, with its capture if there are several.
fn told(results: &Diagnosis, group: &Group<'_>) -> String {
    match results.captures.len() {
        0 | 1 => group.sentence(),
        _ => format!("{}: {}", group.capture.name, group.sentence()),
    }
}

/// Returns the findings, costliest first; or a sentence that there are none.
fn verdict(results: &Diagnosis, groups: &[Group<'_>]) -> Section {
    let mut sentences: Vec<_> = (groups.iter().take(SENTENCES))
        .map(|group| (Tone::Bad, told(results, group)))
        .collect();
    let outcome = outcome(results, true);
    sentences.extend(
        outcome
            .lines()
            .map(|it| (Tone::Plain, it.trim().to_owned())),
    );
    sentences.extend(asides(results).into_iter().map(|it| (Tone::Plain, it)));
    Section::Verdict(sentences)
}

/// Returns how to turn off Nagle's algorithm, and similar changes, in languages and systems. What is for one
/// program stands beside the findings that it can cure.
fn recipe_article() -> Article {
    let row = |it: &recipes::Recipe| {
        let text = code(it.text);
        [it.place, it.cure.name(), text.as_str()]
            .map(Entry::new)
            .into()
    };
    let table = Table {
        columns: ["where", "what it does", "how"].map(Column::words).into(),
        rows: recipes::general().map(row).collect(),
        ..Table::default()
    };
    Article {
        id: "recipes".into(),
        title: "By language and system".into(),
        lead: "Where many small writes follow each other, write once: TCP_NODELAY turns them into as many \
               packets."
            .into(),
        sections: vec![Section::Table(table)],
        ..Article::default()
    }
}

/// Returns text as code if it is to be typed somewhere; text that already marks its code stays as
/// it is.
fn code(text: &str) -> String {
    match text.contains('`') {
        true => text.to_owned(),
        false => format!("`{text}`"),
    }
}

fn part(title: &str, lead: &str) -> Section {
    Section::Part(Part {
        title: title.into(),
        lead: lead.into(),
    })
}

/// Returns a note about what a list leaves out.
fn left_out(all: usize, listed: usize, noun: &str) -> Vec<String> {
    match all.saturating_sub(listed) {
        0 => Vec::new(),
        more => vec![format!(
            "... and {}.",
            counted(more as u64, &format!("more {noun}"))
        )],
    }
}

/// The most sentences of the verdict.
const SENTENCES: usize = 5;
/// The most groups with an article of their own.
const GROUPS: usize = 20;
