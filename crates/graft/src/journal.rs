//! What was put into a running process, on disk before it was: so that it can be put back when the
//! keeper was killed.
//!
//! A file for each process, `graft-PID`, in a folder that only its owner may enter (0700; the file
//! 0600): one line, a checksum and words. It is input: who puts back acts only on an equal boot, start
//! of the process and program, and only where the octets are those that were written.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What was put into a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The process.
    pub pid: u32,
    /// When it started, in the kernel's ticks: another process may have the same number.
    pub started: u64,
    /// The boot, `/proc/sys/kernel/random/boot_id`.
    pub boot: String,
    /// A checksum of the program's file.
    pub build: u32,
    /// Where the code is, and its length.
    pub code: (u64, u64),
    /// Where the shared memory is, and its length.
    pub shared: (u64, u64),
    /// The keeper: its number, and when it started.
    pub keeper: (u32, u64),
    /// The octets that were replaced.
    pub patches: Vec<Patch>,
}

impl Record {
    /// Returns whether the keeper still runs.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        let (keeper, when) = self.keeper;
        started(keeper) == Some(when)
    }

    /// Returns whether the program's `setsockopt` passes through the code. In musl's one place it does not.
    pub(crate) fn sees_options(&self) -> bool {
        self.patches.len() > 1
    }
}

/// Octets that were replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// Where.
    pub address: u64,
    /// What was there.
    pub before: Vec<u8>,
    /// What is there now.
    pub after: Vec<u8>,
}

/// Why the journal cannot be used, in one line.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The system refused.
    #[error("the journal {}: {doing}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// The system's answer.
        error: io::Error,
    },
    /// Somebody else could have written it, or it is damaged.
    #[error("the journal {} is not to be trusted: {why}", path.display())]
    Untrusted {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

/// The folder of the journal.
#[derive(Debug)]
pub struct Journal {
    folder: File,
    path: PathBuf,
}

impl Journal {
    /// Opens the folder, and makes it if it is missing.
    ///
    /// # Errors
    /// What the system refuses, and whether anybody else could write there.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let refused = |doing| move |error| refused(path, doing, error);
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(refused("making the folder")(error));
            }
            _ => {}
        }
        let folder = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW)
            .open(path)
            .map_err(refused("opening the folder"))?;
        trust(path, &folder)?;
        Ok(Self {
            folder,
            path: path.to_owned(),
        })
    }

    /// Writes through to the disk what is about to be put into a process.
    ///
    /// # Errors
    /// What the system refuses; then nothing may be put into it.
    pub fn announce(&self, record: &Record) -> Result<(), JournalError> {
        let (name, inside) = self.names(record.pid);
        let refused = |doing| {
            let name = name.clone();
            move |error| refused(&name, doing, error)
        };
        // Another record of the same number is of a process that has ended, or was read before.
        let _ = fs::remove_file(&inside);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&inside)
            .map_err(refused("making it"))?;
        let text = encode(record);
        let line = format!("{:08x} {text}\n", crc32fast::hash(text.as_bytes()));
        file.write_all(line.as_bytes())
            .and_then(|()| file.sync_all())
            .and_then(|()| self.folder.sync_all())
            .map_err(refused("writing it"))
    }

    /// Returns what was put into a process; `None` if nothing was, or into another process that had its
    /// number.
    ///
    /// # Errors
    /// What the system refuses, and why the record is not to be trusted.
    pub fn read(&self, pid: u32) -> Result<Option<Record>, JournalError> {
        let (name, inside) = self.names(pid);
        let refused = |doing| {
            let name = name.clone();
            move |error| refused(&name, doing, error)
        };
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(inside);
        let mut file = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(refused("opening it"))?,
        };
        trust(&name, &file)?;
        let mut text = String::new();
        Read::by_ref(&mut file)
            .take(LONGEST)
            .read_to_string(&mut text)
            .map_err(refused("reading it"))?;
        let record = decode(&text).ok_or_else(|| JournalError::Untrusted {
            path: name,
            why: "its checksum or its form is wrong".to_owned(),
        })?;
        let is_this =
            record.pid == pid && record.boot == boot() && started(pid) == Some(record.started);
        Ok(is_this.then_some(record))
    }

    /// Removes the record of a process.
    pub fn forget(&self, pid: u32) {
        let _ = fs::remove_file(self.names(pid).1);
    }

    /// Returns the name of a process's file, to be shown and to be opened: the folder cannot be
    /// replaced meanwhile.
    fn names(&self, pid: u32) -> (PathBuf, PathBuf) {
        let name = format!("graft-{pid}");
        let inside = format!("/proc/self/fd/{}/{name}", self.folder.as_raw_fd());
        (self.path.join(name), inside.into())
    }
}

fn refused(path: &Path, doing: &'static str, error: io::Error) -> JournalError {
    JournalError::Io {
        path: path.to_owned(),
        doing,
        error,
    }
}

/// Checks that only this user can have written it.
fn trust(path: &Path, file: &File) -> Result<(), JournalError> {
    let about = file
        .metadata()
        .map_err(|error| refused(path, "looking at it", error))?;
    // SAFETY: no arguments, cannot fail.
    let user = unsafe { libc::geteuid() };
    let why = if about.uid() != user {
        format!("it belongs to user {} and not to {user}", about.uid())
    } else if about.mode() & 0o077 != 0 {
        format!("others may use it (mode {:o})", about.mode() & 0o777)
    } else if about.is_file() && about.nlink() != 1 {
        format!("it has {} names", about.nlink())
    } else if !about.is_file() && !about.is_dir() {
        "it is neither a file nor a folder".to_owned()
    } else {
        return Ok(());
    };
    Err(JournalError::Untrusted {
        path: path.to_owned(),
        why,
    })
}

