//! Sets an option through a copy of the program's descriptor, where the kernel takes it from nobody else.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use procfs::process::{FDTarget, all_processes};

use super::{Change, ChangeOutcome, Did, Hand, Socket, SocketOption};
use crate::cookie;

impl Hand {
    pub(super) fn set_by_descriptors(
        &mut self,
        option: SocketOption,
        changes: &[Change],
    ) -> io::Result<Vec<ChangeOutcome>> {
        let sockets = self.sockets()?;
        let sockets: BTreeMap<u64, Socket> = sockets
            .into_iter()
            .map(|socket| (socket.cookie, socket))
            .collect();
        let inodes = changes
            .iter()
            .filter_map(|change| Some(sockets.get(&change.cookie)?.inode));
        let holders = holders(&inodes.collect());
        let outcomes = changes.iter().map(|change| {
            let Some(socket) = sockets.get(&change.cookie) else {
                return gone(change);
            };
            let before = socket.values[option];
            let watched = self.watched.as_ref();
            let is_watched = watched.is_some_and(|all| all.contains_key(&(change.cookie, option)));
            let did = if is_watched && socket.is_corked_by_program {
                Did::GaveWay
            } else if change.only_if.is_some_and(|expected| expected != before) {
                Did::Differs
            } else {
                match set(option, change, holders.get(&socket.inode)) {
                    Ok(()) => Did::Set,
                    Err(error) => Did::Refused(error.raw_os_error().unwrap_or(libc::EIO)),
                }
            };
            ChangeOutcome {
                cookie: change.cookie,
                before,
                after: if did == Did::Set { change.to } else { before },
                did,
            }
        });
        let outcomes: Vec<ChangeOutcome> = outcomes.collect();
        if let Some(watched) = &mut self.watched {
            let set = outcomes.iter().filter(|outcome| outcome.did == Did::Set);
            watched.extend(set.map(|outcome| ((outcome.cookie, option), 0)));
        }
        Ok(outcomes)
    }
}

fn gone(change: &Change) -> ChangeOutcome {
    ChangeOutcome {
        cookie: change.cookie,
        before: change.to,
        after: change.to,
        did: Did::Gone,
    }
}

/// A descriptor of a process.
#[derive(Clone, Copy)]
struct Held {
    pid: i32,
    descriptor: RawFd,
}

/// Returns a descriptor of each of these sockets, by inode.
fn holders(inodes: &BTreeSet<u64>) -> BTreeMap<u64, Held> {
    let mut holders = BTreeMap::new();
    for process in all_processes().into_iter().flatten().flatten() {
        // A process that ends meanwhile has none.
        let descriptors = process.fd().into_iter().flatten().flatten();
        for held in descriptors {
            if let FDTarget::Socket(inode) = held.target
                && inodes.contains(&inode)
            {
                holders.entry(inode).or_insert(Held {
                    pid: process.pid,
                    descriptor: held.fd,
                });
            }
        }
    }
    holders
}

fn set(option: SocketOption, change: &Change, held: Option<&Held>) -> io::Result<()> {
    let held = held.ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF))?;
    let copy = copy(*held)?;
    // The program may have another socket by this number now.
    if cookie::of(&copy)? != change.cookie {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    let value = change.to.number();
    // SAFETY: the value has the length that is given.
    let failed = unsafe {
        libc::setsockopt(
            copy.as_raw_fd(),
            libc::IPPROTO_TCP,
            option.number().cast_signed(),
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
    match failed {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns a copy of a process's descriptor: it takes the right to trace that process.
fn copy(held: Held) -> io::Result<OwnedFd> {
    let owned = |number: libc::c_long| match RawFd::try_from(number) {
        // SAFETY: the kernel has just opened it, for this process alone.
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        _ => Err(io::Error::last_os_error()),
    };
    // SAFETY: takes numbers.
    let process = owned(unsafe { libc::syscall(libc::SYS_pidfd_open, held.pid, 0) })?;
    // SAFETY: takes numbers.
    owned(unsafe {
        libc::syscall(
            libc::SYS_pidfd_getfd,
            process.as_raw_fd(),
            held.descriptor,
            0,
        )
    })
}
