//! The journal: what was changed on this host, on disk before the change was made.
//!
//! A file of lines, each with a checksum, in a folder that only its owner may enter. Each line is written through
//! before the change that it announces. The journal is input: whoever undoes a change acts only on an equal boot,
//! network namespace and cookie, and only on options that the hand can set.

mod error;
mod folder;
mod knobs;
mod record;
mod trials;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tinygram_host::hand::{Raw, Setting};
use tinygram_host::root::{hidden, may_be_hidden};
use tinygram_host::start::started;
use tinygram_host::tunable::Tunable;

pub use error::JournalError;
use folder::Folder;
use record::Record;
pub use record::{About, JournalPlace, Who};
pub use trials::{TrialClaim, TrialUnderWay, TriedEnds};

/// The journal, locked against other processes while this value lives.
pub struct Journal {
    folder: Folder,
    file: File,
    /// How many octets and lines of the file were read: all of them that are whole.
    read: u64,
    lines: usize,
    /// How many records it has, and sockets in them.
    entries: usize,
    changes: BTreeMap<u64, Entry>,
    /// The highest number that a change has had: none has it again.
    last: u64,
    damage: Vec<String>,
    boot: String,
    lock: File,
}

/// The journal, left to other processes for a while.
pub struct Paused {
    /// Without its lock: the file of the lock is open, and nobody has it through this process.
    journal: Journal,
}

/// A change that is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is, and whose.
    pub about: About,
    /// The sockets with the value that each had before, by cookie.
    pub sockets: BTreeMap<u64, Raw>,
    /// The place of a knob, with the value that it had before.
    pub knob: Option<(JournalPlace, Raw)>,
    /// When the process that made it undoes it, in seconds since the epoch; `None` if no time is set.
    pub until: Option<u64>,
}

impl Journal {
    /// Opens the journal in `folder`, and makes both if they are missing. Waits while another process has it.
    ///
    /// # Errors
    ///
    /// Returns what the system refuses, and whether anybody else could have written to it.
    pub fn open(folder: &Path) -> Result<Self, JournalError> {
        let folder = Folder::open(folder)?;
        let lock = folder.file(LOCK)?;
        folder.lock(&lock)?;
        let file = folder.file(FILE)?;
        let mut journal = Self {
            folder,
            file,
            read: 0,
            lines: 0,
            entries: 0,
            changes: BTreeMap::new(),
            last: 0,
            damage: Vec::new(),
            boot: boot(),
            lock,
        };
        journal.read_on()?;
        journal.compact()?;
        Ok(journal)
    }

