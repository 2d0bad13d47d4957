//! What `ps` is to show.

use std::path::PathBuf;
use std::time::Duration;

use tinygram_host::root::Root;
use tinygram_host::target::Target;

use super::Args;
use super::order::Sort;

pub(super) struct Plan {
    /// All connections if there is none.
    pub(super) target: Option<Target>,
    pub(super) root: Root,
    /// How often a page is shown; once if it is not said.
    pub(super) interval: Option<Duration>,
    pub(super) json: bool,
    /// Whether only what looks like trouble is shown.
    pub(super) trouble: bool,
    pub(super) sort: Sort,
    /// The most lines.
    pub(super) top: usize,
    /// Whether there is a line for each process, and not for each connection.
    pub(super) summary: bool,
    /// The folder of the journal of `set` and `cure`.
    pub(super) journal: PathBuf,
}

impl Plan {
    pub(super) fn of(args: &Args) -> Result<Self, String> {
        let (interval, target) = watched(args)?;
        let typed: Vec<String> = target.into_iter().collect();
        Ok(Self {
            target: args.places.targets(&typed)?.pop(),
            root: args.places.root()?,
            interval,
            json: args.json,
            trouble: args.trouble,
            sort: args.sort,
            top: args.top.map_or(usize::MAX, |top| top as usize),
            summary: args.summary,
            journal: args.journal.folder.clone(),
        })
    }
}

/// Parses the interval and the target: `--watch 5` means five seconds, `--watch nginx` that
/// program.
fn watched(args: &Args) -> Result<(Option<Duration>, Option<String>), String> {
    let Some(typed) = &args.watch else {
        return Ok((None, args.target.clone()));
    };
    let second = Duration::from_secs(1);
    match (typed.as_deref(), &args.target) {
        (None, target) => Ok((Some(second), target.clone())),
        (Some(text), target) => match (text.parse::<f64>(), target) {
            (Err(_), None) => Ok((Some(second), Some(text.to_owned()))),
            _ => parse_seconds(text)
                .map(|interval| (Some(interval), target.clone()))
                .map_err(|accepted| format!("--watch {text}: {accepted}")),
        },
    }
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .filter(|seconds| (0.1..=3600.0).contains(seconds))
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "accepted: seconds from 0.1 to 3600".to_owned())
}
