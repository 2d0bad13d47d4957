//! What `cure` is to do.

use std::path::PathBuf;
use std::time::Duration;

use tinygram_host::hand::Setting;
use tinygram_host::root::Root;
use tinygram_host::scope::Scope;
use tinygram_host::target::Target;
use tinygram_remedy::proof::Demand;
use tinygram_remedy::remedy::Remedy;
use tinygram_remedy::split::Wanted;

use super::{Args, SplitBy};

pub(super) struct Plan {
    pub(super) targets: Vec<Target>,
    /// Where the names of pods and containers are.
    pub(super) root: Root,
    /// The processes that listen together with one that is meant.
    pub(super) partners: Vec<Target>,
    pub(super) look: Duration,
    pub(super) is_dry: bool,
    /// Whether descriptors of the program may be copied.
    pub(super) uncorks: bool,
    /// How long what is kept stays, before everything is tried anew.
    pub(super) watch: Option<Duration>,
    pub(super) demand: Demand,
    pub(super) split: Wanted,
    pub(super) seed: u64,
    pub(super) as_json: bool,
    pub(super) journal: PathBuf,
    pub(super) instead: Option<Setting>,
    /// The command, as the journal has it.
    pub(super) command: String,
}

impl Plan {
    pub(super) fn of(args: &Args) -> Result<Self, String> {
        let seed = args.seed.unwrap_or_else(drawn);
        let instead = args.instead.as_deref().map(Setting::parse).transpose()?;
        let targets = args.places.targets(&args.targets)?;
        let words: Vec<_> = targets.iter().map(ToString::to_string).collect();
        let words = words.join(" ");
        let accepted = LEAST_WATCH..=MOST_WATCH;
        if let Some(length) = args.watch.filter(|length| !accepted.contains(length)) {
            return Err(format!(
                "--watch {length:?}: accepted are lengths from 1m to 24h"
            ));
        }
        Ok(Self {
            targets,
            root: args.places.root()?,
            partners: Vec::new(),
            look: args.look,
            is_dry: args.dry_run,
            uncorks: args.uncork,
            watch: args.watch,
            demand: Demand {
                most_extra_segments: f64::from(args.max_extra_segments) / 100.0,
            },
            split: args.split.into(),
            seed,
            as_json: args.json,
            journal: args.journal.folder.clone(),
            instead,
            command: format!("cure {words} --seed {seed}"),
        })
    }
}

impl Plan {
    /// Returns whether a remedy is tried: it touches nobody else, and what it takes was asked for.
    pub(super) fn may_try(&self, remedy: &Remedy) -> bool {
        remedy.others == 0 && (self.uncorks || !remedy.takes_descriptors())
    }

    /// Returns whose connections are meant.
    pub(super) fn scope(&self) -> Scope {
        let all = self.targets.iter().chain(&self.partners);
        Scope {
            targets: all.cloned().collect(),
            root: self.root.clone(),
            ..Scope::default()
        }
    }
}

impl From<SplitBy> for Wanted {
    fn from(by: SplitBy) -> Self {
        match by {
            SplitBy::Auto => Self::Fitting,
            SplitBy::Turns => Self::Turns,
            SplitBy::Halves => Self::Halves,
        }
    }
}

/// Returns a number that nobody foresees.
fn drawn() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // Keyed from the system's randomness.
    std::collections::hash_map::RandomState::new()
        .build_hasher()
        .finish()
        >> 16
}

/// Each trial lets some stalls happen again.
const LEAST_WATCH: Duration = Duration::from_mins(1);
pub(super) const MOST_WATCH: Duration = Duration::from_hours(24);
