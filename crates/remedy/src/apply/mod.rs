//! Changes sockets by way of the journal, and puts them back.

pub mod knobs;

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use tinygram_host::hand::{Change, ChangeOutcome, Did, Hand, Raw, Setting, SocketOption};
use tinygram_host::namespace::Namespace;
use tinygram_host::scope::{Found, Owned};
use tinygram_host::tunable::Tunable;

use crate::journal::{Journal, JournalError};

/// Why a change was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Why<'a> {
    /// The command.
    pub command: &'a str,
    /// Whether this process undoes the change by itself.
    pub is_temporary: bool,
}

/// What a setting did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The changes' numbers in the journal, one for each network namespace.
    pub ids: Vec<u64>,
    /// The sockets that have the value now, and had another: how many had which.
    pub changed: BTreeMap<Raw, usize>,
    /// How many had the value already.
    pub already: usize,
    /// How many were closed meanwhile.
    pub gone: usize,
    /// How many were left alone because their programs set them to a third value meanwhile.
    pub set_meanwhile: usize,
    /// How many the kernel refused, by its error number.
    pub refused: BTreeMap<i32, usize>,
    /// How long the walks over the sockets took that set them.
    pub swept: Duration,
}

impl Applied {
    /// Returns whether every socket has the value that is still open.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.refused.is_empty() && self.set_meanwhile == 0
    }

    /// Returns how many sockets were changed.
    #[must_use]
    pub fn count(&self) -> usize {
        self.changed.values().sum()
    }
}

/// What an undo did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// How many have the value that they had before.
    pub back: usize,
    /// How many had another value than the one that was set, and were left alone.
    pub differ: usize,
    /// How many were closed, or lie in a network namespace that no process is in.
    pub gone: usize,
    /// How many the kernel refused; then the change still counts as being in force.
    pub refused: usize,
    /// The sockets whose programs have set the option since, to whatever value; they were left alone. Only a hand that has
    /// seen it can tell ([`Hand::give_way`]).
    pub gave_way: Vec<u64>,
    /// How many a later change has, which puts them back.
    pub left_to_later: usize,
}

/// The reason why a change or an undo stopped, in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The journal could not be written: nothing was changed since.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The kernel refused to walk over its sockets.
    #[error("walking over the sockets: {0}")]
    Walk(#[from] io::Error),
}

/// A change that the journal has, and that was not made yet.
#[derive(Debug, Default)]
pub struct Announced {
    applied: Applied,
    /// In each network namespace.
    parts: Vec<Part>,
}

/// A change that was made: the journal is yet to be told which sockets it did not change.
#[derive(Debug)]
pub struct Made {
    applied: Applied,
    /// By the change's number.
    unchanged: Vec<(u64, Vec<u64>)>,
}

#[derive(Debug)]
struct Part {
    id: u64,
    namespace: Namespace,
    option: SocketOption,
    changes: Vec<Change>,
}

/// Gives every socket that was found the value, after the journal has the one that it had.
///
/// # Errors
///
/// Returns what stopped it. What the journal has can be undone then.
pub fn set(
    hand: &mut Hand,
    journal: &mut Journal,
    found: &Found,
    setting: &Setting,
    why: Why<'_>,
) -> Result<Applied, ApplyError> {
    let announced = announce(journal, found, setting, why)?;
    announced.make(hand)?.write_down(journal)
}

/// Writes to the journal which sockets are given the value next, and what they have.
///
/// # Errors
///
/// Returns what stopped it. What the journal has can be undone then.
pub fn announce(
    journal: &mut Journal,
    found: &Found,
    setting: &Setting,
    why: Why<'_>,
) -> Result<Announced, ApplyError> {
    let mut announced = Announced::default();
    for namespace in &found.namespaces {
        let here = |owned: &&Owned| owned.socket.netns == namespace.inode;
        let sockets = found.sockets.iter().filter(here);
        let before =
            sockets.map(|owned| (owned.socket.cookie, owned.socket.values[setting.option]));
        announced.announce_in(journal, namespace, before, setting, why)?;
    }
    Ok(announced)
}

impl Announced {
    fn announce_in(
        &mut self,
        journal: &mut Journal,
        namespace: &Namespace,
        sockets: impl Iterator<Item = (u64, Raw)>,
        setting: &Setting,
        why: Why<'_>,
    ) -> Result<(), ApplyError> {
        let (option, to) = (setting.option, setting.value);
        // A socket that has the value through another change of ours keeps it when that one is undone.
        let ours = |cookie| {
            let mut all = journal.in_force();
            let is_it = Tunable::Socket(option);
            all.any(|(_, entry)| entry.about.option == is_it && entry.sockets.contains_key(&cookie))
        };
        let (already, before): (Vec<_>, Vec<_>) =
            sockets.partition(|(cookie, value)| *value == to && !ours(*cookie));
        self.applied.already += already.len();
        if before.is_empty() {
            return Ok(());
        }
        let id = journal.begin_with(
            setting,
            namespace.inode,
            why.command,
            why.is_temporary,
            before.clone(),
        )?;
        self.applied.ids.push(id);
        let changes = before.into_iter().map(|(cookie, value)| Change {
            cookie,
            to,
            // The journal has this value and no other.
            only_if: Some(value),
        });
        self.parts.push(Part {
            id,
            namespace: namespace.clone(),
            option,
            changes: changes.collect(),
        });
        Ok(())
    }

