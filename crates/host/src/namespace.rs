//! Network namespaces.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::Arc;

use crate::cookie;

/// A network namespace, held by a descriptor.
#[derive(Clone, Debug)]
pub struct Namespace {
    file: Arc<File>,
    /// The inode by which it is known.
    pub inode: u32,
}

impl Namespace {
    /// Returns the namespace of this thread.
    ///
    /// # Errors
    ///
    /// Returns what the system refuses.
    pub fn own() -> io::Result<Self> {
        Self::at("/proc/thread-self/ns/net".as_ref())
    }

    /// Returns the namespace of a process.
    ///
    /// # Errors
    ///
    /// Returns what the system refuses, as when the process has ended.
    pub fn of(pid: u32) -> io::Result<Self> {
        Self::at(format!("/proc/{pid}/ns/net").as_ref())
    }

    /// Returns the namespace with this inode; `None` if it has no name (`ip netns`) and no process is in it that
    /// this one may look at.
    #[must_use]
    pub fn find(inode: u32) -> Option<Self> {
        if let Some(own) = Self::own().ok().filter(|own| own.inode == inode) {
            return Some(own);
        }
        let processes = fs::read_dir("/proc").ok()?.flatten();
        let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_it = |found: &Self| found.inode == inode;
        pids.find_map(|pid| Self::of(pid).ok().filter(is_it))
            .or_else(|| {
                let mut named = fs::read_dir("/run/netns").ok()?.flatten();
                named.find_map(|entry| Self::at(&entry.path()).ok().filter(is_it))
            })
    }

    /// Returns every namespace that has a name (`ip netns`) or that a process is in that this one may look at, each once.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let named = fs::read_dir("/run/netns").into_iter().flatten().flatten();
        let named = named.map(|entry| Self::at(&entry.path()));
        for namespace in pids.map(Self::of).chain(named).flatten() {
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

    /// Returns the kernel's number for it, which no other namespace has until the machine is started anew: an inode may be
    /// another's after it has ended. Linux 5.14 and newer tell it.
    ///
    /// # Errors
    ///
    /// Returns what the system refuses.
    pub fn cookie(&self) -> io::Result<u64> {
        self.within(|| cookie::of_namespace(&UnixDatagram::unbound()?))?
    }

    /// Does `work` in a thread that is in this namespace.
    ///
    /// # Errors
    ///
    /// Returns what the system refuses: it takes CAP_SYS_ADMIN to enter another namespace.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        if Self::own()?.inode == self.inode {
            return Ok(work());
        }
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                // SAFETY: takes numbers, and changes this thread alone, which ends with the work.
                let failed = unsafe { libc::setns(self.file.as_raw_fd(), libc::CLONE_NEWNET) };
                if failed != 0 {
                    return Err(io::Error::last_os_error());
                }
                Ok(work())
            });
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}