    /// Opens the journal in `folder` if this folder is there; makes none.
    ///
    /// # Errors
    ///
    /// Those of [`Self::open`].
    pub fn find(folder: &Path) -> Result<Option<Self>, JournalError> {
        match folder.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            // Whoever may not look is told so.
            _ => Self::open(folder).map(Some),
        }
    }

    /// Writes a long file anew, with what is in force.
    fn compact(&mut self) -> Result<(), JournalError> {
        let in_force = self.in_force();
        let needed: usize = in_force.map(|(_, entry)| 1 + entry.sockets.len()).sum();
        if self.read <= LARGE || self.entries <= WASTE * needed {
            return Ok(());
        }
        let in_force: BTreeMap<u64, Entry> = self
            .in_force()
            .map(|(id, entry)| (id, entry.clone()))
            .collect();
        // No number is given twice.
        let mut records = vec![Record::Undone {
            id: self.last,
            at: now_s(),
        }];
        for (
            id,
            Entry {
                about,
                sockets,
                knob,
                until,
            },
        ) in in_force.clone()
        {
            records.push(Record::Begin { id, about });
            if let Some((place, before)) = knob {
                records.push(Record::Knob { id, place, before });
            }
            records.extend(until.map(|at| Record::Until { id, at }));
            let before = sockets.into_iter().collect();
            records.push(Record::Sockets { id, before });
        }
        let octets: Vec<u8> = records.iter().flat_map(record::encode).collect();
        self.file = self.folder.replace(FILE, &octets)?;
        self.changes = in_force;
        (self.read, self.lines) = (octets.len() as u64, records.len());
        self.entries = records.iter().map(Record::entries).sum();
        Ok(())
    }

    /// Leaves the journal to other processes.
    ///
    /// # Errors
    ///
    /// Returns what the system refuses.
    pub fn pause(mut self) -> Result<Paused, JournalError> {
        self.compact()?;
        self.folder.unlock(&self.lock)?;
        Ok(Paused { journal: self })
    }

    /// Takes in what the file has beyond what was read.
    fn read_on(&mut self) -> Result<(), JournalError> {
        let path = self.folder.path(FILE);
        let mut octets = Vec::new();
        self.file
            .seek(SeekFrom::Start(self.read))
            .and_then(|_| self.file.read_to_end(&mut octets))
            .map_err(|error| refused(&path, "reading", error))?;
        let whole = octets.iter().rposition(|octet| *octet == b'\n');
        let whole = whole.map_or(0, |at| at + 1);
        let lines: Vec<_> = octets[..whole]
            .split_inclusive(|octet| *octet == b'\n')
            .collect();
        for line in &lines {
            self.lines += 1;
            let line = &line[..line.len() - 1];
            match record::decode(line) {
                Some(record) => self.take_in(record),
                None if line.is_empty() => {}
                None => self.damage.push(format!(
                    "the journal {}: line {} is damaged; what it says is not put back",
                    path.display(),
                    self.lines
                )),
            }
        }
        self.read += whole as u64;
        if whole < octets.len() {
            self.damage.push(format!(
                "the journal {}: its last line is torn and was dropped; the change that it announced was not made",
                path.display()
            ));
            // What is appended next must not continue a torn line.
            let cut = self.file.set_len(self.read);
            cut.map_err(|error| refused(&path, "dropping its torn last line", error))?;
        }
        Ok(())
    }

    fn take_in(&mut self, record: Record) {
        self.entries += record.entries();
        match record {
            Record::Begin { id, about } => {
                self.last = self.last.max(id);
                let entry = Entry {
                    about,
                    sockets: BTreeMap::new(),
                    knob: None,
                    until: None,
                };
                self.changes.insert(id, entry);
            }
            Record::Sockets { id, before } => {
                if let Some(entry) = self.changes.get_mut(&id) {
                    for (cookie, value) in before {
                        // The first value is the one from before the change.
                        entry.sockets.entry(cookie).or_insert(value);
                    }
                }
            }
            Record::Handed { to, before } => {
                if let Some(entry) = self.changes.get_mut(&to) {
                    entry.sockets.extend(before);
                }
            }
            Record::Unchanged { id, sockets } => {
                if let Some(entry) = self.changes.get_mut(&id) {
                    for cookie in sockets {
                        entry.sockets.remove(&cookie);
                    }
                }
            }
            Record::Knob { id, place, before } => {
                if let Some(entry) = self.changes.get_mut(&id) {
                    entry.knob = Some((place, before));
                }
            }
            Record::Until { id, at } => {
                if let Some(entry) = self.changes.get_mut(&id) {
                    entry.until = Some(at);
                }
            }
            Record::Undone { id, .. } => {
                self.last = self.last.max(id);
                self.changes.remove(&id);
            }
        }
    }

    /// Returns what was damaged, in a line each.
    #[must_use]
    pub fn damage(&self) -> &[String] {
        &self.damage
    }

    /// Returns the changes of this boot that are in force, by number. Those of other boots ended with their sockets.
    pub fn in_force(&self) -> impl Iterator<Item = (u64, &Entry)> {
        let of_this_boot = |entry: &Entry| entry.about.boot == self.boot;
        let all = self.changes.iter().map(|(id, entry)| (*id, entry));
        all.filter(move |(_, entry)| of_this_boot(entry))
    }

    /// Announces a change of `option` in a network namespace, and returns its number.
    ///
    /// # Errors
    ///
    /// Returns what the system refuses; nothing may be changed then.
    pub fn begin(
        &mut self,
        option: impl Into<Tunable>,
        to: Raw,
        netns: u32,
        why: &str,
        is_temporary: bool,
    ) -> Result<u64, JournalError> {
        let (id, begin) = self.next(option, to, netns, why, is_temporary);
        self.append(vec![begin])?;
        Ok(id)
    }

    /// Announces a change of these sockets, which have these values, and returns its number: both lines are written through
    /// at once.
    ///
    /// # Errors
    ///
    /// Returns what the system refuses; nothing may be changed then.
    pub fn begin_with(
        &mut self,
        setting: &Setting,
        netns: u32,
        why: &str,
        is_temporary: bool,
        before: Vec<(u64, Raw)>,
    ) -> Result<u64, JournalError> {
        let (id, begin) = self.next(setting.option, setting.value, netns, why, is_temporary);
        self.append(vec![begin, Record::Sockets { id, before }])?;
        Ok(id)
    }

    fn next(
        &self,
        option: impl Into<Tunable>,
        to: Raw,
        netns: u32,
        why: &str,
        is_temporary: bool,
    ) -> (u64, Record) {
        let id = self.last + 1;
        let pid = std::process::id();
        let about = About {
            boot: self.boot.clone(),
            netns,
            at: now_s(),
            who: Who {
                pid,
                started: started(pid).unwrap_or(0),
                uid: rustix::process::getuid().as_raw(),
            },
            why: why.to_owned(),
            option: option.into(),
            to,
            is_temporary,
        };
        (id, Record::Begin { id, about })
    }

    /// Says that this process undoes a change after `length`.
    ///
    /// # Errors
    ///
    /// Returns what the system refuses; the change is in force.
    pub fn ends_after(&mut self, id: u64, length: Duration) -> Result<(), JournalError> {
        let at = now_s().saturating_add(length.as_secs());
        self.append(vec![Record::Until { id, at }])
    }

    /// Announces that these sockets are changed next, with the values that they have.
    ///
    /// # Errors
    ///
    /// Returns what the system refuses; these sockets may not be changed then.
    pub fn sockets(&mut self, id: u64, before: Vec<(u64, Raw)>) -> Result<(), JournalError> {
        self.append(vec![Record::Sockets { id, before }])
    }

    /// Says that these sockets are not of this change: they were announced and not changed, or are closed.
    ///
    /// # Errors
    ///
    /// Returns what the system refuses.
    pub fn unchanged(&mut self, id: u64, sockets: Vec<u64>) -> Result<(), JournalError> {
        match sockets.is_empty() {
            true => Ok(()),
            false => self.append(vec![Record::Unchanged { id, sockets }]),
        }
    }

    /// Returns the sockets of `id` that may be put back now, with the values that they had. A socket that a later
    /// change set, too, is left to that one, which puts back the first value when it is undone.
    ///
    /// # Errors
    ///
    /// Returns what the system refuses; nothing may be put back then.
    pub fn release(&mut self, id: u64) -> Result<Vec<(u64, Raw)>, JournalError> {
        let Some(entry) = self.changes.get(&id).cloned() else {
            return Ok(Vec::new());
        };
        let mut handed: BTreeMap<u64, Vec<(u64, Raw)>> = BTreeMap::new();
        let mut own = Vec::new();
        for (&cookie, &before) in &entry.sockets {
            match self.next_of(id, entry.about.option, cookie) {
                Some(next) => handed.entry(next).or_default().push((cookie, before)),
                None => own.push((cookie, before)),
            }
        }
        for (to, before) in handed {
            self.append(vec![Record::Handed { to, before }])?;
        }
        Ok(own)
    }

    /// Says that a change was undone.
    ///
    /// # Errors
    ///
    /// Returns what the system refuses; the change then still counts as being in force.
    pub fn undone(&mut self, id: u64) -> Result<(), JournalError> {
        self.append(vec![Record::Undone { id, at: now_s() }])
    }

    /// Returns the next change after `id` that set the same option of this socket.
    fn next_of(&self, id: u64, option: Tunable, cookie: u64) -> Option<u64> {
        let mut later = self.in_force().filter(|(other, entry)| {
            *other > id && entry.about.option == option && entry.sockets.contains_key(&cookie)
        });
        later.next().map(|(other, _)| other)
    }

    /// Writes lines through to the disk.
    fn append(&mut self, records: Vec<Record>) -> Result<(), JournalError> {
        let lines: Vec<u8> = records.iter().flat_map(record::encode).collect();
        let written = self.file.write_all(&lines);
        written
            .and_then(|()| self.file.sync_data())
            .map_err(|error| refused(&self.folder.path(FILE), "writing", error))?;
        self.read += lines.len() as u64;
        self.lines += records.len();
        for record in records {
            self.take_in(record);
        }
        Ok(())
    }
}

