//! What does not agree: each reason once, and behind it where, which value, the paper's and ours.

use tinygram_papers::experiment::Row;
use tinygram_report::{Reason, Reasons};

use super::super::bench::Reproduced;
use super::words;

/// A reason for each group of values that are off for it; nothing where none is.
pub(super) fn reasons(reproduced: &[Reproduced]) -> Option<Reasons> {
    let reasons: Vec<_> = words::disagreements(reproduced)
        .iter()
        .map(reason)
        .collect();
    (!reasons.is_empty()).then(|| Reasons {
        title: "What does not agree".into(),
        heads: ["value", "paper", "ours"].map(String::from).into(),
        reasons,
    })
}

fn reason(off: &words::Disagreement<'_>) -> Reason {
    let value = |row: &&Row| {
        let mut standard = words::standard(row).unwrap_or_else(|| "-".into());
        if off.why.is_none() {
            standard += &format!(" ({})", words::tolerance(row.tolerance));
        }
        vec![words::cell(row), standard, row.reproduced.to_string()]
    };
    Reason {
        place: off.id.into(),
        count: format!(
            "{} {}",
            words::sign(off.status),
            words::counted(off.rows.len(), "value")
        ),
        tone: words::tone(off.status),
        why: off.why.unwrap_or("should agree").to_owned(),
        values: off.rows.iter().map(value).collect(),
    }
}
