//! Where the host's files are: at `/`, or where they are mounted in a container.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use procfs::process::Process;

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

/// Returns the root of the host that this process does not have itself: in a chroot, or in a container that shares the host's
/// process IDs. It is that of the farthest of its ancestors whose root may be looked at, as a path below `/proc`; `None` if that
/// is this process's own.
#[must_use]
pub fn hidden() -> Option<PathBuf> {
    let own = about(Path::new("/"))?;
    let ancestors = std::iter::successors(parent(std::process::id()), |pid| parent(*pid));
    let roots = ancestors.map(|pid| PathBuf::from(format!("/proc/{pid}/root")));
    let farthest = roots
        .filter_map(|root| about(&root).map(|about| (root, about)))
        .last()?;
    (farthest.1 != own).then_some(farthest.0)
}

/// Returns whether there may be a host's root that this process may not look at: that of an ancestor of another user.
#[must_use]
pub fn may_be_hidden() -> bool {
    let ancestors = std::iter::successors(parent(std::process::id()), |pid| parent(*pid));
    let mut roots = ancestors.map(|pid| PathBuf::from(format!("/proc/{pid}/root")));
    roots.any(|root| about(&root).is_none())
}

/// Returns the device and the inode of a folder.
fn about(folder: &Path) -> Option<(u64, u64)> {
    let about = folder.metadata().ok()?;
    Some((about.dev(), about.ino()))
}

fn parent(pid: u32) -> Option<u32> {
    let process = Process::new(pid.try_into().ok()?).ok()?;
    let parent = process.stat().ok()?.ppid;
    u32::try_from(parent).ok().filter(|pid| *pid != 0)
}

/// Where `kubectl debug` mounts the node's root.
const MOUNTED: &str = "/host";
/// What shows that a host's files are there: the whole root, or as little as names take.
const SIGNS: [&str; 2] = ["var/log/pods", "sys/fs/cgroup"];

#[cfg(test)]
mod tests {
    use super::*;

    /// A test mostly runs where its ancestors do; in a chroot, or in a container that shares the host's process IDs, it does not.
    #[test]
    fn what_hides_the_host_is_that_an_ancestor_has_another_root() {
        let parent_of = |pid: &u32| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
            let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
            line.trim().parse().ok().filter(|pid| *pid != 0)
        };
        let first = std::os::unix::process::parent_id();
        let ancestors = std::iter::successors(Some(first), parent_of);
        let roots = ancestors.filter_map(|pid| about(Path::new(&format!("/proc/{pid}/root"))));
        let (farthest, own) = (roots.last(), about(Path::new("/")));
        assert!(own.is_some());
        assert_eq!(
            hidden().map(|root| about(&root)),
            farthest.filter(|root| Some(*root) != own).map(Some)
        );
        assert_eq!(
            parent(std::process::id()),
            Some(std::os::unix::process::parent_id())
        );
        assert_eq!(parent(u32::MAX), None);
    }

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
