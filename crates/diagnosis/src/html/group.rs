//! A group of findings as an article: evidence, advice, recipes, pictures, and the list of all.

use std::io;

use tinygram_diagnose::Side;
use tinygram_report::units::counted;
use tinygram_report::{Article, Badge, Chart, Column, Entry, Section, Table, Tone};

use super::time_sequence::{self, clock};
use super::{code, left_out};
use crate::audit;
use crate::group::{Group, seconds};
use crate::trace::{self, Excerpt};

/// Returns the article; `told` is its sentence.
pub(super) fn article(at: usize, group: &Group<'_>, told: String) -> io::Result<Article> {
    let typical = group.typical();
    let mut sections = vec![Section::List {
        title: String::new(),
        is_ordered: false,
        items: [typical.evidence(), vec![typical.mechanism().to_owned()]].concat(),
    }];
    sections.extend(advice(group));
    if group.kind.is_stall() {
        sections.extend(charts(group)?.into_iter().map(Section::Chart));
    }
    sections.extend(audit::section(typical));
    sections.push(every_finding(group));
    let note = group
        .filter_note()
        .map_or(String::new(), |it| format!(" ({it})"));
    let filter = format!("Wireshark: `{}`{note}", group.filter());
    sections.push(Section::Notes(vec![filter]));
    Ok(Article {
        id: format!("finding-{}", at + 1),
        title: format!("{} by the {}", group.kind.title(), typical.sender),
        lead: told,
        badges: badges(group),
        sections,
    })
}

fn badges(group: &Group<'_>) -> Vec<Badge> {
    let badge = |tone, text: String| Badge {
        meaning: text.clone(),
        text,
        tone,
    };
    let count = group.findings.len();
    match group.kind.is_stall() {
        true => vec![
            badge(Tone::Bad, counted(count as u64, "stall")),
            badge(Tone::Bad, seconds(group.cost_ns)),
            badge(Tone::Odd, group.surest().tier().to_string()),
        ],
        false => vec![badge(Tone::Odd, counted(count as u64, "connection"))],
    }
}

/// Returns what to change, what costs least first, and how to write it if that is known.
fn advice(group: &Group<'_>) -> Vec<Section> {
    let typical = group.typical();
    let advice = typical.advice();
    let steps = advice.steps.iter();
    let mut sections = vec![Section::List {
        title: "Change one of these, what costs least first:".into(),
        is_ordered: true,
        items: steps
            .map(|it| format!("{}: {}", it.side, it.text))
            .collect(),
    }];
    let mut notes: Vec<_> = advice
        .caution
        .map(|it| format!("{it}."))
        .into_iter()
        .collect();
    let port = group.connections[0].end(Side::Server).port;
    notes.extend(
        typical
            .recipes(port)
            .map(|it| format!("{} ({}): {}", it.place, it.cure.name(), code(it.text))),
    );
    if !notes.is_empty() {
        sections.push(Section::Notes(notes));
    }
    sections
}

/// Returns the typical stall, and the costliest if it is another one.
fn charts(group: &Group<'_>) -> io::Result<Vec<Chart>> {
    if group.capture.sources.is_empty() {
        return Ok(Vec::new());
    }
    let typical = group.typical();
    let costliest = group.findings.iter().copied().max_by_key(|it| it.cost_ns);
    let mut chosen = vec![("A typical stall", typical)];
    let other = costliest.filter(|it| it.start_ns != typical.start_ns);
    chosen.extend(other.map(|it| ("The costliest", it)));
    let (names, mut traces): (Vec<_>, Vec<_>) = chosen
        .into_iter()
        .filter_map(|(name, it)| Some((name, Excerpt::around(group.capture, it)?)))
        .unzip();
    trace::fill(group.capture, &mut traces)?;
    let charts = names.iter().zip(&traces);
    Ok(charts
        .filter_map(|(name, it)| time_sequence::of(name, it))
        .collect())
}

/// Returns all findings of a group, with their clock times (UTC), folded.
fn every_finding(group: &Group<'_>) -> Section {
    let row = |it: &&tinygram_diagnose::Finding| {
        let frames: Vec<_> = it.frames.iter().map(|m| m.frame.to_string()).collect();
        let entries = [
            clock(it.start_ns),
            it.cost().to_string(),
            it.connection.to_string(),
            frames.join(", "),
            it.tier().to_string(),
        ];
        entries.map(Entry::new).into()
    };
    let table = Table {
        columns: vec![
            Column::words("UTC"),
            Column::numbers("cost"),
            Column::numbers("connection"),
            Column::numbers("frames"),
            Column::numbers("how sure"),
        ],
        rows: group.findings.iter().take(LISTED).map(row).collect(),
        notes: left_out(group.findings.len(), LISTED, "finding"),
        ..Table::default()
    };
    Section::Folded {
        summary: format!("All {}", counted(group.findings.len() as u64, "finding")),
        sections: vec![Section::Table(table)],
    }
}

/// The most findings of a group that are listed.
const LISTED: usize = 2_000;