    /// Makes the change, while the journal is this process's.
    ///
    /// # Errors
    ///
    /// Returns what stopped it. What the journal has can be undone then.
    #[expect(clippy::disallowed_methods, reason = "sweeps take real time")]
    pub fn make(mut self, hand: &mut Hand) -> io::Result<Made> {
        let mut unchanged = Vec::new();
        for part in std::mem::take(&mut self.parts) {
            let begun = Instant::now();
            let set = || hand.set(part.option, &part.changes);
            let outcomes = part.namespace.within(set)??;
            self.applied.swept += begun.elapsed();
            let cookies = outcomes
                .iter()
                .zip(&part.changes)
                .filter(|(outcome, change)| !self.applied.took_in(outcome, change.to))
                .map(|(outcome, _)| outcome.cookie);
            unchanged.push((part.id, cookies.collect()));
        }
        Ok(Made {
            applied: self.applied,
            unchanged,
        })
    }

    /// Says in the journal that it is not made.
    ///
    /// # Errors
    ///
    /// Returns what the system refuses; an undo then finds nothing to put back.
    pub fn drop_from(self, journal: &mut Journal) -> Result<(), ApplyError> {
        for id in self.applied.ids {
            journal.undone(id)?;
        }
        Ok(())
    }
}

impl Made {
    /// Writes to the journal which sockets were announced and not changed.
    ///
    /// # Errors
    ///
    /// Returns what the system refuses. What the journal has can be undone then.
    pub fn write_down(self, journal: &mut Journal) -> Result<Applied, ApplyError> {
        for (id, cookies) in self.unchanged {
            journal.unchanged(id, cookies)?;
        }
        Ok(self.applied)
    }
}

impl Applied {
    /// Counts what became of a socket, and returns whether it was set.
    fn took_in(&mut self, outcome: &ChangeOutcome, to: Raw) -> bool {
        match outcome.did {
            Did::Set if outcome.before == to => self.already += 1,
            Did::Set => *self.changed.entry(outcome.before).or_default() += 1,
            // Its program has set it since it was listed.
            Did::Differs if outcome.before == to => self.already += 1,
            Did::Differs | Did::GaveWay => self.set_meanwhile += 1,
            Did::Refused(error) => *self.refused.entry(error).or_default() += 1,
            Did::Gone => self.gone += 1,
        }
        outcome.did == Did::Set
    }
}

/// Puts back what a change set, where the value is still the one that it set.
///
/// # Errors
///
/// Returns what stopped it; the change then still counts as being in force.
pub fn undo(hand: &mut Hand, journal: &mut Journal, id: u64) -> Result<Undone, ApplyError> {
    let mut undone = Undone::default();
    let Some((_, entry)) = journal.in_force().find(|(other, _)| *other == id) else {
        return Ok(undone);
    };
    let (about, all) = (entry.about.clone(), entry.sockets.len());
    let option = match about.option {
        Tunable::Socket(option) => option,
        Tunable::Knob(knob) => return knobs::undo(journal, id, knob, &about),
    };
    let own = journal.release(id)?;
    undone.left_to_later = all - own.len();
    let changes: Vec<_> = own
        .into_iter()
        .map(|(cookie, before)| Change {
            cookie,
            to: before,
            only_if: Some(about.to),
        })
        .collect();
    let outcomes = put_back(hand, option, about.netns, &changes)?;
    for outcome in &outcomes {
        match outcome.did {
            Did::Set => undone.back += 1,
            Did::Differs => undone.differ += 1,
            Did::GaveWay => undone.gave_way.push(outcome.cookie),
            Did::Refused(_) => undone.refused += 1,
            Did::Gone => undone.gone += 1,
        }
    }
    undone.gone += changes.len() - outcomes.len();
    // What the kernel refused can be tried again.
    if undone.refused == 0 {
        journal.undone(id)?;
    }
    Ok(undone)
}

/// Returns no outcomes if no process is in the namespace: then nothing can reach its sockets either.
fn put_back(
    hand: &mut Hand,
    option: SocketOption,
    netns: u32,
    changes: &[Change],
) -> io::Result<Vec<ChangeOutcome>> {
    match Namespace::find(netns) {
        Some(namespace) => namespace.within(|| hand.set(option, changes))?,
        None => Ok(Vec::new()),
    }
}
