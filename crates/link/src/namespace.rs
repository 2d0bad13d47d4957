//! Network namespaces: makes them, finds them by name, and enters them on a thread of their own.
//!
//! A namespace made here has no name and no process. It exists as long as a descriptor is open, so
//! nothing is left behind however the program ends. Other programs reach it by [`Namespace::path`].

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::thread;

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

/// An open network namespace.
#[derive(Debug)]
pub struct Namespace(File);

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
            File::open(OF_THIS_THREAD).map(Self)
        })
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
        File::open(path)
            .map(Self)
            .map_err(|error| Error::Io { doing, error })
    }

    /// Opens the namespace that this thread is in.
    ///
    /// # Errors
    /// Returns the system's error.
    pub fn current() -> io::Result<Self> {
        File::open(OF_THIS_THREAD).map(Self)
    }

    /// Returns another descriptor of the same namespace.
    ///
    /// # Errors
    /// Returns the system's error.
    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Runs `work` inside the namespace, on a thread of its own.
    ///
    /// # Errors
    /// Returns the error of entering the namespace, or the error of `work`.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        on_a_thread(|| {
            self.enter()?;
            work()
        })
    }

    /// Moves the calling thread inside.
    ///
    /// # Errors
    /// Returns the system's error.
    pub fn enter(&self) -> io::Result<()> {
        move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::Network))?;
        Ok(())
    }

    /// Returns the path where other programs find the namespace while this process runs: `nsenter
    /// --net=PATH`.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        let (pid, fd) = (std::process::id(), self.0.as_raw_fd());
        format!("/proc/{pid}/fd/{fd}").into()
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Runs `work` on a new thread, because a thread that has changed its namespace is not used for anything else.
fn on_a_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, work)?;
        match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

const OF_THIS_THREAD: &str = "/proc/thread-self/ns/net";
/// The folder where iproute2 keeps names.
const NAMES: &str = "/run/netns";
