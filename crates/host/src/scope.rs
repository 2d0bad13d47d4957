//! The sockets that targets mean, and the ones that are left out.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use procfs::process::{FDTarget, all_processes};

use crate::groups::{groups_below, groups_root};
use crate::hand::{Hand, Socket};
use crate::names::Names;
use crate::namespace::Namespace;
use crate::process::Process;
use crate::root::Root;
use crate::ssh::{self, Ends, Ssh};
use crate::target::Target;

/// Which sockets are meant.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Sockets that any of these means.
    pub targets: Vec<Target>,
    /// Every socket of this network namespace, and of those of the targets' processes.
    pub all: bool,
    /// Only those with one of these at the other end, if there are any.
    pub peers: Vec<Peer>,
    /// Where the names of pods and containers are.
    pub root: Root,
}

/// The other end of a connection: an address, a network, a port, or an address with a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    pub(crate) network: Option<(IpAddr, u8)>,
    pub(crate) port: Option<u16>,
}

/// The sockets that were found.
#[derive(Debug, Default)]
pub struct Found {
    /// The sockets that are meant, each in the namespace with the inode that it names.
    pub sockets: Vec<Owned>,
    /// The processes that a target means as such: by their number or name, not by a port or control group.
    pub processes: BTreeSet<u32>,
    /// Processes that listen on a socket of one of `processes`, and are not among them: a pre-forking server's others.
    pub partners: BTreeSet<u32>,
    /// The namespaces that were walked over.
    pub namespaces: Vec<Namespace>,
    /// Those of them that the scope names: by a process or a container in them, by a control group, or this one by `all`.
    pub named: Vec<Namespace>,
    /// The sockets that are left out.
    pub left_out: LeftOut,
    /// Where SSH's programs serve in these namespaces.
    pub ssh: Ssh,
    /// Whether a target means a program of SSH as such.
    pub names_ssh: bool,
    /// How many sockets were looked at.
    pub seen: usize,
}

/// A socket with a process that has it.
#[derive(Clone, Debug)]
pub struct Owned {
    /// The socket.
    pub socket: Socket,
    /// The first process that has a descriptor of it; `None` if none was found.
    pub owner: Option<Owner>,
}

/// A process that has a socket.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// Its process ID.
    pub pid: u32,
    /// Its name.
    pub name: String,
}

/// Sockets that the targets mean and that are left alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// SSH's: a mistake there locks its maker out.
    pub ssh: usize,
    /// This process's.
    pub own: usize,
    /// Those that a process of the control group has, and that a process of another one made: activated, passed or
    /// moved.
    pub made_elsewhere: usize,
}

impl Scope {
    /// Finds the sockets that are meant.
    ///
    /// # Errors
    ///
    /// Returns what the kernel refuses.
    pub fn find(&self, hand: &mut Hand) -> io::Result<Found> {
        let mut holders = Holders::read(self)?;
        let mut found = Found::default();
        for namespace in std::mem::take(&mut holders.namespaces) {
            let sockets = namespace.within(|| hand.sockets())??;
            found.seen += sockets.len();
            holders.note_ssh(&sockets, &mut found.ssh);
            for socket in sockets {
                let owners = holders.by_inode.get(&socket.inode);
                let all = owners.map_or(&[][..], Vec::as_slice);
                if socket.listens() && all.iter().any(|owner| holders.meant.contains(&owner.pid)) {
                    let others = all.iter().map(|owner| owner.pid);
                    found
                        .partners
                        .extend(others.filter(|pid| !holders.meant.contains(pid)));
                }
                if !self.is_meant(
                    &socket,
                    all,
                    &holders.groups,
                    &found.ssh,
                    &mut found.left_out,
                ) {
                    continue;
                }
                let owner = all.first().map(|process| Owner {
                    pid: process.pid,
                    name: process.name.clone(),
                });
                found.sockets.push(Owned { socket, owner });
            }
            let is_own = holders.own == namespace.inode;
            if holders.named.contains(&namespace.inode) || (self.all && is_own) {
                found.named.push(namespace.clone());
            }
            found.namespaces.push(namespace);
        }
        found.processes = holders.meant;
        found.names_ssh = holders.names_ssh || self.names_ssh();
        Ok(found)
    }

