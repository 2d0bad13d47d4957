//! What does not agree, as a table: where, which value, the paper's, ours, and why.

use tinygram_report::{Align, Column, Entry, Table};

use super::super::bench::Reproduced;
use super::words;

/// A line for each value that is off; nothing where none is.
pub(super) fn table(reproduced: &[Reproduced]) -> Option<Table> {
    let mut rows = Vec::new();
    for off in words::disagreements(reproduced) {
        for row in &off.rows {
            let published = row
                .published
                .as_ref()
                .map_or_else(String::new, ToString::to_string);
            rows.push(vec![
                Entry::new(off.id),
                Entry::new(words::cell(row)),
                Entry::new(published),
                Entry {
                    text: format!("{} {}", row.reproduced, words::sign(off.status)),
                    tone: words::tone(off.status),
                    weight: 1.0,
                    ..Entry::default()
                },
                Entry::new(match off.why {
                    Some(why) => why.to_owned(),
                    None => format!("should agree ({})", words::tolerance(row.tolerance)),
                }),
            ]);
        }
    }
    let column = |head: &str| Column {
        group: String::new(),
        head: head.into(),
        align: Align::Left,
    };
    (!rows.is_empty()).then(|| Table {
        title: "What does not agree".into(),
        columns: ["where", "value", "paper", "ours", "why"]
            .map(column)
            .into(),
        rows,
        notes: Vec::new(),
    })
}
