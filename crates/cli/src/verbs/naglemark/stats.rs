//! The line that `--stats` adds at the end: what a run did and what it took.

use std::fmt;
use std::time::Duration;

use tinygram_naglemark::Work;
use tinygram_report::units::grouped;

/// What the run did and what it took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stats {
    pub(super) work: Work,
    pub(super) elapsed: Duration,
    pub(super) threads: usize,
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.elapsed.as_secs_f64().max(1e-9);
        let per_second = |count: u64| grouped((count as f64 / seconds) as u64);
        write!(
            f,
            "{} transfers, {} data segments, {} events in {seconds:.2} s on {} threads: \
             {} transfers/s, {} segments/s",
            grouped(self.work.transfers),
            grouped(self.work.data_segments),
            grouped(self.work.events),
            self.threads,
            per_second(self.work.transfers),
            per_second(self.work.data_segments),
        )?;
        match peak_memory_kib() {
            Some(kib) => write!(
                f,
                ", {} MB of memory at most",
                (kib * 1024).div_ceil(1_000_000)
            ),
            None => Ok(()),
        }
    }
}

/// Returns the most memory that this process has used, if the system says (Linux).
fn peak_memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}