    fn is_meant(
        &self,
        socket: &Socket,
        owners: &[Rc<Process>],
        groups: &BTreeSet<u64>,
        ssh: &Ssh,
        left_out: &mut LeftOut,
    ) -> bool {
        if !self.peers.is_empty() && !self.peers.iter().any(|peer| peer.is(socket)) {
            return false;
        }
        let ends = [socket.local, socket.remote];
        let mut by_process = false;
        let mut by_port = false;
        let mut held_in_group = false;
        for target in &self.targets {
            let is_of = owners
                .iter()
                .any(|owner| target.is_process(owner, &owner.name));
            match target {
                Target::Cgroup(_) => held_in_group |= is_of,
                Target::Within(..) => {
                    by_process |= is_of;
                    by_port |= owners
                        .iter()
                        .any(|owner| target.is_met_by(owner, &owner.name, ends));
                }
                _ => {
                    by_process |= is_of;
                    by_port |= target.is_port_of(ends).is_some();
                }
            }
        }
        let by_group = groups.contains(&socket.cgroup);
        if !(self.all || by_process || by_port || by_group) {
            left_out.made_elsewhere += usize::from(held_in_group);
            return false;
        }
        let own = std::process::id();
        if !by_process && owners.iter().any(|owner| owner.pid == own) {
            left_out.own += 1;
            return false;
        }
        let programs = owners.iter().map(|owner| owner.name.as_str());
        if !self.names_ssh() && !by_process && ssh.has(ends_of(socket, programs)) {
            left_out.ssh += 1;
            return false;
        }
        true
    }

    /// Returns whether SSH is asked for by name or by its port.
    fn names_ssh(&self) -> bool {
        self.targets.iter().any(names_ssh)
    }
}

fn names_ssh(target: &Target) -> bool {
    match target {
        Target::Number(number) => *number == u32::from(ssh::PORT),
        Target::Port(port) => *port == ssh::PORT,
        Target::Process(_) => false,
        Target::Name(name) => name.contains("ssh"),
        Target::Cgroup(path) => path.contains("ssh"),
        Target::Within(_, what) => what.as_deref().is_some_and(names_ssh),
    }
}

fn ends_of<'a, Names: Iterator<Item = &'a str>>(
    socket: &Socket,
    programs: Names,
) -> Ends<'a, Names> {
    Ends {
        netns: socket.netns,
        local_port: socket.local.port(),
        remote_port: socket.remote.port(),
        programs,
    }
}

/// The processes that have sockets, and what they show of the scope.
struct Holders {
    by_inode: HashMap<u64, Vec<Rc<Process>>>,
    /// This namespace, and those of the processes that are meant.
    namespaces: Vec<Namespace>,
    /// The inode of this one.
    own: u32,
    /// The inodes of those of the processes that are meant.
    named: BTreeSet<u32>,
    /// The IDs of the control groups that are meant, with those below them.
    groups: BTreeSet<u64>,
    /// The processes that are meant by themselves.
    meant: BTreeSet<u32>,
    /// Whether one of them is SSH's.
    names_ssh: bool,
}

impl Holders {
    fn read(scope: &Scope) -> io::Result<Self> {
        let mut holders = Self {
            by_inode: HashMap::new(),
            namespaces: Vec::new(),
            own: 0,
            named: BTreeSet::new(),
            groups: BTreeSet::new(),
            meant: BTreeSet::new(),
            names_ssh: false,
        };
        let mut namespaces = BTreeMap::new();
        let own = Namespace::own()?;
        holders.own = own.inode;
        namespaces.insert(own.inode, own);
        for target in &scope.targets {
            if let Target::Cgroup(path) = target {
                add_groups(
                    &groups_below(&scope.root).join(path.trim_start_matches('/')),
                    &mut holders.groups,
                );
            }
        }
        let mut names = Names::below(scope.root.clone());
        let processes = all_processes().map_err(io::Error::other)?;
        for process in processes.flatten() {
            let pid = process.pid.cast_unsigned();
            // A process that ends meanwhile, or may not be looked at, has no sockets that could be named here.
            let Ok(descriptors) = process.fd() else {
                continue;
            };
            let about = Rc::new(Process::read(pid, "", String::new(), &mut names));
            for descriptor in descriptors.flatten() {
                if let FDTarget::Socket(inode) = descriptor.target {
                    let owners = holders.by_inode.entry(inode).or_default();
                    if owners.last().is_none_or(|last| last.pid != pid) {
                        owners.push(Rc::clone(&about));
                    }
                }
            }
            let is_meant = |target: &&Target| target.is_process(&about, &about.name);
            if (scope.targets.iter())
                .filter(|target| !matches!(target, Target::Cgroup(_)))
                .any(|target| is_meant(&target))
            {
                holders.meant.insert(pid);
                holders.names_ssh |= ssh::is_program(&about.name);
            }
            if scope.targets.iter().any(|target| is_meant(&target))
                && let Ok(namespace) = Namespace::of(pid)
            {
                holders.named.insert(namespace.inode);
                namespaces.entry(namespace.inode).or_insert(namespace);
            }
        }
        holders.namespaces = namespaces.into_values().collect();
        Ok(holders)
    }

