//! How a finding was arrived at: the checks that were asked, what each saw, and which bounded it.

use std::fmt::Write as _;

use serde::Serialize;
use tinygram_diagnose::{Asked, Check, Finding, Saw};
use tinygram_report::Section;

use crate::results::Diagnosis;

/// A check that was asked about a finding, in JSON.
#[derive(Serialize)]
pub(crate) struct CheckRow {
    check: &'static str,
    passed: bool,
    /// The measure and its bound, if it has one.
    #[serde(skip_serializing_if = "is_nothing", serialize_with = "as_text")]
    saw: Saw,
}

fn is_nothing(saw: &Saw) -> bool {
    *saw == Saw::Nothing
}

/// Writes what a check saw without a text in between: there are a dozen of them in each finding.
fn as_text<S: serde::Serializer>(saw: &Saw, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(saw)
}

impl CheckRow {
    pub(crate) fn all(finding: &Finding) -> Vec<Self> {
        finding.checks.iter().map(Self::of).collect()
    }

    fn of(asked: &Asked) -> Self {
        Self {
            check: asked.check.name,
            passed: asked.passed,
            saw: asked.saw,
        }
    }
}

/// What a check is, once for all findings.
#[derive(Serialize)]
pub(crate) struct CheckKind {
    check: &'static str,
    asks: &'static str,
    passed: &'static str,
    failed: &'static str,
    effect: &'static str,
    origin: String,
}

/// Returns all checks.
pub(crate) fn kinds() -> Vec<CheckKind> {
    let kind = |check: &'static Check| CheckKind {
        check: check.name,
        asks: check.asks,
        passed: check.passed,
        failed: check.failed,
        effect: check.effect.name(),
        origin: check.origin.to_string(),
    };
    tinygram_diagnose::checks().map(kind).collect()
}

/// Returns the name of the check that keeps a finding from being certain.
pub(crate) fn bounded_by(finding: &Finding) -> Option<&'static str> {
    finding.bounded_by().map(|asked| asked.check.name)
}

/// Writes the checks of a finding, a line each.
pub fn write(out: &mut String, finding: &Finding) {
    let _ = writeln!(out, "  Asked:");
    for asked in &finding.checks {
        let _ = writeln!(out, "    {}", line(asked));
    }
    if let Some(bound) = finding.bounded_by() {
        let tier = finding.tier();
        let _ = writeln!(out, "    So {tier} and no more, because {bound}.");
    }
}

/// Returns the checks of a finding for the page, folded.
pub(crate) fn section(finding: &Finding) -> Option<Section> {
    let items: Vec<_> = finding.checks.iter().map(line).collect();
    (!items.is_empty()).then(|| Section::Folded {
        summary: format!("What was asked before accusing ({} checks)", items.len()),
        sections: vec![Section::List {
            title: String::new(),
            is_ordered: false,
            items,
        }],
    })
}

/// Returns the story of the frame that was asked about.
pub fn story(frame: u64, results: &Diagnosis) -> String {
    let mut out = format!("Frame {frame}\n");
    for capture in &results.captures {
        for line in &capture.report.explanation {
            let _ = writeln!(out, "  {line}");
        }
    }
    out
}

fn line(asked: &Asked) -> String {
    let answer = if asked.passed { "passed" } else { "not passed" };
    format!("{}: {answer}, {asked}", asked.check.name)
}
