//! `set`, `undo` and `changes`: there only if a person has allowed changes, and only what they have allowed.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::changes::{Changes, Wanted};
use crate::host::Host;
use crate::refusal::Refusal;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskedSet {
    /// Whose sockets: one of the targets that the server was started with.
    target: String,
    /// What they are to have: one of the settings that the server was started with, for example nodelay=on.
    setting: String,
    /// After how many seconds it is put back.
    seconds: f64,
    /// Connections that are opened meanwhile, too. They are counted when they come, not in the answer of set.
    #[serde(default)]
    new_connections_too: bool,
}

/// What was changed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ToldSet {
    sentence: String,
    /// The change's numbers, for undo; empty if it holds nothing. It also holds sockets that have the value by an earlier
    /// change of ours: they keep it until both are put back.
    changes: Vec<u64>,
    /// How many sockets the target has.
    sockets: u64,
    changed: u64,
    /// How many had the value already, by themselves or by an earlier change of ours.
    already: u64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskedUndo {
    /// A change's number.
    change: u64,
}

/// What was put back.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ToldUndo {
    sentence: String,
    put_back: u64,
    /// Sockets that were closed meanwhile.
    closed: u64,
    /// Sockets that were left alone: their program, or somebody else, has set them meanwhile.
    left_alone: u64,
    /// Sockets that the kernel refused to put back.
    refused: u64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskedList {}

/// What is in force.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ToldList {
    /// This server's changes, each with the numbers that the journal has given it until now.
    changes: Vec<InForce>,
    /// How many other changes the journal has in force: of other commands, or left by one that was killed. A person puts
    /// them back with tinygram set --undo.
    others: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InForce {
    numbers: Vec<u64>,
    target: String,
    setting: String,
    /// How long it was to last.
    seconds: f64,
    /// Whether connections that are opened meanwhile get it, too.
    new_connections_too: bool,
}

pub(crate) const SET: &str = "set";
pub(crate) const ABOUT_SET: &str = "Sets an option of a running target's live sockets for a while; the program is not touched. \
    It is put back after the seconds given, by undo, and when this server ends. Only the targets, settings and lengths that a \
    person has allowed are accepted. Ask whatif or cure_dry_run first, and the person whose service it is.";
pub(crate) const UNDO: &str = "undo";
pub(crate) const ABOUT_UNDO: &str = "Puts back a change that set has made.";
pub(crate) const LIST: &str = "changes";
pub(crate) const ABOUT_LIST: &str = "Lists the changes that are in force.";

pub(crate) async fn set(
    host: Arc<Host>,
    asked: AskedSet,
    stop: CancellationToken,
) -> Result<ToldSet, Refusal> {
    let changes = changes(&host)?;
    let lasting = Duration::try_from_secs_f64(asked.seconds).map_err(|_| {
        Refusal::asked(format!(
            "seconds {}: accepted are 0.5 to {}",
            asked.seconds,
            changes.longest().as_secs_f64()
        ))
    })?;
    let wanted = Wanted {
        target: asked.target,
        setting: asked.setting,
        lasting,
        follows: asked.new_connections_too,
    };
    let follows = wanted.follows;
    let (numbers, document) = changes.make(&host.program, wanted, &stop).await?;
    let document: Value = serde_json::from_str(&document).unwrap_or_default();
    let sum = |field: &str| {
        let settings = document["settings"].as_array().into_iter().flatten();
        settings
            .map(|setting| setting[field].as_u64().unwrap_or(0))
            .sum()
    };
    let (changed, already) = (sum("changed"), sum("already"));
    let both = match document["both_ends"].as_u64() {
        None | Some(0) => String::new(),
        Some(both) => {
            format!(" (both ends of {both} connections on this host are among the target's)")
        }
    };
    Ok(ToldSet {
        sentence: match numbers.is_empty() && !follows {
            true => "Nothing was changed: nothing had another value.".to_owned(),
            false => format!(
                "{}{both}{}; put back after {} s{}, or when this server ends.",
                match (changed, already) {
                    (0, 0) => "No socket had another value".to_owned(),
                    (0, _) => format!(
                        "No socket had another value; {already} have it already, and those that have it by an earlier change \
                         of ours keep it until this one is over, too"
                    ),
                    _ => format!("{changed} sockets changed"),
                },
                match follows {
                    true => "; connections that are opened meanwhile get the value, too",
                    false => "",
                },
                lasting.as_secs_f64(),
                match numbers.is_empty() {
                    true => "",
                    false => ", by undo",
                }
            ),
        },
        changes: numbers,
        sockets: document["sockets"].as_u64().unwrap_or(0),
        changed,
        already,
    })
}

pub(crate) async fn undo(
    host: Arc<Host>,
    asked: AskedUndo,
    _stop: CancellationToken,
) -> Result<ToldUndo, Refusal> {
    let document = changes(&host)?.undo(asked.change).await?;
    let document: Value = serde_json::from_str(&document).unwrap_or_default();
    let sum = |fields: &[&str]| -> u64 {
        let undone = document["undone"].as_array().into_iter().flatten();
        undone
            .flat_map(|one| fields.iter().map(|field| one[*field].as_u64().unwrap_or(0)))
            .sum()
    };
    let put_back = sum(&["put_back"]);
    Ok(ToldUndo {
        sentence: match document["undone"].is_array() {
            true => format!("Change {}: {put_back} put back.", asked.change),
            false => format!(
                "Change {}: the process that had it has ended without a word; tinygram set --list shows whether it is in force.",
                asked.change
            ),
        },
        put_back,
        closed: sum(&["closed"]),
        left_alone: sum(&[
            "left_with_another_value",
            "left_to_their_program",
            "left_to_a_later_change",
        ]),
        refused: sum(&["refused"]),
    })
}

pub(crate) async fn list(
    host: Arc<Host>,
    _asked: AskedList,
    stop: CancellationToken,
) -> Result<ToldList, Refusal> {
    let changes = changes(&host)?;
    let journal: Value = host.program.ask(changes.listing(), &stop).await?;
    let rows = journal["in_force"].as_array().into_iter().flatten();
    let rows = rows.filter_map(|row| Some((row["id"].as_u64()?, row["pid"].as_u64())));
    let rows: Vec<_> = rows.collect();
    let own = changes.in_force(&rows).await;
    let is_own = |number: &u64| own.iter().any(|one| one.numbers.contains(number));
    let others = rows.iter().filter(|(number, _)| !is_own(number)).count();
    let own = own.into_iter().map(|one| InForce {
        numbers: one.numbers,
        target: one.wanted.target,
        setting: one.wanted.setting,
        seconds: one.wanted.lasting.as_secs_f64(),
        new_connections_too: one.wanted.follows,
    });
    let own = own.collect();
    Ok(ToldList {
        changes: own,
        others,
    })
}

fn changes(host: &Host) -> Result<&Changes, Refusal> {
    host.changes.as_ref().ok_or_else(|| {
        Refusal::asked(
            "this server changes nothing: accepted once it is started with --allow-changes TARGET",
        )
    })
}
