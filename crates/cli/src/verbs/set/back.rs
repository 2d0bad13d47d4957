//! The sentences and the JSON documents of `set --undo` and `set --list`.

use std::fmt::Write;
use std::path::PathBuf;

use serde::Serialize;
use tinygram_host::text::plain;
use tinygram_remedy::apply::Undone;
use tinygram_remedy::journal::{Entry, Journal, JournalPlace};
use tinygram_report::units::counted;
use tinygram_report::{Document, json};

use crate::amount::moment;

/// Says what was put back; `saw` says whether what programs set meanwhile was seen.
pub(super) fn undone(all: &[(u64, Undone)], saw: bool, as_json: bool) -> String {
    if as_json {
        let rows = all.iter().map(|(id, undone)| UndoneRow {
            id: *id,
            put_back: undone.back,
            left_with_another_value: undone.differ,
            left_to_their_program: saw.then_some(undone.gave_way.len()),
            closed: undone.gone,
            refused: undone.refused,
            left_to_a_later_change: undone.left_to_later,
        });
        return json(&Document {
            schema: "tinygram.set/1",
            parameters: NoParameters {},
            results: PutBack {
                undone: rows.collect(),
            },
        });
    }
    let mut text = String::new();
    for (id, undone) in all {
        let _ = write!(text, "Change {id}: {} put back", undone.back);
        for (count, words) in [
            (
                undone.differ,
                "left alone, for they have another value by now",
            ),
            (
                undone.gave_way.len(),
                "left alone, for their program has set them meanwhile",
            ),
            (
                undone.left_to_later,
                "left to a later change, which puts them back",
            ),
            (undone.gone, "closed"),
            (undone.refused, "refused by the kernel"),
        ] {
            if count > 0 {
                let _ = write!(text, "; {count} {words}");
            }
        }
        text.push('\n');
    }
    match saw {
        true => text,
        false => text + "Whether a program has set an equal value since cannot be told.\n",
    }
}

/// Shows the changes that are in force; without a journal there are none.
/// `groups` are the control groups that killed runs left.
pub(super) fn listed(journal: Option<&Journal>, groups: &[PathBuf], as_json: bool) -> String {
    let rows = journal.into_iter().flat_map(Journal::in_force);
    let rows: Vec<_> = rows.map(|(id, entry)| listed_row(id, entry)).collect();
    if as_json {
        return json(&Document {
            schema: "tinygram.set/1",
            parameters: NoParameters {},
            results: InForce {
                in_force: rows,
                abandoned_control_groups: groups,
            },
        });
    }
    let mut text = String::new();
    for row in rows {
        let _ = writeln!(
            text,
            "{}: {}={} {} since {}, by process {} of user {}{}{}: tinygram {}",
            row.id,
            row.option,
            row.value,
            row.place,
            row.since,
            row.pid,
            row.uid,
            if row.state.is_empty() { "" } else { ", " },
            row.state,
            row.command
        );
    }
    for group in groups {
        let _ = writeln!(
            text,
            "{}: an empty control group that a killed run --cgroup left, without effect; tinygram set --undo removes it",
            group.display()
        );
    }
    match text.is_empty() {
        true => "No change is in force.\n".to_owned(),
        false => text,
    }
}

fn listed_row(id: u64, entry: &Entry) -> ListedRow {
    let about = &entry.about;
    let is_attended = about.is_temporary && entry.is_attended();
    let until = entry.until.filter(|_| is_attended).map(moment);
    ListedRow {
        id,
        option: about.option.name(),
        value: about.option.show(&about.to),
        sockets: entry.sockets.len(),
        place: match &entry.knob {
            None => format!("on {}", counted(entry.sockets.len() as u64, "socket")),
            Some((JournalPlace { route: None, .. }, _)) => {
                format!(
                    "in network namespace {}, for all its connections,",
                    about.netns
                )
            }
            Some((
                JournalPlace {
                    route: Some(route), ..
                },
                _,
            )) => format!("for the route {route}, for all its connections,"),
        },
        network_namespace: about.netns,
        since: moment(about.at),
        pid: about.who.pid,
        uid: about.who.uid,
        state: match (about.is_temporary, &until) {
            (false, _) if entry.knob.is_some() => "until it is put back".to_owned(),
            (false, _) => String::new(),
            (true, Some(until)) => format!("which puts it back at {until}"),
            (true, None) if is_attended => "which puts it back when it ends".to_owned(),
            (true, None) => "which was to put it back and has ended".to_owned(),
        },
        until,
        command: plain(&about.why),
    }
}

#[derive(Serialize)]
struct PutBack {
    undone: Vec<UndoneRow>,
}

#[derive(Serialize)]
struct InForce<'a> {
    in_force: Vec<ListedRow>,
    /// What killed runs with `--cgroup` left; `--undo` removes them.
    abandoned_control_groups: &'a [PathBuf],
}

#[derive(Serialize)]
struct UndoneRow {
    id: u64,
    put_back: usize,
    left_with_another_value: usize,
    /// `None`: what programs set meanwhile was not seen.
    left_to_their_program: Option<usize>,
    closed: usize,
    refused: usize,
    left_to_a_later_change: usize,
}

#[derive(Serialize)]
struct ListedRow {
    id: u64,
    option: &'static str,
    value: String,
    sockets: usize,
    #[serde(rename = "where")]
    place: String,
    network_namespace: u32,
    since: String,
    pid: u32,
    uid: u32,
    /// When that process puts it back, if a time is set.
    until: Option<String>,
    state: String,
    command: String,
}

#[derive(Serialize)]
struct NoParameters {}