impl Paused {
    /// Waits until no other process has the journal, and takes in what they wrote.
    ///
    /// # Errors
    ///
    /// Returns what the system refuses.
    pub fn resume(self) -> Result<Journal, JournalError> {
        let mut journal = self.journal;
        journal.folder.lock(&journal.lock)?;
        let file = journal.folder.file(FILE)?;
        if !journal.folder.is_same(&file, &journal.file)? {
            // Another process has written it anew.
            journal.file = file;
            (journal.read, journal.lines, journal.entries) = (0, 0, 0);
            journal.changes.clear();
        }
        journal.read_on()?;
        Ok(journal)
    }
}

impl Entry {
    /// Returns whether the process that made the change still runs.
    #[must_use]
    pub fn is_attended(&self) -> bool {
        started(self.about.who.pid) == Some(self.about.who.started)
    }
}

/// Returns the folder of the host's journal, also in a chroot: a change of the host's sockets is put back from wherever.
#[must_use]
pub fn folder() -> PathBuf {
    hidden()
        .unwrap_or_else(|| "/".into())
        .join("var/lib/tinygram")
}

/// Returns whether this process may have taken another folder than the host's: its host may have another root, which it may not
/// look at.
#[must_use]
pub fn may_be_elsewhere() -> bool {
    may_be_hidden()
}

fn refused(path: &Path, doing: &'static str, error: io::Error) -> JournalError {
    JournalError::Io {
        path: path.display().to_string(),
        doing,
        error,
    }
}

fn boot() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    boot.unwrap_or_default().trim().to_owned()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a record says when it was written"
)]
fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

const FILE: &str = "journal";
const LOCK: &str = "lock";
/// A journal that is longer is written anew if it has more than twice what is in force.
const LARGE: u64 = 1 << 20;
const WASTE: usize = 2;

#[cfg(test)]
mod tests;
