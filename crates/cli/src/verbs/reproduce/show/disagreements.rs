//! The disagreements: each reason once, with the places, the values, the paper's and the
//! reproduced.

use tinygram_papers::Source;
use tinygram_papers::experiment::Row;
use tinygram_report::units::counted;
use tinygram_report::{Place, Reason, Reasons};

use super::super::done::Reproduced;
use super::words::{self, Disagreement};

/// Returns each reason with all values that are off for it; `None` if there are none.
pub(super) fn reasons(reproduced: &[Reproduced]) -> Option<Reasons> {
    let mut reasons: Vec<Vec<Disagreement<'_>>> = Vec::new();
    for off in words::disagreements(reproduced) {
        let same = reasons
            .iter()
            .position(|all| (all[0].status, all[0].why) == (off.status, off.why));
        match same {
            Some(at) => reasons[at].push(off),
            None => reasons.push(vec![off]),
        }
    }
    (!reasons.is_empty()).then(|| Reasons {
        title: "Values that do not agree".into(),
        heads: ["value", "paper", "ours"].map(String::from).into(),
        reasons: reasons.iter().map(|all| reason(all)).collect(),
    })
}

/// Returns the values that are off for one reason.
fn reason(all: &[Disagreement<'_>]) -> Reason {
    let count: usize = all.iter().map(|off| off.rows.len()).sum();
    let status = all[0].status;
    Reason {
        count: format!("{} {}", words::sign(status), counted(count as u64, "value")),
        tone: words::tone(status),
        why: all[0].why.unwrap_or("should agree").to_owned(),
        places: all.iter().map(place).collect(),
    }
}

fn place(off: &Disagreement<'_>) -> Place {
    let value = |row: &&Row| {
        let mut standard = match (row.source(), words::standard(row)) {
            (Some(Source::Printed), Some(printed)) => printed,
            (_, Some(ours)) => format!("none ({ours})"),
            (_, None) => "-".into(),
        };
        if off.why.is_none() {
            standard += &format!(" ({})", words::tolerance(row.tolerance));
        }
        vec![words::cell(row), standard, row.reproduced.to_string()]
    };
    Place {
        id: off.id.into(),
        values: off.rows.iter().map(value).collect(),
    }
}
