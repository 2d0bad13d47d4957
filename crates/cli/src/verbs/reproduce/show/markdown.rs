//! For a document: docs/REPRODUCTION.md is made so.

use super::super::bench::Reproduced;
use super::super::plan::Plan;
use super::{tables, text};

pub(super) fn results(plan: &Plan, reproduced: &[Reproduced]) -> String {
    let mut out = String::from("# The five papers, reproduced\n\n");
    out += &text::summary(plan, reproduced).to_markdown();
    for it in reproduced {
        out += &format!("\n## {}: {}\n", it.experiment.id, it.experiment.title);
        for table in tables::tables(&it.outcome) {
            out += "\n";
            out += &table.to_markdown();
        }
    }
    out
}
