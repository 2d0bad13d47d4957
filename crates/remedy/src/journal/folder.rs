//! The folder of the journal: nobody else's, and no link.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, FlockOperation, Mode, OFlags, flock, fstat, mkdir, open, openat};

use super::{JournalError, refused};

pub(super) struct Folder {
    descriptor: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Opens the folder, and makes it if it is missing.
    pub(super) fn open(path: &Path) -> Result<Self, JournalError> {
        match mkdir(path, Mode::RWXU) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(refused(path, "making the folder", error.into())),
        }
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let descriptor = open(path, flags, Mode::empty())
            .map_err(|error| refused(path, "opening the folder", error.into()))?;
        let folder = Self {
            descriptor,
            path: path.to_owned(),
        };
        folder.trust(path, &folder.descriptor, FileType::Directory)?;
        Ok(folder)
    }

    /// Returns the path of a file in the folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Opens a file for reading and appending, and makes it if it is missing.
    pub(super) fn file(&self, name: &str) -> Result<File, JournalError> {
        let flags =
            OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let path = self.path(name);
        let file = openat(&self.descriptor, name, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|error| refused(&path, "opening", error.into()))?;
        self.trust(&path, &file, FileType::RegularFile)?;
        Ok(file.into())
    }

    /// Waits until no other process has the journal, and returns the lock.
    pub(super) fn locked(&self) -> Result<File, JournalError> {
        let lock = self.file("lock")?;
        loop {
            match flock(&lock, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(lock),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    return Err(refused(&self.path("lock"), "locking", error.into()));
                }
            }
        }
    }

    /// Checks that only this user can have written to it.
    fn trust(&self, path: &Path, of: &OwnedFd, kind: FileType) -> Result<(), JournalError> {
        let about = fstat(of).map_err(|error| refused(path, "looking at", error.into()))?;
        let user = rustix::process::geteuid().as_raw();
        let mode = Mode::from_raw_mode(about.st_mode);
        let why = if FileType::from_raw_mode(about.st_mode) != kind {
            Some("it is of another kind than it should be".to_owned())
        } else if about.st_uid != user {
            Some(format!(
                "it belongs to user {} and not to {user}",
                about.st_uid
            ))
        } else if mode.intersects(Mode::RWXG | Mode::RWXO) {
            Some(format!(
                "others may use it (mode {:o}); accepted is 0700 for the folder, 0600 for its files",
                about.st_mode & 0o777
            ))
        } else if kind == FileType::RegularFile && about.st_nlink != 1 {
            Some(format!("it has {} names", about.st_nlink))
        } else {
            None
        };
        match why {
            None => Ok(()),
            Some(why) => Err(JournalError::Untrusted {
                path: path.display().to_string(),
                why,
            }),
        }
    }
}
