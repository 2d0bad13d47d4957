//! What `tinygram set` and `tinygram cure` have changed on a connection, and not put back.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use tinygram_host::process::user_name;
use tinygram_host::text::plain;
use tinygram_remedy::journal::{Entry, Journal};

use crate::amount::moment;

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
    /// Whose command it was.
    pub(crate) user: String,
    /// The process that puts it back, if one does.
    pub(crate) until_process_ends: Option<u32>,
    /// When that process puts it back, if a time is set.
    pub(crate) until: Option<String>,
}

impl Changed {
    fn of(change: u64, entry: &Entry, cookie: u64) -> Option<Self> {
        let about = &entry.about;
        let before = entry.sockets.get(&cookie)?;
        let is_attended = about.is_temporary && entry.is_attended();
        Some(Self {
            change,
            option: about.option.name(),
            before: about.option.show(before),
            value: about.option.show(&about.to),
            command: format!("tinygram {}", plain(&about.why)),
            user: user_name(about.who.uid),
            until_process_ends: is_attended.then_some(about.who.pid),
            until: entry.until.filter(|_| is_attended).map(moment),
        })
    }

    /// Returns it in words.
    pub(crate) fn explain(&self) -> String {
        let back = match (self.until_process_ends, &self.until) {
            (Some(pid), Some(until)) => format!("process {pid} puts it back at {until}"),
            (Some(pid), None) => format!("process {pid} puts it back when it ends"),
            (None, _) => format!("tinygram set --undo {} puts it back", self.change),
        };
        format!(
            "{}={} (before: {}) by `{}` of {}; {back}",
            self.option, self.value, self.before, self.command, self.user
        )
    }
}

/// Returns the changes that are in force, by socket. A journal that is not there, or may not be read, has none.
pub(crate) fn in_force(folder: &Path) -> BTreeMap<u64, Vec<Changed>> {
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
