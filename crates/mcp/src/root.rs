//! The folders whose files may be read, and how a file in them is opened.

use std::path::{Component, Path, PathBuf};

use crate::refusal::Refusal;
use crate::untrusted::name;

/// The folders, and how large a file may be.
#[derive(Debug)]
pub(crate) struct Roots {
    folders: Vec<PathBuf>,
    most_octets: u64,
}

/// A file that may be read.
#[derive(Debug)]
pub(crate) struct Opened {
    /// As the client called it.
    pub(crate) name: String,
    /// How a process that inherits it opens it.
    pub(crate) path: PathBuf,
    /// What keeps it open: a handle that can neither be read nor written.
    #[cfg(target_os = "linux")]
    pub(crate) handle: std::os::fd::OwnedFd,
}

impl Roots {
    /// Returns these folders, of which files up to `most_octets` are read.
    ///
    /// # Errors
    ///
    /// A folder is not there, or this user may not open what is in it.
    pub(crate) fn new(folders: &[PathBuf], most_octets: u64) -> Result<Self, String> {
        // Who may not search a folder does not find `.` in it, and would open no file there.
        let found = |folder: &PathBuf| {
            let real = folder.canonicalize()?;
            if real.is_dir() {
                real.join(".").metadata()?;
            }
            Ok::<_, std::io::Error>(real)
        };
        let real = |folder: &PathBuf| match found(folder) {
            Ok(real) if real.is_dir() => Ok(real),
            Ok(_) => Err(format!("--root {}: accepted is a folder", folder.display())),
            Err(error) => Err(format!("--root {}: {error}", folder.display())),
        };
        Ok(Self {
            folders: folders.iter().map(real).collect::<Result<_, _>>()?,
            most_octets,
        })
    }

    /// Opens a file beneath one of the folders: a plain one, of bounded size, whose path leads through no symbolic link.
    pub(crate) fn open(&self, typed: &str) -> Result<Opened, Refusal> {
        if self.folders.is_empty() {
            return Err(Refusal::asked(
                "this server may read no file: accepted once it is started as tinygram mcp --root FOLDER",
            ));
        }
        let path = Path::new(typed);
        let mut refused = None;
        for folder in &self.folders {
            let Some(beneath) = beneath(folder, path) else {
                continue;
            };
            match self.open_beneath(folder, &beneath) {
                Ok(opened) => return Ok(opened),
                Err(why) => refused = refused.or(Some(why)),
            }
        }
        Err(Refusal::asked(match refused {
            Some(why) => format!("{}: {why}", name(typed)),
            None => format!(
                "{}: outside of what may be read; accepted are files beneath {}",
                name(typed),
                self.told()
            ),
        }))
    }

    fn told(&self) -> String {
        let folders: Vec<_> = self
            .folders
            .iter()
            .map(|folder| name(&folder.to_string_lossy()))
            .collect();
        folders.join(", ")
    }

    fn checked(&self, is_file: bool, octets: u64) -> Result<(), String> {
        match (is_file, octets <= self.most_octets) {
            (false, _) => {
                Err("accepted are plain files (no folder, device, pipe or socket)".to_owned())
            }
            (true, false) => Err(format!(
                "{octets} octets; accepted are files of up to {} octets (tinygram mcp --max-file)",
                self.most_octets
            )),
            (true, true) => Ok(()),
        }
    }

