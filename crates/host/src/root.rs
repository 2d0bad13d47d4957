//! Where the host's files are: at `/`, or where they are mounted in a container.

use std::io;
use std::path::{Path, PathBuf};

/// The root of the host's files. The default is `/host` in a container to which the host's files are mounted there
/// (`kubectl debug node/NAME` does so), else `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Root {
    /// Returns the root at this folder.
    ///
    /// # Errors
    ///
    /// Says in one line what is wrong and what is accepted.
    pub fn at(folder: &Path) -> Result<Self, String> {
        let shown = folder.display();
        match folder.metadata() {
            Ok(about) if about.is_dir() => Ok(Self(folder.to_owned())),
            Ok(_) => Err(format!(
                "{shown} is no folder: accepted is the folder at which the host's root is mounted"
            )),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(format!(
                "there is no folder {shown}: accepted is the folder at which the host's root is mounted"
            )),
            Err(error) => Err(format!("{shown}: {error}")),
        }
    }

    /// Returns a path of the host's.
    #[must_use]
    pub fn join(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }

    /// Returns the folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Default for Root {
    fn default() -> Self {
        let is_mounted = |path: &&str| Path::new(MOUNTED).join(path).is_dir();
        match SIGNS.iter().any(is_mounted) {
            true => Self(MOUNTED.into()),
            false => Self("/".into()),
        }
    }
}

/// Where `kubectl debug` mounts the node's root.
const MOUNTED: &str = "/host";
/// What shows that a host's files are there: the whole root, or as little as names take.
const SIGNS: [&str; 2] = ["var/log/pods", "sys/fs/cgroup"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(
            Root::at(folder.path()).map(|root| root.join("/var/log")),
            Ok(folder.path().join("var/log"))
        );
        let missing = Root::at(&folder.path().join("none")).unwrap_err();
        assert!(missing.contains("accepted"), "{missing}");
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(Root::at(&file).unwrap_err().contains("no folder"));
    }
}
