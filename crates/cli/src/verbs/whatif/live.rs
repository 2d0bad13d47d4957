//! Live connections: which are meant, and what their programs do, as Linux's kernel tells it.

use std::time::Duration;

use tinygram_host::clock;
use tinygram_host::recorder::Recorder;
use tinygram_host::root::Root;
use tinygram_host::scope::Scope;
use tinygram_host::target::Target;
use tinygram_remedy::foresee::Wanted;
use tinygram_remedy::foresee::recording::{Ask, record};

use super::seen::Seen;
use crate::flags::Places;
use crate::hand::{self, walking};
use crate::outcome::Failure;
use crate::stop;
use crate::terminal::remark;

/// The connections of targets.
pub(super) struct Live {
    targets: Vec<Target>,
    /// Where the names of pods and containers are.
    root: Root,
}

impl Live {
    /// Returns the connections of the targets that were typed, within these places.
    pub(super) fn of(typed: &[String], places: &Places) -> Result<Self, String> {
        Ok(Self {
            targets: places.targets(typed)?,
            root: places.root()?,
        })
    }

    /// Returns what they are called.
    pub(super) fn name(&self) -> String {
        let targets: Vec<_> = self.targets.iter().map(ToString::to_string).collect();
        targets.join(", ")
    }

    /// Records what the programs do on some of them, drawn from the seed, for a while.
    pub(super) fn record(&self, look: Duration, seed: u64, one_end: bool) -> Result<Seen, Failure> {
        // Whoever may not open these does not see all names either.
        let mut hand = hand::open()?;
        let mut recorder =
            Recorder::open().map_err(|lacking| Failure::Input(lacking.to_string()))?;
        hand::refuse_nobody(&self.targets, &self.root)?;
        let scope = Scope {
            targets: self.targets.clone(),
            root: self.root.clone(),
            ..Scope::default()
        };
        remark(&format!("tinygram whatif: recording for {look:?}"));
        let ask = Ask {
            scope: &scope,
            one_end,
            seed,
            sockets: MOST_SOCKETS,
            steps: MOST_STEPS,
        };
        let recorded = record(&mut hand, &mut recorder, ask, look, stop::is_asked);
        let recorded = recorded.map_err(walking)?;
        drop(recorder);
        let services = recorded.services(Wanted {
            seed,
            is_meant: &|end| end.is_meant,
            is_measured: None,
        });
        Ok(Seen {
            found: recorded.found,
            recorded: recorded.connections.len(),
            lost: recorded.lost,
            seconds: recorded.seconds,
            services,
        })
    }
}

/// Checks the places, also where a capture is read.
pub(super) fn check(places: &Places) -> Result<(), String> {
    places.root().map(drop)
}

/// Returns the length of a tick of this kernel's clock.
pub(super) fn tick() -> Duration {
    clock::tick()
}

/// How many sockets are recorded.
const MOST_SOCKETS: usize = 128;
/// How many steps of each: 72 octets each, so 72 MiB in all.
const MOST_STEPS: u32 = 8192;
