//! The possible findings, which accuse nobody.

use tinygram_diagnose::Finding;
use tinygram_report::{Article, Badge, Column, Entry, Section, Table, Tone};

use super::left_out;
use super::time_sequence::clock;
use crate::capture::Capture;
use crate::results::Diagnosis;
use tinygram_report::units::counted;

/// Returns the possible findings with their frames; `None` if there are none.
pub(super) fn article(results: &Diagnosis) -> Option<Article> {
    let found: Vec<_> = (results.findings())
        .filter(|(_, finding)| !finding.tier().accuses())
        .collect();
    if found.is_empty() {
        return None;
    }
    let are_many = results.captures.len() > 1;
    let mut columns = vec![
        Column::words("UTC"),
        Column::numbers("cost"),
        Column::numbers("connection"),
        Column::numbers("frames"),
        Column::words("what"),
    ];
    if are_many {
        columns.insert(0, Column::words("capture"));
    }
    let table = Table {
        columns,
        rows: (found.iter().take(LISTED))
            .map(|(capture, finding)| row(are_many.then_some(*capture), finding))
            .collect(),
        notes: left_out(found.len(), LISTED, "finding"),
        ..Table::default()
    };
    Some(Article {
        id: "possible".into(),
        title: "Possible, and not counted".into(),
        lead: "What fits a stall, and what a check keeps from being counted: another cause is not excluded.".into(),
        badges: vec![Badge {
            text: found.len().to_string(),
            meaning: counted(found.len() as u64, "finding"),
            tone: Tone::Odd,
        }],
        sections: vec![Section::Table(table)],
    })
}

fn row(capture: Option<&Capture>, finding: &Finding) -> Vec<Entry> {
    let frames: Vec<_> = finding.frames.iter().map(|m| m.frame.to_string()).collect();
    let cells = [
        clock(finding.start_ns),
        finding.cost().to_string(),
        finding.connection.to_string(),
        frames.join(", "),
        format!(
            "{}; the {} {}",
            finding.kind,
            finding.sender,
            finding.habit()
        ),
    ];
    let named = capture.map(|capture| capture.name.clone());
    named.into_iter().chain(cells).map(Entry::new).collect()
}

/// The most findings that are listed.
const LISTED: usize = 100;
