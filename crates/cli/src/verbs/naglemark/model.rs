//! What the models assume beyond the plan, as it is echoed and shown.

use serde::Serialize;
use tinygram_papers::mogul::model::PARAMETERS;
use tinygram_report::{Align, Column, Entry, Table};

use super::args::Model;

/// One detail of the simulated hosts and media.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Detail {
    name: &'static str,
    value: &'static str,
    /// Whether the value was found by fitting the paper's tables; else its text says so.
    fitted: bool,
    /// What it was fitted to, or why the text cannot be followed.
    why: Option<&'static str>,
}

/// Every detail in which the models differ, as `model` has it; the most important first.
pub(crate) fn details(model: Model) -> Vec<Detail> {
    let detail = |parameter: &tinygram_papers::mogul::model::Parameter| match model {
        Model::Literal => Detail {
            name: parameter.name,
            value: parameter.literal,
            fitted: false,
            why: None,
        },
        Model::Fitted => Detail {
            name: parameter.name,
            value: parameter.fitted,
            fitted: true,
            why: Some(parameter.why),
        },
    };
    PARAMETERS.iter().map(detail).collect()
}

/// The details in a paragraph, for the end of a terminal's page.
pub(crate) fn paragraph(model: Model) -> Table {
    let details = details(model).into_iter();
    let listed: Vec<_> = details
        .map(|detail| format!("{}: {}", detail.name, detail.value))
        .collect();
    Table {
        title: match model {
            Model::Literal => "Model: literal, what the paper's text says".into(),
            Model::Fitted => "Model: fitted; these values were fitted to the paper's tables".into(),
        },
        notes: vec![format!("{}.", listed.join("; "))],
        ..Table::default()
    }
}

/// The details as a table, with the reason for each.
pub(crate) fn table(model: Model) -> Table {
    let (title, heads): (_, &[&str]) = match model {
        Model::Literal => (
            "The literal model: what the paper's text says",
            &["Detail", "Value"],
        ),
        Model::Fitted => (
            "The fitted model: each of these values was fitted to the paper's tables",
            &["Detail", "Fitted value", "Why"],
        ),
    };
    Table {
        title: title.into(),
        columns: heads
            .iter()
            .map(|&head| Column {
                group: String::new(),
                head: head.into(),
                align: Align::Left,
            })
            .collect(),
        rows: details(model)
            .into_iter()
            .map(|detail| {
                let cells = [Some(detail.name), Some(detail.value), detail.why];
                cells.into_iter().flatten().map(Entry::new).collect()
            })
            .collect(),
        notes: Vec::new(),
    }
}
