//! Says a stall that repeats once, and then how often it came again.

use std::collections::BTreeMap;
use std::time::Duration;

use tinygram_host::process::Process;
use tinygram_stalls::{Cost, Kind, Side};
use tinygram_watch::finding::{Finding, Part};

use super::sentence;

/// What a program does time and again: the same stall at the same end of its connections, written at the same place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Habit {
    pid: u32,
    kind: Kind,
    part: Part,
    is_server: bool,
    /// The server's port.
    port: u16,
    /// Where it was written, if that is known.
    call: Option<String>,
}

impl Habit {
    pub(super) fn of(finding: &Finding) -> Self {
        let is_server = finding.side == Side::Server;
        let (local, remote) = (finding.connection.local, finding.connection.remote);
        Self {
            pid: finding.process.pid,
            kind: finding.kind,
            part: finding.part,
            is_server,
            port: if is_server { local } else { remote }.port(),
            call: finding.call.as_ref().map(|call| call.written()),
        }
    }
}

/// The habits that were said, and what came of each since.
#[derive(Default)]
pub(super) struct Repeats {
    said: BTreeMap<Habit, Again>,
    /// When the counts were said last, since the watch began.
    told: Duration,
}

#[derive(Default)]
struct Again {
    name: String,
    count: u64,
    cost: Cost,
}

impl Repeats {
    /// Returns whether the stall is the first of its habit; counts it otherwise.
    pub(super) fn is_first(&mut self, finding: &Finding, process: &Process) -> bool {
        if let Some(again) = self.said.get_mut(&Habit::of(finding)) {
            again.count += 1;
            again.cost += finding.cost;
            return false;
        }
        // What was forgotten is said once more.
        if self.said.len() == MOST_HABITS {
            self.said.clear();
        }
        let again = Again {
            name: sentence::name(process),
            ..Again::default()
        };
        self.said.insert(Habit::of(finding), again);
        true
    }

    /// Returns a line for each habit that came again since the last time, if that is long enough ago.
    pub(super) fn lines(&mut self, watched: Duration) -> Vec<String> {
        if watched < self.told + PAUSE {
            return Vec::new();
        }
        self.told = watched;
        self.rest()
    }

    /// Returns a line for each habit that came again since the last time.
    pub(super) fn rest(&mut self) -> Vec<String> {
        let again = self.said.iter_mut().filter(|(_, again)| again.count > 0);
        let line = |(habit, again): (&Habit, &mut Again)| {
            let Again { name, count, cost } = std::mem::take(again);
            again.name.clone_from(&name);
            let place = match habit.is_server {
                true => "on port",
                false => "to port",
            };
            let times = if count == 1 { "time" } else { "times" };
            let (port, kind) = (habit.port, habit.kind);
            let call = habit.call.as_ref();
            let call = call.map_or_else(String::new, |call| format!(", {call}"));
            format!("{name} {place} {port}{call}: {kind} {count} {times} more, {cost}")
        };
        again.map(line).collect()
    }
}

/// How long counts are gathered before they are said.
const PAUSE: Duration = Duration::from_secs(5);
const MOST_HABITS: usize = 4096;

#[cfg(test)]
mod tests {
    use super::super::made::stall;
    use super::*;

    #[test]
    fn a_repeated_stall_is_said_once_and_then_counted() {
        let mut repeats = Repeats::default();
        let (first, process) = stall(7);
        let mut other_peer = first.clone();
        other_peer.connection.remote.set_port(50_001);
        let mut other_kind = first.clone();
        other_kind.kind = Kind::CorkHeld;
        assert!(repeats.is_first(&first, &process));
        assert!(!repeats.is_first(&first, &process) && !repeats.is_first(&other_peer, &process));
        assert!(repeats.is_first(&other_kind, &process));
        assert_eq!(repeats.lines(PAUSE / 2), [""; 0]);
        let line =
            "a-server-with-a-long-name[7] on port 8080: write-write-read 2 times more, 80.0 ms";
        assert_eq!(repeats.lines(PAUSE), [line]);
        // Nothing came since.
        assert_eq!(repeats.lines(2 * PAUSE), [""; 0]);
        assert!(!repeats.is_first(&first, &process));
        assert_eq!(repeats.rest().len(), 1);
    }
}
