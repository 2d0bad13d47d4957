//! Where results go: a file that appears whole or not at all.
//!
//! Opening a [`Destination`] proves that it can be written before any work starts. The bytes go to
//! a temporary file beside it, which takes its name in one step at the end; dropping the
//! destination before that, on whatever way, leaves nothing behind.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// A file to be written once.
#[derive(Debug)]
pub struct Destination(Kind);

#[derive(Debug)]
enum Kind {
    /// A regular file, new or to be replaced.
    Replace {
        path: PathBuf,
        staged: NamedTempFile,
    },
    /// A device, pipe or socket: replacing it would destroy it, so it is written in place.
    Through(fs::File),
}

impl Destination {
    /// Claims `path` for one result.
    ///
    /// # Errors
    /// Whatever keeps the file from being written: a missing or read-only directory, a directory
    /// in its place, a read-only file.
    pub fn open(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(meta) if meta.is_file() => {
                // Renaming would get round the file's own protection.
                fs::OpenOptions::new().append(true).open(path)?;
                // What a symbolic link points to is replaced, not the link.
                Self::replace(&fs::canonicalize(path)?)
            }
            Ok(_) => Ok(Self(Kind::Through(
                fs::OpenOptions::new().write(true).open(path)?,
            ))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::replace(path),
            Err(error) => Err(error),
        }
    }

    fn replace(path: &Path) -> io::Result<Self> {
        let parent = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        if path.file_name().is_none() {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        Ok(Self(Kind::Replace {
            path: path.to_owned(),
            staged: stage(parent)?,
        }))
    }

    /// Writes the whole result and gives it its name.
    ///
    /// # Errors
    /// A full disk, or a directory that went away in the meantime; then nothing is left behind.
    pub fn write(self, contents: &[u8]) -> io::Result<()> {
        match self.0 {
            Kind::Replace { path, mut staged } => {
                staged.write_all(contents)?;
                staged.persist(path).map_err(|error| error.error)?;
                Ok(())
            }
            Kind::Through(mut file) => file.write_all(contents),
        }
    }
}

/// A directory to be filled with files, each whole or absent.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// The directories made for it, innermost first; removed again if nothing came of it.
    made: Vec<PathBuf>,
}

impl Folder {
    /// Claims `path`, making it and its parents where they are missing.
    ///
    /// # Errors
    /// Whatever keeps files from being written there.
    pub fn open(path: &Path) -> io::Result<Self> {
        let missing = path
            .ancestors()
            .take_while(|p| *p != Path::new("") && !p.exists());
        let folder = Self {
            made: missing.map(Path::to_owned).collect(),
            path: path.to_owned(),
        };
        fs::create_dir_all(path)?;
        stage(path)?;
        Ok(folder)
    }

    /// Writes one file of the folder.
    ///
    /// # Errors
    /// As [`Destination::open`] and [`Destination::write`].
    pub fn write(&mut self, name: &str, contents: &[u8]) -> io::Result<()> {
        Destination::open(&self.path.join(name))?.write(contents)?;
        self.made.clear();
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        for directory in &self.made {
            // One that holds something is somebody's by now, and stays.
            if fs::remove_dir(directory).is_err() {
                break;
            }
        }
    }
}

/// A hidden file in `directory` that goes away unless it is given a name.
fn stage(directory: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(".tinygram-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // What any new file gets; the user's umask takes its part away.
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
        drop(Destination::open(&home.path().join("out.json")).unwrap());
        drop(Folder::open(&home.path().join("deep/figures")).unwrap());
        assert_eq!(names(home.path()), [""; 0]);
    }

    #[test]
    fn a_folder_keeps_what_was_written() {
        let home = tempfile::tempdir().unwrap();
        let mut folder = Folder::open(&home.path().join("deep/figures")).unwrap();
        folder.write("a.svg", b"<svg/>").unwrap();
        drop(folder);
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
