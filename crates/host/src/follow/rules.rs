//! Which connections to come are meant.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt;

use super::record::{MOST_PEERS, RuleRecord};
use crate::groups::groups_below;
use crate::scope::{Found, Peer, Scope};
use crate::ssh::Ssh;
use crate::target::Target;

/// A rule by which a new connection is followed. A network namespace is known by its inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// The sockets with this local port: a server's.
    LocalPort(u32, u16),
    /// The sockets to this port of any address.
    RemotePort(u32, u16),
    /// The sockets that this process connects.
    Process(u32),
    /// Every socket of the namespace.
    Namespace(u32),
    /// The sockets that processes of this control group make, by its ID.
    Group(u64),
}

/// The rules of a scope.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// A connection is followed if any of these means it.
    pub all: BTreeSet<Rule>,
    /// Only those with one of these at the other end, if there are any.
    pub peers: Vec<Peer>,
    /// What is known of SSH, whose connections are left alone; `None` if SSH is meant.
    pub leaves: Option<Ssh>,
}

impl Rules {
    /// Returns the rules that mean what comes after `found`, which is what the scope meant at first. A process that
    /// is there now is followed in what it connects, and by the ports on which it listens: which process will accept
    /// a connection is not known when it is opened.
    #[must_use]
    pub fn of(scope: &Scope, found: &Found) -> Self {
        let mut rules = Self {
            all: BTreeSet::new(),
            peers: scope.peers.clone(),
            leaves: (!found.names_ssh).then(|| found.ssh.clone()),
        };
        if scope.all {
            let namespaces = found.namespaces.iter();
            rules.all = namespaces
                .map(|namespace| Rule::Namespace(namespace.inode))
                .collect();
            return rules;
        }
        let here = found.namespaces.iter().map(|namespace| namespace.inode);
        let here: Vec<u32> = here.collect();
        for target in &scope.targets {
            match target {
                Target::Number(number) => {
                    rules.add_port(u16::try_from(*number).ok(), &here);
                }
                Target::Port(port) => rules.add_port(Some(*port), &here),
                Target::Cgroup(path) => {
                    let folder = groups_below(&scope.root).join(path.trim_start_matches('/'));
                    if let Ok(about) = folder.metadata() {
                        rules.all.insert(Rule::Group(about.ino()));
                    }
                }
                Target::Process(_) | Target::Name(_) | Target::Within(..) => {}
            }
        }
        let sockets = found.sockets.iter().map(|owned| &owned.socket);
        for listener in sockets.filter(|socket| socket.listens()) {
            let rule = Rule::LocalPort(listener.netns, listener.local.port());
            rules.all.insert(rule);
        }
        let processes = found.processes.iter();
        rules.all.extend(processes.map(|pid| Rule::Process(*pid)));
        rules
    }

    /// Adds a port, if it is one, at either end of a connection of these namespaces.
    fn add_port(&mut self, port: Option<u16>, namespaces: &[u32]) {
        let Some(port) = port else { return };
        for netns in namespaces {
            self.all.insert(Rule::LocalPort(*netns, port));
            self.all.insert(Rule::RemotePort(*netns, port));
        }
    }
}

impl Rules {
    /// Returns the rules that mean those connections of these that go to one of `servers`: a few for each follower.
    #[must_use]
    pub fn to(mut self, servers: &[SocketAddr]) -> Vec<Self> {
        self.all.retain(|rule| !matches!(rule, Rule::LocalPort(..)));
        let some = servers.chunks(MOST_PEERS).map(|servers| Self {
            peers: servers.iter().map(|server| (*server).into()).collect(),
            ..self.clone()
        });
        some.collect()
    }

    /// Returns the rules for the connections to these ports, each of a network namespace.
    #[must_use]
    pub fn from_ports(ports: impl IntoIterator<Item = (u32, u16)>) -> Self {
        let rules = ports.into_iter();
        Self {
            all: rules
                .map(|(netns, port)| Rule::LocalPort(netns, port))
                .collect(),
            peers: Vec::new(),
            leaves: None,
        }
    }
}

impl Rule {
    pub(super) fn record(self) -> RuleRecord {
        let mut record = RuleRecord::default();
        match self {
            Self::LocalPort(netns, port) => {
                (record.kind, record.netns, record.port) = (1, netns, port);
            }
            Self::RemotePort(netns, port) => {
                (record.kind, record.netns, record.port) = (2, netns, port);
            }
            Self::Process(pid) => (record.kind, record.id) = (3, pid.into()),
            Self::Namespace(netns) => (record.kind, record.netns) = (4, netns),
            Self::Group(id) => (record.kind, record.id) = (5, id),
        }
        record
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::LocalPort(_, port) => write!(f, "from port {port} here"),
            Self::RemotePort(_, port) => write!(f, "to port {port}"),
            Self::Process(pid) => write!(f, "that process {pid} makes"),
            Self::Namespace(_) => f.write_str("of this network namespace"),
            Self::Group(_) => f.write_str("of the control group"),
        }
    }
}

/// Returns an address as the kernel has it in IPv6: IPv4 as `::ffff:a.b.c.d`.
pub(super) fn octets(address: IpAddr) -> [u8; 16] {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}
