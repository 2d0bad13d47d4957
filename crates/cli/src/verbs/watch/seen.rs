//! How much of what was to be watched was seen. If nothing was, there is no all-clear.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tinygram_host::container::Container;
use tinygram_host::process::Process;
use tinygram_stalls::Side;
use tinygram_watch::event::{Connection, Writer};
use tinygram_watch::finding::Finding;
use tinygram_watch::seen::Seen;

use tinygram_host::target::Target;

/// The targets, and what was seen of them.
#[derive(Default)]
pub(super) struct Watched {
    /// Each target, and whether a connection was it.
    targets: Vec<(Target, bool)>,
    /// What was seen of the targets.
    seen: Seen,
    /// The names of the processes that were not meant: one of them may have been.
    others: BTreeSet<String>,
    /// The processes in pods whose names are not known: they may have been meant.
    unnamed: BTreeSet<u32>,
    /// The processes that have a connection with a port that was asked for.
    by_port: BTreeSet<u32>,
    /// Stalls and floods at ports that were not asked for, by process and port.
    elsewhere: BTreeMap<(u32, String, u16), u64>,
}

/// What a process with a port that was asked for does at another port.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Elsewhere {
    pid: u32,
    process: String,
    port: u16,
    /// Stalls and floods.
    count: u64,
}

impl Watched {
    pub(super) fn new(targets: Vec<Target>) -> Self {
        Self {
            targets: targets.into_iter().map(|target| (target, false)).collect(),
            ..Self::default()
        }
    }

    /// Returns whether everything is watched.
    pub(super) fn is_all(&self) -> bool {
        self.targets.is_empty()
    }

    pub(super) fn targets(&self) -> impl Iterator<Item = &Target> {
        self.targets.iter().map(|(target, _)| target)
    }

    /// Returns whether the connection is to be watched, and remembers which target it is.
    pub(super) fn meets(
        &mut self,
        connection: &Connection,
        writer: &Writer,
        process: &Process,
    ) -> bool {
        let ends = [connection.local, connection.remote];
        let mut meets = self.targets.is_empty();
        for (target, is_met) in &mut self.targets {
            if target.is_met_by(process, &writer.comm, ends) {
                (meets, *is_met) = (true, true);
                let is_by_port = target.is_port_of(ends).is_some() && process.pid != 0;
                if is_by_port && self.by_port.len() < MOST_OTHERS {
                    self.by_port.insert(process.pid);
                }
            }
        }
        if !meets && self.others.len() < MOST_OTHERS {
            self.others.insert(process.name.clone());
            let container = process.container.as_ref();
            if container.is_some_and(Container::lacks_a_name) {
                self.unnamed.insert(process.pid);
            }
        }
        meets
    }

    /// Remembers a finding that is not to be shown: its process may be one that was asked for by another port.
    pub(super) fn pass_over(&mut self, finding: &Finding, process: &Process) {
        let (local, remote) = (finding.connection.local, finding.connection.remote);
        let port = match finding.side {
            Side::Server => local.port(),
            Side::Client => remote.port(),
        };
        let key = (process.pid, process.name.clone(), port);
        let is_new = !self.elsewhere.contains_key(&key);
        if finding.tier.accuses() && !(is_new && self.elsewhere.len() >= MOST_OTHERS) {
            *self.elsewhere.entry(key).or_default() += 1;
        }
    }

    /// Returns what the processes with a port that was asked for do at other ports, the most first.
    pub(super) fn elsewhere(&self) -> Vec<Elsewhere> {
        let also = self
            .elsewhere
            .iter()
            .filter(|((pid, _, _), _)| self.by_port.contains(pid));
        let mut also: Vec<_> = also
            .map(|((pid, process, port), count)| Elsewhere {
                pid: *pid,
                process: process.clone(),
                port: *port,
                count: *count,
            })
            .collect();
        also.sort_by_key(|one| std::cmp::Reverse(one.count));
        also
    }

    /// Returns the same as a sentence, if there is anything.
    pub(super) fn elsewhere_in_words(&self) -> Option<String> {
        let also = self.elsewhere();
        let told = also.iter().take(MOST_TOLD).map(|one| {
            let Elsewhere {
                pid,
                process,
                port,
                count,
            } = one;
            format!("{process}[{pid}] also stalls or floods on port {port} ({count} times)")
        });
        let told = told.collect::<Vec<_>>().join("; ");
        let more = also.len().saturating_sub(MOST_TOLD);
        match (told.is_empty(), more) {
            (true, _) => None,
            (_, 0) => Some(told),
            _ => Some(format!("{told}; and on {more} more")),
        }
    }

    pub(super) fn add(&mut self, seen: Seen) {
        self.seen += seen;
    }

    /// Returns what was seen of the targets; of everything, that is `all`.
    pub(super) fn seen(&self, all: Seen) -> Seen {
        if self.is_all() { all } else { self.seen }
    }

    /// Returns the targets that no connection was.
    pub(super) fn unmet(&self) -> Vec<&Target> {
        let unmet = self.targets.iter().filter(|(_, is_met)| !is_met);
        unmet.map(|(target, _)| target).collect()
    }

    /// Returns a sentence about a target that no connection was.
    pub(super) fn nothing_of(&self, target: &Target) -> String {
        let mut said = format!(
            "nothing matched {target}: no TCP connection of {} was written to",
            target.sought()
        );
        if let Some(alike) = self.alike(target) {
            said += &format!(" ({alike} was seen: is it meant?)");
        }
        if matches!(target, Target::Within(..)) && !self.unnamed.is_empty() {
            said += &match self.unnamed.len() {
                1 => " (1 process in a pod or container whose name is unknown was seen)".to_owned(),
                count => format!(
                    " ({count} processes in pods or containers whose names are unknown were seen)"
                ),
            };
        }
        said
    }

    /// Returns the name that was seen and is most like the target's.
    fn alike(&self, target: &Target) -> Option<&str> {
        let Target::Name(name) = target else {
            return None;
        };
        let scored = self
            .others
            .iter()
            .map(|other| (strsim::damerau_levenshtein(name, other), other));
        let (distance, other) = scored.min_by_key(|(distance, _)| *distance)?;
        (distance * 3 <= name.chars().count()).then_some(other)
    }
}

const MOST_OTHERS: usize = 1_000;
/// The most ports in a sentence.
const MOST_TOLD: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_nearly_right_is_offered() {
        let mut watched = Watched::new(vec![Target::Name("ngnix".into())]);
        watched
            .others
            .extend(["nginx".to_owned(), "redis-server".to_owned()]);
        let said = watched.nothing_of(watched.unmet()[0]);
        assert!(said.contains("nginx was seen"), "{said}");
        let other = watched.nothing_of(&Target::Name("postgres".into()));
        assert!(!other.contains("is it meant"), "{other}");
    }
}
