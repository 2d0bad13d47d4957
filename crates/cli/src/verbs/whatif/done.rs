//! Records, plays again, and predicts.

use std::fs::File;
use std::path::Path;

use tinygram_whatif::capture;
use tinygram_whatif::forecast::{Forecast, forecast};
use tinygram_whatif::offer::AskedChanges;
use tinygram_whatif::prediction::Service;

use super::plan::{From, Plan};
use super::seen::Seen;
use crate::outcome::{Done, Failure};
use crate::terminal::remark;
use tinygram_report::units::counted;

/// What was seen, and what is expected.
pub(super) struct Foreseen {
    /// How many connections the targets have, how many were recorded, and of how many there are turns.
    pub(super) found: usize,
    pub(super) recorded: usize,
    pub(super) played: usize,
    pub(super) lost: u64,
    pub(super) seconds: f64,
    pub(super) forecast: Option<Forecast>,
}

impl Foreseen {
    pub(super) fn outcome(&self) -> Done {
        match () {
            () if self.found == 0 => Done::Found,
            () if self.forecast.as_ref().is_some_and(Forecast::tells) => Done::Well,
            () => Done::Unknown,
        }
    }
}

pub(super) fn foresee(plan: &Plan) -> Result<Foreseen, Failure> {
    let seen = match &plan.from {
        From::Live(live) => live.record(plan.look, plan.seed, plan.one_end)?,
        From::Capture(path) => captured(plan, path)?,
    };
    let first = seen.services.first();
    Ok(Foreseen {
        found: seen.found,
        recorded: seen.recorded,
        played: first.map_or(0, |service| service.subjects.len()),
        lost: seen.lost,
        seconds: seen.seconds,
        forecast: play(plan, &seen.services),
    })
}

fn captured(plan: &Plan, path: &Path) -> Result<Seen, Failure> {
    let captured = capture::read(|| File::open(path), plan.seed)
        .map_err(|error| Failure::Input(format!("{} {error}", path.display())))?;
    Ok(Seen {
        found: captured.connections,
        recorded: captured.connections,
        lost: 0,
        seconds: captured.seconds,
        services: captured.services,
    })
}

fn play(plan: &Plan, services: &[Service]) -> Option<Forecast> {
    let played = services.first().map_or(0, |service| service.subjects.len());
    if played > 0 {
        remark(&format!(
            "tinygram whatif: playing {} again",
            counted(played as u64, "connection")
        ));
    }
    let asked = AskedChanges {
        changes: &plan.changes,
        by_target: matches!(plan.from, From::Live(_)),
    };
    forecast(services, asked)
}
