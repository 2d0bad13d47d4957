//! Output files that appear whole or not at all.
//!
//! Opening a [`Destination`] proves, before any work, that it can be written, and leaves nothing on
//! the disk. The contents go to a temporary file beside it, which is renamed in one step.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// A file that is written once.
#[derive(Debug)]
pub struct Destination {
    path: PathBuf,
    /// Whether to write in place: devices, pipes and sockets would be destroyed by replacing them.
    in_place: bool,
}

impl Destination {
    /// Checks that `path` can be written.
    ///
    /// # Errors
    /// Whatever prevents writing the file: a missing or read-only directory, a directory in its
    /// place, a read-only file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let in_place = match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(meta) => {
                // Renaming would bypass a read-only file's protection.
                fs::OpenOptions::new().append(true).open(path)?;
                !meta.is_file()
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        let destination = Self {
            // The target of a symbolic link is replaced, not the link.
            path: fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()),
            in_place,
        };
        if !in_place {
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
        if self.in_place {
            let file = fs::OpenOptions::new().write(true).open(&self.path)?;
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
