//! Network namespaces: makes them, finds them, and enters them on a thread of their own.
//!
//! A namespace made here has no name and no process. It exists as long as a descriptor is open, so
//! nothing is left behind however the program ends. Other programs reach it by [`Namespace::path`].

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

/// An open network namespace, held by a descriptor.
#[derive(Clone, Debug)]
pub struct Namespace {
    file: Arc<File>,
    /// The inode by which it is known while it exists. When it has ended, another may have this number.
    pub inode: u32,
}

/// The reason why there is no namespace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Neither network nor user namespaces may be made.
    #[error(
        "making network namespaces is not allowed here; it needs root (CAP_SYS_ADMIN), or user namespaces \
         (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns)"
    )]
    NotAllowed,
    /// Namespaces are opened by their files in /proc.
    #[error(
        "/proc is not mounted here, and network namespaces are opened through it; mount -t proc proc /proc"
    )]
    NoProc,
    /// There is no namespace with this name.
    #[error("there is no network namespace {0}; `ip netns list` shows their names")]
    NoSuchName(String),
    /// The system refused.
    #[error("{doing}: {error}")]
    Io {
        /// The operation that failed.
        doing: &'static str,
        /// The system's error.
        #[source]
        error: io::Error,
    },
}

/// Acquires the right to make namespaces. If this process does not have it, the process becomes
/// root in a user namespace of its own and stays there.
///
/// # Errors
/// Neither is allowed. Call it before any other thread is started, because only a process with one
/// thread can enter a user namespace.
pub fn acquire_privilege() -> Result<(), Error> {
    if !Path::new("/proc/self/ns").exists() {
        return Err(Error::NoProc);
    }
    if Namespace::new().is_ok() {
        return Ok(());
    }
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    // SAFETY: new namespaces close and move no descriptor.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNET) }
        .map_err(|_| Error::NotAllowed)?;
    let maps = [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("0 {} 1", user.as_raw())),
        ("/proc/self/gid_map", format!("0 {} 1", group.as_raw())),
    ];
    for (file, map) in maps {
        fs::write(file, map).map_err(|_| Error::NotAllowed)?;
    }
    Namespace::new().map(drop).map_err(|_| Error::NotAllowed)
}

impl Namespace {
    /// Makes a namespace. Its loopback device is down, as in every new namespace.
    ///
    /// # Errors
    /// Returns the system's error; without the privilege, [`io::ErrorKind::PermissionDenied`].
    pub fn new() -> io::Result<Self> {
        on_a_thread(|| {
            // SAFETY: a new network namespace closes and moves no descriptor.
            unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }?;
            Self::own()
        })?
    }

    /// Opens the namespace that this thread is in.
    ///
    /// # Errors
    /// Returns the system's error.
    pub fn own() -> io::Result<Self> {
        Self::at("/proc/thread-self/ns/net".as_ref())
    }

    /// Opens the namespace of a process.
    ///
    /// # Errors
    /// Returns the system's error, as when the process has ended.
    pub fn of(pid: u32) -> io::Result<Self> {
        Self::at(format!("/proc/{pid}/ns/net").as_ref())
    }

    /// Opens the namespace that `ip netns add NAME` has made.
    ///
    /// # Errors
    /// There is no namespace with this name, or it may not be opened.
    pub fn named(name: &str) -> Result<Self, Error> {
        let is_plain = !name.is_empty() && !name.contains('/') && name != "." && name != "..";
        let path = Path::new(NAMES).join(name);
        if !is_plain || !path.exists() {
            return Err(Error::NoSuchName(name.to_owned()));
        }
        let doing = "opening the network namespace";
        Self::at(&path).map_err(|error| Error::Io { doing, error })
    }

    /// Returns the namespace with this inode; `None` if it has no name (`ip netns`) and no process is in it that
    /// this one may look at.
    #[must_use]
    pub fn find(inode: u32) -> Option<Self> {
        let is_it = |found: &Self| found.inode == inode;
        let own = Self::own().ok().filter(is_it);
        own.or_else(|| reachable().find(is_it))
    }

    /// Returns every namespace that has a name (`ip netns`) or that a process is in that this one may look at, each once.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for namespace in reachable() {
            if all.iter().all(|other| other.inode != namespace.inode) {
                all.push(namespace);
            }
        }
        all
    }

    fn at(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let inode = u32::try_from(file.metadata()?.ino()).unwrap_or(0);
        let file = Arc::new(file);
        Ok(Self { file, inode })
    }

    /// Does `work` inside the namespace: on a thread of its own, unless this thread is there.
    ///
    /// # Errors
    /// Returns the error of entering the namespace: it takes CAP_SYS_ADMIN to enter another one.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        if Self::own()?.inode == self.inode {
            return Ok(work());
        }
        on_a_thread(|| {
            self.enter()?;
            Ok(work())
        })?
    }

    /// Moves the calling thread inside.
    ///
    /// # Errors
    /// Returns the system's error.
    pub fn enter(&self) -> io::Result<()> {
        move_into_link_name_space(self.file.as_fd(), Some(LinkNameSpaceType::Network))?;
        Ok(())
    }

    /// Returns the path where other programs find the namespace while this process runs: `nsenter
    /// --net=PATH`.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        let (pid, fd) = (std::process::id(), self.file.as_raw_fd());
        format!("/proc/{pid}/fd/{fd}").into()
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Returns the namespaces of processes that this one may look at, then those that have a name; some of them twice.
fn reachable() -> impl Iterator<Item = Namespace> {
    let entries = |folder: &str| fs::read_dir(folder).into_iter().flatten().flatten();
    let processes = entries("/proc").filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let named = entries(NAMES).map(|entry| Namespace::at(&entry.path()));
    processes.map(Namespace::of).chain(named).flatten()
}

/// Runs `work` on a new thread, because a thread that has changed its namespace is not used for anything else.
fn on_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, work)?;
        match thread.join() {
            Ok(result) => Ok(result),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// The folder where iproute2 keeps names.
const NAMES: &str = "/run/netns";
