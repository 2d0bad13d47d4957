//! What `whatif` is to do.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_whatif::change::Change;

use super::Args;
use super::live::{self, Live};
use crate::flags::Places;

/// Where the conversations are from.
pub(super) enum From {
    /// The connections of these targets.
    Live(Live),
    /// A capture.
    Capture(PathBuf),
}

pub(super) struct Plan {
    pub(super) from: From,
    /// What is asked for; every remedy if there is nothing.
    pub(super) changes: Vec<Change>,
    pub(super) look: Duration,
    pub(super) seed: u64,
    /// Leave out the other ends, as if they were on other hosts.
    pub(super) one_end: bool,
    pub(super) as_json: bool,
}

impl Plan {
    pub(super) fn of(args: &Args) -> Result<Self, String> {
        let is_change =
            |word: &&String| word.contains('=') || ["run", "writev"].contains(&word.as_str());
        let (changes, targets): (Vec<_>, Vec<_>) = args.words.iter().partition(is_change);
        let mut all = Vec::new();
        for word in changes {
            all.push(Change::parse(word, live::tick())?);
        }
        for name in &args.policy {
            let policy: SendPolicy = name
                .parse()
                .map_err(|unknown| format!("--policy {unknown}"))?;
            all.push(Change::Policy(policy));
        }
        let from = From::of(&targets, &args.places)?;
        live::check(&args.places)?;
        Ok(Self {
            from,
            changes: all,
            look: args.look,
            seed: args.seed,
            one_end: args.one_end,
            as_json: args.json,
        })
    }
}

impl From {
    fn of(words: &[&String], places: &Places) -> Result<Self, String> {
        let captures: Vec<_> = words.iter().filter(|word| is_capture(word)).collect();
        match (captures[..].first(), words.len()) {
            (None, 0) if places.is_given() => Ok(Self::Live(Live::of(&[], places)?)),
            (None, 0) => Err(
                "no target: accepted are a process, a unit, a container, a port, a control group, or a capture's file"
                    .to_owned(),
            ),
            (None, _) => {
                let targets: Vec<String> = words.iter().map(ToString::to_string).collect();
                Ok(Self::Live(Live::of(&targets, places)?))
            }
            (Some(path), 1) if Path::new(path).is_file() => Ok(Self::Capture(path.into())),
            (Some(path), 1) => Err(format!("{path}: there is no such file")),
            _ => Err("several captures, or a capture and a target: accepted is one capture, or targets".to_owned()),
        }
    }

    /// Returns what it is called.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Live(live) => live.name(),
            Self::Capture(path) => path.display().to_string(),
        }
    }
}

fn is_capture(word: &str) -> bool {
    let endings = ["pcap", "pcapng", "cap", "gz", "zst"];
    let ending = Path::new(word)
        .extension()
        .and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| endings.contains(&ending)) || Path::new(word).is_file()
}
