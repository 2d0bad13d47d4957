//! One page: every table side by side, traces, plots, and what stands behind each.

use tinygram_report::{Page, Section};

use super::super::bench::Reproduced;
use super::super::plan::Plan;
use super::{tables, text};

pub(in super::super) fn page(plan: &Plan, reproduced: &[Reproduced]) -> Page {
    let mut sections = vec![Section::Table(text::summary(plan, reproduced))];
    for it in reproduced {
        for mut table in tables::tables(&it.outcome) {
            table.title = format!("{} {}", it.experiment.title, table.title);
            sections.push(Section::Table(table));
        }
    }
    Page {
        title: "The five papers, reproduced".into(),
        lead: String::new(),
        sections,
    }
}
