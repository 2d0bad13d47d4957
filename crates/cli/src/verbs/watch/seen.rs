//! How much of what was to be watched was seen. If nothing was, there is no all-clear.

use std::collections::BTreeSet;

use tinygram_watch::event::{Connection, Writer};
use tinygram_watch::seen::Seen;
use tinygram_watch::who::Process;

use super::target::Target;

/// The targets, and what was seen of them.
#[derive(Default)]
pub(super) struct Watched {
    /// Each target, and whether a connection was it.
    targets: Vec<(Target, bool)>,
    /// What was seen of the targets.
    seen: Seen,
    /// The names of the processes that were not meant: one of them may have been.
    others: BTreeSet<String>,
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
        let mut meets = self.targets.is_empty();
        for (target, is_met) in &mut self.targets {
            if target.is_met_by(connection, writer, process) {
                (meets, *is_met) = (true, true);
            }
        }
        if !meets && self.others.len() < MOST_OTHERS {
            self.others.insert(process.name.clone());
        }
        meets
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
