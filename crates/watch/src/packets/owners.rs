//! Finds the owner of a connection: from addresses to the socket, and from the socket to the
//! process, by `/proc`.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use procfs::net::{TcpNetEntry, TcpState};
use procfs::process::{FDTarget, Process, all_processes};
use tinygram_stalls::Roles;

use crate::event::Writer;
use tinygram_host::pace::Pace;
use tinygram_host::process::NO_USER;

/// One end of a connection on this host.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    /// Its process, or [`nobody`].
    pub(super) writer: Writer,
    /// Its network namespace, by the inode.
    pub(super) netns: u32,
}

/// Remembers the owner of each end. It looks again at most once a second, and on a host with very
/// many sockets less often.
#[derive(Default)]
pub(super) struct Owners {
    known: Known,
    pace: Pace,
}

/// What was found on this host.
#[derive(Default)]
struct Known {
    ends: HashMap<(SocketAddr, SocketAddr), Owner>,
    /// The ports on which somebody listens, or did, by network namespace.
    listening: HashSet<(u32, u16)>,
}

impl Owners {
    /// Looks again if it is time to.
    pub(super) fn look(&mut self) {
        let known = &mut self.known;
        self.pace.look(BREAK, || look(known));
    }

    /// Returns the owner of the end at `local` of a connection to `remote`; `None` if no socket of
    /// this host is that end.
    pub(super) fn of(&mut self, local: SocketAddr, remote: SocketAddr) -> Option<&Owner> {
        let ends = (local, remote);
        if !self.known.ends.contains_key(&ends) {
            self.look();
        }
        self.known.ends.get(&ends)
    }

    /// Returns what the listeners of this host tell of the roles of a connection's ends.
    pub(super) fn roles(&mut self, local: SocketAddr, remote: SocketAddr) -> Roles {
        let namespaces = [(local, remote), (remote, local)]
            .map(|(local, remote)| self.of(local, remote).map(|owner| owner.netns));
        let [listens, peer_listens] = [(namespaces[0], local), (namespaces[1], remote)]
            .map(|(netns, end)| netns.is_some_and(|netns| self.known.listens(netns, end.port())));
        Roles {
            accepted: None,
            listens,
            peer_listens,
            port: local.port(),
            peer_port: remote.port(),
        }
    }
}

impl Known {
    fn listens(&self, netns: u32, port: u16) -> bool {
        self.listening.contains(&(netns, port))
    }

    /// Takes a socket into account. Returns its ends if it is one end of a connection.
    fn note(&mut self, entry: &TcpNetEntry, netns: u32) -> Option<(SocketAddr, SocketAddr)> {
        if entry.state == TcpState::Listen {
            self.listening.insert((netns, entry.local_address.port()));
        }
        if entry.remote_address.ip().is_unspecified() {
            return None;
        }
        let ends = (plain(entry.local_address), plain(entry.remote_address));
        let owner = Owner {
            writer: nobody(Some(entry.uid)),
            netns,
        };
        self.ends.entry(ends).or_insert(owner);
        Some(ends)
    }
}

/// Finds out who owns which end now.
fn look(known: &mut Known) {
    if known.ends.len() >= MOST_KNOWN {
        known.ends.clear();
    }
    if known.listening.len() >= MOST_KNOWN {
        known.listening.clear();
    }
    let mut sockets = HashMap::new();
    let mut namespaces = HashSet::new();
    let Ok(processes) = all_processes() else {
        return;
    };
    let processes: Vec<Process> = processes.flatten().collect();
    for process in &processes {
        let Some(netns) = namespace(process.pid) else {
            continue;
        };
        if namespaces.insert(netns) {
            let four = process.tcp().unwrap_or_default();
            let six = process.tcp6().unwrap_or_default();
            for entry in four.into_iter().chain(six) {
                if let Some(ends) = known.note(&entry, netns) {
                    sockets.insert(entry.inode, ends);
                }
            }
        }
    }
    for process in &processes {
        let Ok(descriptors) = process.fd() else {
            continue;
        };
        for descriptor in descriptors.flatten() {
            if let FDTarget::Socket(inode) = descriptor.target
                && let Some(ends) = sockets.remove(&inode)
                && let Some(owner) = known.ends.get_mut(&ends)
            {
                owner.writer = writer(process, owner.writer.uid);
            }
        }
    }
}

fn writer(process: &Process, uid: u32) -> Writer {
    let pid = process.pid.unsigned_abs();
    Writer {
        pid,
        thread: pid,
        uid,
        cgroup: 0,
        comm: process.stat().map(|stat| stat.comm).unwrap_or_default(),
    }
}

/// Returns an unknown process, with the number 0: its connection is over, or this process may not inspect it, or sees no
/// `/proc`.
pub(super) fn nobody(uid: Option<u32>) -> Writer {
    Writer {
        pid: 0,
        thread: 0,
        uid: uid.unwrap_or(NO_USER),
        cgroup: 0,
        comm: "?".to_owned(),
    }
}

fn namespace(pid: i32) -> Option<u32> {
    let about = fs::metadata(format!("/proc/{pid}/ns/net")).ok()?;
    u32::try_from(about.ino()).ok()
}

/// Converts an IPv4-mapped IPv6 address to IPv4.
fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

const BREAK: Duration = Duration::from_secs(1);
const MOST_KNOWN: usize = 200_000;
