//! A period of a trial.

use std::collections::{BTreeMap, BTreeSet};

use tinygram_host::clock::{clock_ns, moved_ns, processor_ns};
use tinygram_watch::finding::Finding;

use crate::look::cause;
use crate::proof::statistics::Pair;
use crate::remedy::Remedy;

/// A period that is going on or over.
pub(super) struct Span {
    pub(super) have: Have,
    /// On the clock of findings (since the epoch) and on that of turns (monotonic).
    begun_ns: [i64; 2],
    ended_ns: [i64; 2],
    pub(super) seen: Pair,
}

/// By process, the processor time that it has used, in nanoseconds.
pub(super) type Used = BTreeMap<u32, u64>;

/// Returns how much processor time each of these processes has used.
pub(super) fn used(processes: &BTreeSet<u32>) -> Used {
    let used = processes.iter();
    used.filter_map(|pid| Some((*pid, processor_ns(*pid)?)))
        .collect()
}

/// Which of the sockets that are meant have the remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Have {
    All,
    None,
    /// Those of the clients that are drawn for the period with this number.
    Half(u64),
}

impl Span {
    /// Begins now.
    pub(super) fn begin(have: Have) -> Self {
        Self {
            have,
            begun_ns: clocks_ns(),
            ended_ns: [i64::MAX; 2],
            seen: Pair::default(),
        }
    }

    /// Says how much processor time the sockets' processes had used at its beginning, and have used now.
    pub(super) fn count_processor(&mut self, before: &Used, now: &Used) {
        let used = before.iter().filter_map(|(pid, before)| {
            let now = now.get(pid)?;
            Some(now.saturating_sub(*before))
        });
        let has = match self.have {
            Have::All => true,
            Have::None => false,
            Have::Half(_) => return,
        };
        self.seen.side(has).processor_ns = (!before.is_empty()).then(|| used.sum());
    }

    /// Ends now, after so many seconds. `sent` has, of each socket, whether it has the remedy and how many data segments it
    /// sent.
    pub(super) fn end(&mut self, seconds: f64, sent: impl Iterator<Item = (bool, u32)>) {
        self.ended_ns = clocks_ns();
        let mut connections = [0.0_f64; 2];
        for (has, sent) in sent {
            self.seen.side(has).segments += u64::from(sent);
            connections[usize::from(has)] += 1.0;
        }
        for has in [false, true] {
            // Halves are seldom of one size.
            let share = match self.have {
                Have::Half(_) => connections[usize::from(has)].max(1.0),
                _ => 1.0,
            };
            self.seen.side(has).seconds = seconds * share;
        }
    }

    /// Returns whether a time is in it, on the clock of findings (0) or of turns (1).
    pub(super) fn holds(&self, clock: usize, at_ns: i64) -> bool {
        (self.begun_ns[clock]..self.ended_ns[clock]).contains(&at_ns)
    }
}

/// Returns whether a finding is a stall that the remedy is to end.
pub(super) fn is_counted(finding: &Finding, remedy: &Remedy) -> bool {
    let connection = &finding.connection;
    finding.tier.accuses()
        && finding.kind.is_stall()
        && cause(finding) == Ok(remedy.cause)
        && remedy
            .stalling
            .iter()
            .any(|service| service.has(connection.netns, connection.local, connection.remote))
}

/// Returns the times since the epoch and of the kernel's own monotonic clock.
fn clocks_ns() -> [i64; 2] {
    [
        clock_ns(libc::CLOCK_REALTIME),
        clock_ns(libc::CLOCK_MONOTONIC) - moved_ns(),
    ]
}
