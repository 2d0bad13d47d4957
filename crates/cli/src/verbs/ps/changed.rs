//! What `tinygram set` and `tinygram cure` have changed on a connection, and not put back.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use tinygram_remedy::journal::{Entry, Journal};

/// A change that is in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Changed {
    /// Its number, for `tinygram set --undo`.
    pub(crate) change: u64,
    pub(crate) option: &'static str,
    /// The value that was there before, and the one that was set.
    pub(crate) before: String,
    pub(crate) value: String,
    /// The command that set it.
    pub(crate) command: String,
    /// The process that puts it back, if one does.
    pub(crate) until_process_ends: Option<u32>,
}

impl Changed {
    fn of(change: u64, entry: &Entry, cookie: u64) -> Option<Self> {
        let about = &entry.about;
        let before = entry.sockets.get(&cookie)?;
        Some(Self {
            change,
            option: about.option.name(),
            before: about.option.show(before),
            value: about.option.show(&about.to),
            command: format!("tinygram {}", about.why),
            until_process_ends: (about.is_temporary && entry.is_attended())
                .then_some(about.who.pid),
        })
    }

    /// Returns it in words.
    pub(super) fn explain(&self) -> String {
        let back = match self.until_process_ends {
            Some(pid) => format!("process {pid} puts it back"),
            None => format!("tinygram set --undo {} puts it back", self.change),
        };
        format!(
            "{}={} (before: {}) by `{}`; {back}",
            self.option, self.value, self.before, self.command
        )
    }
}

/// Returns the changes that are in force, by socket. A journal that is not there, or may not be read, has none.
pub(super) fn in_force(folder: &Path) -> BTreeMap<u64, Vec<Changed>> {
    let mut all: BTreeMap<u64, Vec<Changed>> = BTreeMap::new();
    let Ok(Some(journal)) = Journal::find(folder) else {
        return all;
    };
    for (change, entry) in journal.in_force() {
        for cookie in entry.sockets.keys() {
            let changed = Changed::of(change, entry, *cookie);
            all.entry(*cookie).or_default().extend(changed);
        }
    }
    all
}