fn encode(record: &Record) -> String {
    let mut text = format!(
        "{FORM} pid={} started={} boot={} build={:08x} code={:x}+{:x} shared={:x}+{:x} \
         keeper={}:{}",
        record.pid,
        record.started,
        record.boot,
        record.build,
        record.code.0,
        record.code.1,
        record.shared.0,
        record.shared.1,
        record.keeper.0,
        record.keeper.1,
    );
    for patch in &record.patches {
        let (before, after) = (hex(&patch.before), hex(&patch.after));
        let _ = write!(text, " patch={:x}:{before}:{after}", patch.address);
    }
    text
}

fn decode(line: &str) -> Option<Record> {
    let (sum, text) = line.strip_suffix('\n')?.split_once(' ')?;
    if u32::from_str_radix(sum, 16) != Ok(crc32fast::hash(text.as_bytes())) {
        return None;
    }
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let range = |text: &str| {
        let (start, length) = text.split_once('+')?;
        Some((number(start)?, number(length)?))
    };
    let mut record = Record::default();
    let mut words = text.strip_prefix(FORM)?.split_ascii_whitespace();
    words.try_for_each(|word| {
        let (key, value) = word.split_once('=')?;
        match key {
            "pid" => record.pid = value.parse().ok()?,
            "started" => record.started = value.parse().ok()?,
            "boot" => value.clone_into(&mut record.boot),
            "build" => record.build = u32::from_str_radix(value, 16).ok()?,
            "code" => record.code = range(value)?,
            "shared" => record.shared = range(value)?,
            "keeper" => {
                let (pid, when) = value.split_once(':')?;
                record.keeper = (pid.parse().ok()?, when.parse().ok()?);
            }
            "patch" => {
                let mut parts = value.split(':');
                let mut part = || parts.next();
                record.patches.push(Patch {
                    address: number(part()?)?,
                    before: octets(part()?)?,
                    after: octets(part()?)?,
                });
            }
            _ => return None,
        }
        Some(())
    })?;
    let fits = |patch: &Patch| patch.before.len() == patch.after.len();
    record.patches.iter().all(fits).then_some(record)
}

fn hex(octets: &[u8]) -> String {
    octets.iter().fold(String::new(), |mut text, octet| {
        let _ = write!(text, "{octet:02x}");
        text
    })
}

fn octets(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

/// Returns the checksum of a program's file.
#[must_use]
pub fn build_of(file: &[u8]) -> u32 {
    crc32fast::hash(file)
}

/// Returns the number of this boot.
#[must_use]
pub fn boot() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

/// Returns when a process or thread started, in the kernel's ticks; `None` if there is none, or it has ended.
#[must_use]
pub fn started(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything; the 22nd field is the 20th after it.
    let rest = text.rsplit_once(')')?.1;
    let mut words = rest.split_ascii_whitespace();
    let state = words.next()?;
    // One that has ended stays there until its parent takes notice.
    (!matches!(state, "Z" | "X")).then(|| words.nth(18)?.parse().ok())?
}

/// The first word of a line, with the number of its form.
const FORM: &str = "graft/2";
/// No record is longer, in octets.
const LONGEST: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn own() -> Record {
        let pid = std::process::id();
        Record {
            pid,
            started: started(pid).unwrap(),
            boot: boot(),
            build: 7,
            code: (0x7000, 0x40),
            shared: (0x9000, 0x100),
            keeper: (pid, started(pid).unwrap()),
            patches: vec![Patch {
                address: 0x40_1000,
                before: vec![0x49, 0x89, 0xf2, 0x48, 0x89],
                after: vec![0xe9, 0, 1, 2, 3],
            }],
        }
    }

    #[test]
    fn what_was_announced_is_read_until_it_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(&folder.path().join("here")).unwrap();
        assert_eq!(journal.read(own().pid).unwrap(), None);
        journal.announce(&own()).unwrap();
        assert_eq!(journal.read(own().pid).unwrap(), Some(own()));
        journal.forget(own().pid);
        assert_eq!(journal.read(own().pid).unwrap(), None);
    }

    #[test]
    fn a_record_of_another_boot_or_of_an_earlier_process_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(&folder.path().join("here")).unwrap();
        for other in [
            Record {
                boot: "other".into(),
                ..own()
            },
            Record {
                started: own().started - 1,
                ..own()
            },
        ] {
            journal.announce(&other).unwrap();
            assert_eq!(journal.read(own().pid).unwrap(), None);
        }
    }

    #[test]
    fn one_changed_octet_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("here");
        let journal = Journal::open(&place).unwrap();
        journal.announce(&own()).unwrap();
        let file = place.join(format!("graft-{}", own().pid));
        let whole = fs::read(&file).unwrap();
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            fs::write(&file, changed).unwrap();
            assert!(journal.read(own().pid).is_err(), "octet {at}");
        }
    }

    #[test]
    fn links_and_folders_of_others_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("real");
        let journal = Journal::open(&real).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert!(Journal::open(&link).is_err());
        // A link in the place of a record is not followed.
        fs::write(folder.path().join("elsewhere"), "graft/1").unwrap();
        let name = real.join(format!("graft-{}", own().pid));
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &name).unwrap();
        assert!(journal.read(own().pid).is_err());
        fs::set_permissions(&real, fs::Permissions::from_mode(0o755)).unwrap();
        let said = Journal::open(&real).unwrap_err().to_string();
        assert!(said.contains("others may use it"), "{said}");
    }
}
