//! `whatif`: what an option would do, before anything is changed.

use std::ffi::OsString;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::shared::{Interval, looked, target};
use crate::documents::{self, Foreseen};
use crate::host::Host;
use crate::refusal::Refusal;
use crate::run::{Call, Keep};
use crate::untrusted::name;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    /// On this host: a process (id or name), a port, a script, a unit, a container, or a control group. It must be
    /// answering requests meanwhile.
    target: Option<String>,
    /// Instead of a target: a capture beneath the server's root. It shows no writes, so often nothing can be told.
    capture: Option<String>,
    /// What the connections might have: nodelay=on, nodelay=off, delack-max=8ms, pingpong=3, quickack=on, run, writev. If
    /// there is none: every remedy at either end.
    #[serde(default)]
    changes: Vec<String>,
    /// How long to record the target, in seconds [5].
    seconds: Option<f64>,
    /// The next_cursor of an earlier answer: its further rows.
    #[expect(dead_code, reason = "read before the call")]
    cursor: Option<String>,
}

/// What each change would do.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Told {
    /// Whether anything can be told. If false, no figure means anything: neither that a change helps nor that it does not.
    can_tell: bool,
    sentence: String,
    connections: u64,
    looked_s: f64,
    /// What was seen; null if no turn was. A turn lasts from the client's first write to the last of the answer.
    seen: Option<Turns>,
    /// The present settings, played again.
    present: Option<Figures>,
    changes: Vec<Change>,
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Turns {
    turns: u64,
    p50_ms: f64,
    p99_ms: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Change {
    change: String,
    /// Whose setting it is.
    at: String,
    needs: String,
    /// `better`, `worse`, `no_change_shown`, or `cannot_tell`: the median of a turn's time.
    p50_becomes: Becomes,
    /// The same of the 99th percentile, which takes more turns to tell.
    p99_becomes: Becomes,
    #[serde(flatten)]
    figures: Figures,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Becomes {
    Better,
    Worse,
    NoChangeShown,
    CannotTell,
}

/// A figure is null where it cannot be told.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Figures {
    p50_ms: Option<Interval>,
    p99_ms: Option<Interval>,
    /// Data segments of both ends; `cure_dry_run` counts those of the end that stalls.
    segments_per_turn: Option<Interval>,
}

pub(crate) const NAME: &str = "whatif";
pub(crate) const LIST: &str = "changes";
pub(crate) const ABOUT: &str = "Records for some seconds what the programs of a target do, and plays it again under other \
    settings: what TCP_NODELAY or another remedy would do to the time of a turn and to the number of segments, with intervals. \
    Nothing is changed. It takes root or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN.";

pub(crate) async fn call(
    host: Arc<Host>,
    asked: Asked,
    stop: CancellationToken,
) -> Result<Told, Refusal> {
    let mut words: Vec<OsString> = asked
        .changes
        .iter()
        .map(|word| change(word))
        .collect::<Result<_, _>>()?;
    let mut options = vec!["--json".into()];
    let file = match (&asked.target, &asked.capture) {
        (Some(typed), None) => {
            options.extend([
                "--look".into(),
                looked(asked.seconds, host.program.longest())?,
            ]);
            words.push(target(typed)?);
            None
        }
        (None, Some(capture)) if asked.seconds.is_none() => Some(host.roots.open(capture)?),
        _ => {
            return Err(Refusal::asked(
                "accepted are a target on this host (with seconds), or a capture, not both",
            ));
        }
    };
    let call = Call {
        verb: "whatif",
        options,
        words,
        file: file.as_ref(),
        keep: Keep::All,
        instead: "ask for fewer seconds, or for the changes that matter",
    };
    let seen: Foreseen = host.program.ask(call, &stop).await?;
    Ok(told(&seen))
}

/// Reads a change: it becomes a word of a command, where it must be no option and no target.
fn change(typed: &str) -> Result<OsString, Refusal> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let is_setting = typed.split_once('=').is_some_and(|(name, value)| {
        name.starts_with(|letter: char| letter.is_ascii_lowercase())
            && name.chars().all(plain)
            && !value.is_empty()
            && value.chars().all(plain)
    });
    match is_setting || ["run", "writev"].contains(&typed) {
        true => Ok(typed.into()),
        false => Err(Refusal::asked(format!(
            "changes {}: accepted are nodelay=on|off, delack-max=8ms, pingpong=3, quickack=on, run, writev",
            name(typed)
        ))),
    }
}

fn told(seen: &Foreseen) -> Told {
    let figures = |figures: &Figures| {
        figures.p50_ms.is_some() || figures.p99_ms.is_some() || figures.segments_per_turn.is_some()
    };
    let present = seen.present.as_ref().map(Figures::from);
    let can_tell = present.as_ref().is_some_and(figures);
    let turns = seen.seen.as_ref().map_or(0, |seen| seen.turns);
    let sentence = match (seen.connections, turns, seen.guesses_that_agree) {
        (0, ..) => "Cannot tell: no connection was seen.".to_owned(),
        (_, 0, _) => {
            "Cannot tell: no turn was seen; the target must be answering requests meanwhile."
                .to_owned()
        }
        _ if can_tell => seen
            .answer
            .clone()
            .unwrap_or_else(|| "Cannot tell: the program gave figures and no answer.".to_owned()),
        (_, turns, 0) => format!(
            "Cannot tell: {turns} turns were seen, but played again under the present settings they take another time than was seen."
        ),
        (_, turns, _) => format!("Cannot tell: {turns} turns are too few."),
    };
    Told {
        can_tell,
        sentence,
        connections: seen.connections,
        looked_s: seen.looked_s,
        seen: seen.seen.as_ref().map(|seen| Turns {
            turns: seen.turns,
            p50_ms: seen.p50_ms,
            p99_ms: seen.p99_ms,
        }),
        present,
        changes: seen.changes.iter().map(row).collect(),
        next_cursor: None,
    }
}

fn row(change: &documents::Change) -> Change {
    Change {
        change: change.change.clone(),
        at: change.at.clone(),
        needs: change.needs.clone(),
        p50_becomes: becomes(change.figures.p50_change_ms),
        p99_becomes: becomes(change.figures.p99_change_ms),
        figures: Figures::from(&change.figures),
    }
}

fn becomes(change: Option<documents::Interval>) -> Becomes {
    match change {
        None => Becomes::CannotTell,
        Some(change) if change.high < 0.0 => Becomes::Better,
        Some(change) if change.low > 0.0 => Becomes::Worse,
        Some(_) => Becomes::NoChangeShown,
    }
}

impl From<&documents::Figures> for Figures {
    fn from(figures: &documents::Figures) -> Self {
        Self {
            p50_ms: figures.p50_ms.map(Interval::from),
            p99_ms: figures.p99_ms.map(Interval::from),
            segments_per_turn: figures.segments_per_turn.map(Interval::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_no_option_and_no_target() {
        for typed in ["nodelay=on", "delack-max=8ms", "run", "writev"] {
            assert!(change(typed).is_ok(), "{typed}");
        }
        for typed in [
            "",
            "nginx",
            "--policy=off",
            "-x=1",
            "=on",
            "a=",
            "a=b c",
            "a=/etc/passwd",
            "8080",
        ] {
            assert!(change(typed).is_err(), "{typed}");
        }
    }
}
