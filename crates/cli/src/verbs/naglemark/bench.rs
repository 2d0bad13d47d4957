//! From a plan to the simulator and back: the only file that knows both.

use std::fmt;
use std::time::Duration;

use tinygram_report::naglemark::Panel;
use tinygram_report::units::grouped;

use super::plan::Plan;
use crate::exit::Failure;
use crate::interrupt;
use crate::terminal::Progress;

/// What a run gives.
pub(crate) struct Outcome {
    /// One per medium.
    pub(crate) panels: Vec<Panel>,
    /// Every parameter: the plan's, and the model's own.
    pub(crate) parameters: serde_json::Value,
    pub(crate) stats: Stats,
}

/// What the run did and what it took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stats {
    pub(crate) transfers: u64,
    pub(crate) segments: u64,
    pub(crate) elapsed: Duration,
    pub(crate) threads: usize,
    /// The most memory the process held, bytes; unknown where the system does not say.
    pub(crate) peak_memory: Option<u64>,
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.elapsed.as_secs_f64().max(1e-9);
        let per_second = |count: u64| grouped((count as f64 / seconds) as u64);
        write!(
            f,
            "{} transfers, {} data segments in {seconds:.2} s on {} threads: {} transfers/s, {} segments/s",
            grouped(self.transfers),
            grouped(self.segments),
            self.threads,
            per_second(self.transfers),
            per_second(self.segments),
        )?;
        match self.peak_memory {
            Some(bytes) => write!(f, ", {} MB at most", bytes.div_ceil(1_000_000)),
            None => Ok(()),
        }
    }
}

/// Measures every cell of the plan on `threads` threads (all cores if absent), one progress step
/// per cell; keeps single transfers only if they will be shown.
pub(crate) fn measure(
    plan: &Plan,
    threads: Option<u16>,
    keeps_transfers: bool,
    progress: &Progress,
) -> Result<Outcome, Failure> {
    let _ = (plan, threads, keeps_transfers, progress);
    if interrupt::requested() {
        return Err(Failure::Interrupted);
    }
    Err(Failure::Input("this build has no simulator yet".into()))
}