    /// Notes on which of the ports that are listened on a program of SSH has a socket: it may have been given what another
    /// program listens on, or accepts.
    fn note_ssh(&self, sockets: &[Socket], ssh: &mut Ssh) {
        let listeners = sockets.iter().filter(|socket| socket.listens());
        let listened: BTreeSet<u16> = listeners.map(|socket| socket.local.port()).collect();
        for socket in sockets {
            let port = socket.local.port();
            let owners = self.by_inode.get(&socket.inode);
            for owner in owners.into_iter().flatten() {
                if listened.contains(&port) {
                    ssh.listens(socket.netns, port, &owner.name);
                }
            }
        }
    }
}

/// Returns the folder of the control group with this ID; its number in words if there is none.
#[must_use]
pub fn group_named(id: u64) -> String {
    fn find(folder: &Path, id: u64) -> Option<PathBuf> {
        if folder.metadata().ok()?.ino() == id {
            return Some(folder.to_owned());
        }
        let entries = folder.read_dir().ok()?.flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders
            .map(|entry| entry.path())
            .find_map(|folder| find(&folder, id))
    }
    let found = find(&groups_root(), id);
    found.map_or_else(
        || format!("a control group that is gone ({id})"),
        |folder| folder.display().to_string(),
    )
}

/// Adds the ID of a control group and of all below it: their folders' inodes.
fn add_groups(folder: &Path, into: &mut BTreeSet<u64>) {
    let Ok(about) = folder.metadata() else { return };
    into.insert(about.ino());
    let entries = folder.read_dir().into_iter().flatten().flatten();
    for entry in entries {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            add_groups(&entry.path(), into);
        }
    }
}

impl Peer {
    /// Reads an address, a network (`10.0.0.0/8`), a port (`:6379`) or an address with a port.
    ///
    /// # Errors
    ///
    /// Says in one line what is wrong and what is accepted.
    pub fn parse(text: &str) -> Result<Self, String> {
        let accepted = || {
            format!(
                "{text}: accepted are an address, a network (10.0.0.0/8), a port (:6379), or an address with a port"
            )
        };
        // An IPv6 address may begin with two.
        let port = text.strip_prefix(':').filter(|rest| !rest.contains(':'));
        if let Some(port) = port {
            let port = port.parse().ok().filter(|port| *port != 0);
            return Ok(Self {
                network: None,
                port: Some(port.ok_or_else(accepted)?),
            });
        }
        if let Ok(end) = text.parse::<SocketAddr>() {
            return Ok(end.into());
        }
        let (address, length) = text
            .split_once('/')
            .map_or((text, None), |(address, length)| (address, Some(length)));
        let address: IpAddr = address.parse().map_err(|_| accepted())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = match length {
            None => most,
            Some(length) => length
                .parse()
                .ok()
                .filter(|length| *length <= most)
                .ok_or_else(accepted)?,
        };
        Ok(Self {
            network: Some((address.to_canonical(), length)),
            port: None,
        })
    }

    fn is(&self, socket: &Socket) -> bool {
        let is_in = |(network, length): (IpAddr, u8)| {
            let shared = match (network, socket.remote.ip()) {
                (IpAddr::V4(one), IpAddr::V4(other)) => {
                    (u32::from(one) ^ u32::from(other)).leading_zeros().min(32)
                }
                (IpAddr::V6(one), IpAddr::V6(other)) => {
                    (u128::from(one) ^ u128::from(other)).leading_zeros()
                }
                _ => return false,
            };
            let most = if network.is_ipv4() { 32 } else { 128 };
            shared >= u32::from(length).min(most)
        };
        self.network.is_none_or(is_in) && self.port.is_none_or(|port| socket.remote.port() == port)
    }
}

/// This end alone.
impl From<SocketAddr> for Peer {
    fn from(end: SocketAddr) -> Self {
        Self {
            network: Some((end.ip().to_canonical(), u8::MAX)),
            port: Some(end.port()),
        }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_an_address_a_network_or_a_port() {
        let peer = |text: &str| Peer::parse(text);
        for good in [
            "10.0.0.1",
            "10.0.0.0/8",
            "::1",
            "fe80::/10",
            ":6379",
            "10.0.0.1:80",
            "[::1]:80",
        ] {
            assert!(peer(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            ":",
            ":0",
            "10.0.0.0/33",
            "localhost",
            "10.0.0.1:x",
            "::1/129",
        ] {
            let said = peer(bad).expect_err(bad);
            assert!(said.contains("accepted"), "{said}");
        }
    }
}