    #[cfg(target_os = "linux")]
    fn open_beneath(&self, folder: &Path, path: &Path) -> Result<Opened, String> {
        use std::os::fd::{AsRawFd, OwnedFd};

        use rustix::fs::{FileType, Mode, OFlags, fstat, open, openat};

        let told = |error: rustix::io::Errno| {
            match error {
            rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR => {
                "a symbolic link or a file stands in its path; accepted are files beneath plain folders".to_owned()
            }
            other => crate::plain(&other.into()),
        }
        };
        // A handle that cannot be read: to get one opens no device and waits for no pipe.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut at: OwnedFd =
            open(folder, flags | OFlags::DIRECTORY, Mode::empty()).map_err(told)?;
        let parts: Vec<_> = path.components().collect();
        for (number, part) in parts.iter().enumerate() {
            let last = number + 1 == parts.len();
            let how = if last {
                flags
            } else {
                flags | OFlags::DIRECTORY
            };
            at = openat(&at, part.as_os_str(), how, Mode::empty()).map_err(told)?;
        }
        let about = fstat(&at).map_err(told)?;
        let kind = FileType::from_raw_mode(about.st_mode);
        if kind == FileType::Symlink {
            return Err(told(rustix::io::Errno::LOOP));
        }
        self.checked(
            kind == FileType::RegularFile,
            u64::try_from(about.st_size).unwrap_or(0),
        )?;
        Ok(Opened {
            name: path.display().to_string(),
            path: PathBuf::from(format!("/proc/self/fd/{}", at.as_raw_fd())),
            handle: at,
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn open_beneath(&self, folder: &Path, path: &Path) -> Result<Opened, String> {
        let path = folder.join(path);
        let real = path.canonicalize().map_err(|error| crate::plain(&error))?;
        if real != path {
            return Err(
                "a symbolic link stands in its path; accepted are files beneath plain folders"
                    .to_owned(),
            );
        }
        let about = real.metadata().map_err(|error| crate::plain(&error))?;
        self.checked(about.is_file(), about.len())?;
        Ok(Opened {
            name: path.display().to_string(),
            path: real,
        })
    }
}

/// Returns the path below the folder; `None` if it leads out of it by its words alone.
fn beneath(folder: &Path, path: &Path) -> Option<PathBuf> {
    let path = match path.is_absolute() {
        true => path.strip_prefix(folder).ok()?,
        false => path,
    };
    let is_plain = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    let plain = path.components().filter(|part| *part != Component::CurDir);
    let plain: PathBuf = plain.collect();
    (path.components().all(|part| is_plain(&part)) && plain.components().next().is_some())
        .then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(roots: &Roots, typed: &str) -> String {
        roots.open(typed).unwrap_err().to_string()
    }

    #[test]
    fn only_plain_files_beneath_a_root_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        std::fs::create_dir_all(inside.join("deeper")).unwrap();
        std::fs::write(inside.join("deeper/a.pcap"), b"1234").unwrap();
        std::fs::write(inside.join("large.pcap"), b"12345").unwrap();
        std::fs::write(folder.path().join("secret"), b"1").unwrap();
        let roots = Roots::new(std::slice::from_ref(&inside), 4).unwrap();
        let real = inside.canonicalize().unwrap();
        assert!(roots.open("deeper/a.pcap").is_ok());
        assert!(roots.open("./deeper/a.pcap").is_ok());
        assert!(
            roots
                .open(real.join("deeper/a.pcap").to_str().unwrap())
                .is_ok()
        );
        for typed in [
            "../secret",
            "deeper/../../secret",
            "/etc/passwd",
            "",
            ".",
            "/",
        ] {
            assert!(
                refused(&roots, typed).contains("outside of what may be read"),
                "{typed}"
            );
        }
        assert!(refused(&roots, "deeper").contains("plain files"));
        assert!(refused(&roots, "large.pcap").contains("5 octets; accepted are files of up to 4"));
        assert!(refused(&roots, "absent").contains("No such file"));
        assert!(refused(&roots, "deeper/a.pcap/x").contains("accepted"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn no_link_device_or_pipe_is_opened() {
        use rustix::fs::{CWD, Mode, mkfifoat};
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::write(folder.path().join("secret"), b"1").unwrap();
        let link =
            |to: &str, name: &str| std::os::unix::fs::symlink(to, inside.join(name)).unwrap();
        link("../secret", "out");
        link("..", "up");
        link("/dev/zero", "zero");
        mkfifoat(CWD, inside.join("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        let roots = Roots::new(std::slice::from_ref(&inside), 4).unwrap();
        for typed in ["out", "up/secret", "zero"] {
            assert!(refused(&roots, typed).contains("symbolic link"), "{typed}");
        }
        // To open a pipe that nobody writes to would wait for ever.
        assert!(refused(&roots, "pipe").contains("plain files"));
        let devices = Roots::new(&[PathBuf::from("/dev")], 4).unwrap();
        assert!(refused(&devices, "zero").contains("plain files"));
    }

    #[test]
    fn without_a_root_no_file_is_read() {
        let roots = Roots::new(&[], 4).unwrap();
        assert!(refused(&roots, "a.pcap").contains("--root FOLDER"));
    }
}
