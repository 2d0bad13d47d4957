//! Files named on the command line: those that are read, and those to which results are written.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::outcome::Failure;
use crate::printable::printable;

/// A source to read.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    File(PathBuf),
    Stdin,
    /// Given by a program that embeds this one.
    Given(Once),
}

/// A source to read in place of a file.
pub struct Given {
    /// Its name in rows and errors.
    pub name: String,
    /// Opens it when it is needed.
    pub open: Open,
}

/// Opens a source, once.
pub type Open = Box<dyn FnOnce() -> io::Result<Box<dyn io::Read + Send>> + Send>;

/// A source from an embedding program, which is opened once, when it is needed.
#[derive(Clone)]
pub(crate) struct Once {
    name: String,
    open: Arc<Mutex<Option<Open>>>,
}

impl From<Given> for Input {
    fn from(given: Given) -> Self {
        Self::Given(Once {
            name: given.name,
            open: Arc::new(Mutex::new(Some(given.open))),
        })
    }
}

impl Once {
    /// Opens the source.
    pub(crate) fn open(&self) -> io::Result<Box<dyn io::Read + Send>> {
        let open = self.open.lock().ok().and_then(|mut open| open.take());
        open.map_or_else(|| Err(io::Error::other("was read already")), |open| open())
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Opens a file to be read; returns its size, too. Pipes have no size.
pub(crate) fn open(path: &Path) -> io::Result<(File, Option<u64>)> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    let size = about.is_file().then_some(about.len());
    Ok((file, size))
}

impl Input {
    /// Returns the name for people.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) => printable(&path.display().to_string()),
            Self::Stdin => "standard input".to_owned(),
            Self::Given(once) => once.name.clone(),
        }
    }

    /// Returns the inputs that were named, which were checked to exist. `accepted` says what kind
    /// of file is expected.
    pub(crate) fn all(typed: &[PathBuf], accepted: &str) -> Result<Vec<Self>, Failure> {
        let mut inputs = Vec::new();
        for path in typed {
            if path.as_os_str() == "-" {
                if inputs.iter().any(|input| matches!(input, Self::Stdin)) {
                    return Err(Failure::Input(
                        "- stands for standard input, which can be read once".to_owned(),
                    ));
                }
                inputs.push(Self::Stdin);
                continue;
            }
            check(path, accepted)?;
            inputs.push(Self::File(path.clone()));
        }
        Ok(inputs)
    }

    /// As [`Input::all`], but what cannot be read of several is returned beside the rest.
    pub(crate) fn readable(typed: &[PathBuf], accepted: &str) -> Result<Readable, Failure> {
        if typed.len() < 2 {
            return Ok((Self::all(typed, accepted)?, Vec::new()));
        }
        let (mut sound, mut unread) = (Vec::new(), Vec::new());
        for path in typed {
            match check(path, accepted) {
                Err(failure) if path.as_os_str() != "-" => unread.push(failure),
                _ => sound.push(path.clone()),
            }
        }
        Ok((Self::all(&sound, accepted)?, unread))
    }
}

/// The inputs that can be read, and why others cannot.
pub(crate) type Readable = (Vec<Input>, Vec<Failure>);

/// Refuses what is not there, or is a folder.
fn check(path: &Path, accepted: &str) -> Result<(), Failure> {
    let failure = |error| Failure::Io {
        doing: format!("reading {}", path.display()),
        error,
    };
    if std::fs::metadata(path).map_err(failure)?.is_dir() {
        return Err(Failure::Input(format!(
            "{} is a folder (accepted: {accepted}, or - for standard input)",
            path.display()
        )));
    }
    Ok(())
}

/// Refuses to write to one of the files that are `read`, each of which is a `kind`.
pub(crate) fn refuse_overwriting(out: &Path, read: &[PathBuf], kind: &str) -> Result<(), Failure> {
    let Ok(out) = out.canonicalize() else {
        return Ok(());
    };
    let same = |path: &&PathBuf| path.canonicalize().is_ok_and(|path| path == out);
    match read.iter().find(same) {
        Some(path) => Err(Failure::Input(format!(
            "{} is a {kind} to read and would be overwritten (accepted: another file)",
            path.display()
        ))),
        None => Ok(()),
    }
}

/// Refuses two flags that name the same file.
pub(crate) fn each_its_own(files: &[(&str, &Option<PathBuf>)]) -> Result<(), Failure> {
    for (at, (flag, path)) in files.iter().enumerate() {
        let same = |(_, other): &&(&str, &Option<PathBuf>)| path.is_some() && other == path;
        if let Some((other, _)) = files[..at].iter().find(same) {
            let line = format!("{other} and {flag} name the same file; each needs its own");
            return Err(Failure::Input(line));
        }
    }
    Ok(())
}

/// What was opened, with the path that was named.
type Opened<T> = Result<Option<(PathBuf, T)>, Failure>;

/// Opens the named path, or says why it cannot be written.
pub(crate) fn opened<T>(path: Option<&Path>, open: impl Fn(&Path) -> io::Result<T>) -> Opened<T> {
    path.map(|path| match open(path) {
        Ok(place) => Ok((path.to_owned(), place)),
        Err(error) => Err(failed(path, error)),
    })
    .transpose()
}

/// Returns the failure for a file that cannot be written.
pub(crate) fn failed(path: &Path, error: io::Error) -> Failure {
    Failure::Io {
        doing: format!("cannot write {}", path.display()),
        error,
    }
}
