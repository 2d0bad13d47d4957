//! The work: examines the given buffers, their cures, and the plane around them.

use tinygram_engine::Duration;
use tinygram_papers::moldeklev::cures::{BufferCure, Examined, busy, cures, examine};
use tinygram_papers::moldeklev::plane::{Grid, Pair};
use tinygram_sim::medium::{MediumFrame, Side};

use super::plan::Plan;
use crate::capture::CaptureAt;
use crate::terminal::Progress;

/// The results.
pub(super) struct Findings {
    pub(super) asked: Examined,
    /// The cures; empty if there is nothing to cure.
    pub(super) cures: Vec<(BufferCure, Examined)>,
    /// The plane around the buffers, if it was asked for.
    pub(super) plane: Option<Vec<Pair>>,
    /// The frames of the most telling run, if they were asked for.
    pub(super) seen: Option<Vec<(Side, MediumFrame)>>,
}

impl Findings {
    /// Carries out the plan.
    pub(super) fn of(plan: &Plan) -> Self {
        let (runs, seed) = (plan.parameters.runs, plan.parameters.seed);
        let asked = examine(&plan.transfer, runs, seed);
        let candidates = match Self::ails(&asked) {
            true => cures(&plan.transfer),
            false => Vec::new(),
        };
        let progress = Progress::over(candidates.len() as u64, "cures");
        let examined = candidates.into_iter().map(|cure| {
            let examined = examine(&cure.transfer, runs, seed);
            progress.step();
            (cure, examined)
        });
        Self {
            cures: examined.collect(),
            plane: plan.plane.as_ref().map(|_| plane(plan)),
            seen: plan.capture.as_ref().map(|(at, _)| seen(&asked, *at)),
            asked,
        }
    }

    /// Returns whether a deadlock is to be feared: predicted by the rules, or seen in the
    /// simulator.
    pub(super) fn ails(examined: &Examined) -> bool {
        examined.prediction.deadlock.is_some() || Self::waits(examined)
    }

    /// Returns whether the simulated transfer depends on the timer, permanently or for a noticeable
    /// part of its time.
    pub(super) fn waits(examined: &Examined) -> bool {
        examined.simulated.waiting >= TELLS
    }

    /// Returns whether a cure works, both by the rules and in the simulator.
    pub(super) fn works(examined: &Examined) -> bool {
        !Self::ails(examined)
    }
}

/// Returns the frames of the most telling run.
fn seen(asked: &Examined, at: CaptureAt) -> Vec<(Side, MediumFrame)> {
    let (run, deadlock) = &asked.simulated.telling;
    // The writer is the host that connects.
    run.captured(*deadlock, at.side(Side::Client), MOST_CAPTURED)
}

/// Returns the pairs of buffers around the given ones.
fn plane(plan: &Plan) -> Vec<Pair> {
    let parameters = &plan.parameters;
    let send_to = (parameters.send_buffer * 2).max(4 * u64::from(parameters.mss));
    let receive_to = (parameters.receive_buffer * 2).max(8 * u64::from(parameters.mss));
    let grid = Grid {
        step: send_to.max(receive_to).div_ceil(PAIRS),
        send_to,
        receive_to,
        within: PLANE_WATCHED,
    };
    grid.pairs(&busy(&plan.transfer), PLANE_RUNS, parameters.seed)
}

/// The share of the time that counts as noticeable; a fast transfer that meets one or two ticks
/// spends less.
const TELLS: f64 = 0.05;
/// The most captured segments; ten times as many as anybody reads.
const MOST_CAPTURED: usize = 100_000;

/// The runs of each pair in the plane.
const PLANE_RUNS: u32 = 3;
/// How long each pair is watched.
const PLANE_WATCHED: Duration = Duration::from_secs(20);
/// The number of pairs along each side of the plane.
const PAIRS: u64 = 40;
