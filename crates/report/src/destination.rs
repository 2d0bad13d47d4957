//! Output files that appear whole or not at all.
//!
//! Opening a [`Destination`] proves, before any work, that it can be written, and leaves nothing on
//! the disk. The contents go to a temporary file beside it, which is renamed in one step.

use std::fs;
use std::io::{self, Write};
#[cfg(unix)]
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// A file that is written once.
#[derive(Debug)]
pub struct Destination {
    path: PathBuf,
    /// What is written in place, already open: devices, pipes and sockets would be destroyed by
    /// replacing them, and who reads a pipe takes its closing for the end.
    in_place: Option<fs::File>,
}

impl Destination {
    /// Checks that `path` can be written.
    ///
    /// # Errors
    /// Whatever prevents writing the file: a missing or read-only directory, a directory in its
    /// place, a read-only file, a named pipe that nobody reads.
    pub fn open(path: &Path) -> io::Result<Self> {
        let in_place = match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(meta) if meta.is_file() => {
                // Renaming would bypass a read-only file's protection.
                fs::OpenOptions::new().append(true).open(path)?;
                None
            }
            Ok(_) => Some(in_place(path)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let destination = Self {
            // The target of a symbolic link is replaced, not the link.
            path: fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()),
            in_place,
        };
        if destination.in_place.is_none() {
            stage(destination.directory()?)?;
        }
        Ok(destination)
    }

    /// Writes the whole contents and renames the file to its final name.
    ///
    /// # Errors
    /// A full disk, or a directory that was removed meanwhile; then nothing is left behind.
    pub fn write(self, contents: &[u8]) -> io::Result<()> {
        self.fill(|file| file.write_all(contents))
    }

    /// Lets `fill` write the whole contents, piece by piece, and renames the file to its final
    /// name.
    ///
    /// # Errors
    /// Those of [`Destination::write`], and those of `fill`.
    pub fn fill(self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        if let Some(file) = self.in_place {
            let mut buffered = io::BufWriter::new(file);
            fill(&mut buffered)?;
            return buffered.flush();
        }
        let mut buffered = io::BufWriter::new(stage(self.directory()?)?);
        fill(&mut buffered)?;
        let staged = buffered
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        staged.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }

    fn directory(&self) -> io::Result<&Path> {
        if self.path.file_name().is_none() {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        match self.path.parent() {
            Some(parent) if parent != Path::new("") => Ok(parent),
            _ => Ok(Path::new(".")),
        }
    }
}

/// A directory to be filled with files, each of which appears whole or not at all.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Checks that files can be written into `path`, which need not exist yet.
    ///
    /// # Errors
    /// Whatever prevents writing them: a file in its place, a read-only parent.
    pub fn open(path: &Path) -> io::Result<Self> {
        let existing = path
            .ancestors()
            .map(|p| {
                if p == Path::new("") {
                    Path::new(".")
                } else {
                    p
                }
            })
            .find(|p| p.exists());
        match existing {
            Some(place) if place.is_dir() => stage(place)?,
            _ => return Err(io::ErrorKind::NotADirectory.into()),
        };
        Ok(Self {
            path: path.to_owned(),
        })
    }

    /// Writes one file into the folder, and creates the folder if it is missing.
    ///
    /// # Errors
    /// Those of [`Destination::open`] and [`Destination::write`].
    pub fn write(&self, name: &str, contents: &[u8]) -> io::Result<()> {
        fs::create_dir_all(&self.path)?;
        Destination::open(&self.path.join(name))?.write(contents)
    }
}

/// Opens a device, pipe or socket for writing. The open of a named pipe that nobody reads would wait
/// for a reader; it is refused.
#[cfg(unix)]
fn in_place(path: &Path) -> io::Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    let opened = fs::OpenOptions::new()
        .append(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ENXIO) => io::Error::other("nobody reads this pipe; start its reader first"),
        _ => error,
    })?;
    // From here on a write waits for its reader.
    // SAFETY: the flags of a descriptor of our own.
    let cleared = unsafe {
        let flags = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
        libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags & !libc::O_NONBLOCK)
    };
    match cleared {
        0 => Ok(file),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(not(unix))]
fn in_place(path: &Path) -> io::Result<fs::File> {
    fs::OpenOptions::new().append(true).open(path)
}

/// Creates a hidden file in `directory` that is removed unless it is renamed.
fn stage(directory: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(".tinygram-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The permissions of any new file, before the user's umask.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipe(directory: &Path) -> PathBuf {
        let path = directory.join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        path
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_that_nobody_reads_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let refused = Destination::open(&pipe(directory.path())).unwrap_err();
        assert!(refused.to_string().contains("nobody reads"), "{refused}");
    }

    #[cfg(unix)]
    #[test]
    fn whoever_reads_a_pipe_gets_everything() {
        let directory = tempfile::tempdir().unwrap();
        let path = pipe(directory.path());
        let reader = std::thread::spawn({
            let path = path.clone();
            move || fs::read(path).unwrap()
        });
        let destination = loop {
            match Destination::open(&path) {
                Ok(destination) => break destination,
                Err(_) => std::thread::yield_now(),
            }
        };
        // More than a pipe holds at once.
        let contents = vec![7; 1 << 20];
        destination.write(&contents).unwrap();
        assert_eq!(reader.join().unwrap().len(), contents.len());
    }

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_result_replaces_the_old_one_in_one_step() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("out.json");
        fs::write(&path, "old").unwrap();
        let destination = Destination::open(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        destination.write(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(home.path()), ["out.json"]);
    }

    #[test]
    fn a_run_that_is_given_up_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        Destination::open(&home.path().join("out.json")).unwrap();
        Folder::open(&home.path().join("deep/figures")).unwrap();
        assert_eq!(names(home.path()), [""; 0]);
    }

    #[test]
    fn a_folder_keeps_what_was_written() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(&home.path().join("deep/figures")).unwrap();
        folder.write("a.svg", b"<svg/>").unwrap();
        assert_eq!(names(&home.path().join("deep/figures")), ["a.svg"]);
    }

    #[test]
    fn the_unwritable_is_refused_before_any_work() {
        let home = tempfile::tempdir().unwrap();
        let refused = |path: &Path| Destination::open(path).unwrap_err().kind();
        assert_eq!(refused(home.path()), io::ErrorKind::IsADirectory);
        assert_eq!(
            refused(&home.path().join("missing/out")),
            io::ErrorKind::NotFound
        );
        assert!(Folder::open(Path::new("/dev/null/figures")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_written_through_not_replaced() {
        use std::os::unix::fs::FileTypeExt;
        Destination::open(Path::new("/dev/null"))
            .unwrap()
            .write(b"gone")
            .unwrap();
        assert!(
            fs::metadata("/dev/null")
                .unwrap()
                .file_type()
                .is_char_device()
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let home = tempfile::tempdir().unwrap();
        let (file, link) = (home.path().join("file"), home.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        Destination::open(&link).unwrap().write(b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    }
}
