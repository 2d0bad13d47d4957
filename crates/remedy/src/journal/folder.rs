//! The folder of the journal: nobody else's, and no link.

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    FileType, FlockOperation, Mode, OFlags, flock, fstat, fsync, mkdir, open, openat, renameat,
};

use super::{JournalError, refused};

pub(super) struct Folder {
    descriptor: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Opens the folder, and makes it and those above it if they are missing.
    pub(super) fn open(path: &Path) -> Result<Self, JournalError> {
        if let Some(above) = path.parent() {
            fs::create_dir_all(above)
                .map_err(|error| refused(above, "making the folder", error))?;
        }
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

    /// Waits until no other process has the lock, and takes it.
    pub(super) fn lock(&self, lock: &File) -> Result<(), JournalError> {
        loop {
            match flock(lock, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(self.not_locked(error)),
            }
        }
    }

    /// Gives the lock back.
    pub(super) fn unlock(&self, lock: &File) -> Result<(), JournalError> {
        flock(lock, FlockOperation::Unlock).map_err(|error| self.not_locked(error))
    }

    fn not_locked(&self, error: rustix::io::Errno) -> JournalError {
        refused(&self.path(super::LOCK), "locking", error.into())
    }

    /// Writes a file anew, or leaves it as it is, and returns it.
    pub(super) fn replace(&self, name: &str, octets: &[u8]) -> Result<File, JournalError> {
        let path = self.path(name);
        let new = format!("{name}.new");
        let mut file = self.file(&new)?;
        file.set_len(0)
            .and_then(|()| file.write_all(octets))
            .and_then(|()| file.sync_all())
            .map_err(|error| refused(&path, "writing it anew", error))?;
        renameat(&self.descriptor, &new, &self.descriptor, name)
            .and_then(|()| fsync(&self.descriptor))
            .map_err(|error| refused(&path, "writing it anew", error.into()))?;
        Ok(file)
    }

    /// Returns whether both are the same file.
    pub(super) fn is_same(&self, one: &File, other: &File) -> Result<bool, JournalError> {
        let about = |file: &File| {
            let about =
                fstat(file).map_err(|error| refused(&self.path, "looking at", error.into()))?;
            Ok::<_, JournalError>((about.st_dev, about.st_ino))
        };
        Ok(about(one)? == about(other)?)
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
