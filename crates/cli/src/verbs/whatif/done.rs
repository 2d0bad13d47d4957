//! Records, plays again, and predicts.

use std::fs::File;
use std::path::Path;

use tinygram_host::recorder::Recorder;
use tinygram_host::scope::Scope;
use tinygram_host::target::Target;
use tinygram_remedy::foresee::Wanted;
use tinygram_remedy::foresee::recording::{Ask, record};
use tinygram_whatif::capture;
use tinygram_whatif::forecast::{Forecast, forecast};
use tinygram_whatif::offer::Asked;
use tinygram_whatif::prediction::Service;

use super::plan::{From, Plan};
use crate::hand::{self, walking};
use crate::outcome::{Done, Failure};
use crate::stop;
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
    match &plan.from {
        From::Live(targets) => live(plan, targets),
        From::Capture(path) => captured(plan, path),
    }
}

fn live(plan: &Plan, targets: &[Target]) -> Result<Foreseen, Failure> {
    let mut hand = hand::open()?;
    let mut recorder = Recorder::open().map_err(|lacking| Failure::Input(lacking.to_string()))?;
    let scope = Scope {
        targets: targets.to_vec(),
        root: plan.root.clone(),
        ..Scope::default()
    };
    remark(&format!("tinygram whatif: recording for {:?}", plan.look));
    let ask = Ask {
        scope: &scope,
        one_end: plan.one_end,
        seed: plan.seed,
        sockets: MOST_SOCKETS,
        steps: MOST_STEPS,
    };
    let recorded = record(&mut hand, &mut recorder, ask, plan.look, stop::is_asked);
    let recorded = recorded.map_err(walking)?;
    drop(recorder);
    let services = recorded.services(Wanted {
        seed: plan.seed,
        is_meant: &|end| end.is_meant,
        is_measured: None,
    });
    Ok(Foreseen {
        found: recorded.found,
        recorded: recorded.connections.len(),
        played: services.first().map_or(0, |service| service.subjects.len()),
        lost: recorded.lost,
        seconds: recorded.seconds,
        forecast: play(plan, &services),
    })
}

fn captured(plan: &Plan, path: &Path) -> Result<Foreseen, Failure> {
    let captured = capture::read(|| File::open(path), plan.seed)
        .map_err(|error| Failure::Input(format!("{} {error}", path.display())))?;
    let services = captured.services;
    Ok(Foreseen {
        found: captured.connections,
        recorded: captured.connections,
        played: services[0].subjects.len(),
        lost: 0,
        seconds: captured.seconds,
        forecast: play(plan, &services),
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
    let asked = Asked {
        changes: &plan.changes,
        by_target: matches!(plan.from, From::Live(_)),
    };
    forecast(services, asked)
}

/// How many sockets are recorded.
const MOST_SOCKETS: usize = 128;
/// How many steps of each: 72 octets each, so 72 MiB in all.
const MOST_STEPS: u32 = 8192;
