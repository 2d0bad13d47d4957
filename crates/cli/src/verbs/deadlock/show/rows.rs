//! The results as rows of book/src/reference/tables.md: the given buffers, then each cure.

use tinygram_papers::moldeklev::cures::{BufferCure, Examined};
use tinygram_tables::{Rows, Value, schemas};

use super::super::done::Findings;
use super::{area, class};

pub(in super::super) fn rows(findings: &Findings) -> Rows {
    let mut rows = Rows::of(&schemas::DEADLOCK);
    rows.push(row(None, &findings.asked));
    for (cure, examined) in &findings.cures {
        rows.push(row(Some(cure), examined));
    }
    rows
}

fn row(cure: Option<&BufferCure>, examined: &Examined) -> [(&'static str, Value); 14] {
    let deadlock = examined.prediction.deadlock.as_ref();
    let simulated = &examined.simulated;
    [
        ("change", cure.map(|it| it.what.clone()).into()),
        ("source", cure.map(|it| it.source).into()),
        ("works", Findings::works(examined).into()),
        ("area", area(examined.prediction.area).into()),
        ("predicted", deadlock.is_some().into()),
        ("class", deadlock.map(|it| class(it.class)).into()),
        ("sent_bytes", deadlock.map(|it| it.sent).into()),
        ("buffered_bytes", deadlock.map(|it| it.buffered).into()),
        ("bytes_per_timer", deadlock.map(|it| it.per_timer).into()),
        (
            "predicted_mbit_per_s",
            deadlock.map(|it| it.mbit_per_s).into(),
        ),
        ("runs", simulated.runs.into()),
        ("deadlocked", (simulated.deadlocks.len() as u64).into()),
        ("simulated_mbit_per_s", simulated.mbit_per_s.into()),
        ("waiting_percent", (100.0 * simulated.waiting).into()),
    ]
}
