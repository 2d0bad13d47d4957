//! Shows what was looked at, a page at a time: for people on a terminal or in a file, or as a document.

use std::io::IsTerminal;

use serde::Serialize;

use super::document::Document;
use super::done::Looked;
use super::plan::Plan;
use super::{summary, text};
use crate::glossary::Glosses;
use crate::outcome::Failure;
use crate::terminal;

pub(super) fn show(plan: &Plan, looked: &Looked) -> Result<(), Failure> {
    let text = match plan.json {
        true => document(plan, looked),
        false => {
            // Only a terminal is cleared; a file keeps what was written to it.
            let clear = plan.interval.is_some() && std::io::stdout().is_terminal();
            let clear = if clear { "\x1b[H\x1b[2J" } else { "" };
            format!("{clear}{}", page(looked))
        }
    };
    // Printed raw: the text has no styles, and searching ten thousand connections for styles would
    // take longer than everything else.
    terminal::print_raw(text.as_bytes())?;
    for line in text::remarks(&looked.table, plan.target.as_ref(), looked.seen) {
        terminal::remark(&format!("tinygram ps: {line}"));
    }
    Ok(())
}

fn document(plan: &Plan, looked: &Looked) -> String {
    let target = plan.target.as_ref().map(ToString::to_string);
    let processes = looked.processes.as_deref();
    json(&Document::of(
        &looked.table,
        processes,
        target.as_deref(),
        looked.seen,
    ))
}

/// Returns the table, and on a terminal what its words mean.
fn page(looked: &Looked) -> String {
    let width = terminal::width();
    let mut text = match &looked.processes {
        Some(processes) => summary::text(processes, width),
        None => text::text(&looked.table, width),
    };
    if width < usize::MAX {
        for gloss in Glosses::default().new_in(&text) {
            text += &format!("{gloss}\n");
        }
        text = terminal::broken(&text, width);
    }
    text
}

fn json(document: &impl Serialize) -> String {
    serde_json::to_string(document).expect("plain data") + "\n"
}
