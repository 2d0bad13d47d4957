//! Which connections have a remedy in a period of a trial: all of them by turns of time, or half of them.
//!
//! Halves side by side see the same hour of the day, but they disturb each other wherever they share something: a thread that
//! serves both, a client that waits for both, a server behind a proxy. So connections of one client go together, and halves
//! are taken only where clients are many and nothing shared is seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tinygram_host::scope::Owned;

use crate::look::Look;
use crate::remedy::{Means, Remedy, ServiceEnd, WhichEnd};

/// How a trial tells what a remedy does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// All connections have it in one period of each pair, and none in the other.
    Turns(WhyTurns),
    /// In each period the connections of half of the clients have it: drawn by a hash of the client, the seed and the period's
    /// number.
    Halves {
        /// How many clients there were when it was chosen.
        clients: usize,
    },
}

/// Why halves would not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyTurns {
    /// They were asked for.
    Asked,
    /// A knob holds for all connections of its namespace or route.
    Knob,
    /// The sockets that have the remedy are not those that stall.
    OtherEnds,
    /// There are so few clients.
    Few(usize),
    /// A thread writes or reads on connections of several clients.
    SharedThread,
    /// A process that stalls asks others, too, so its connections may wait for one of these.
    AsksOthers,
}

/// Which split is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Halves where clients are many and nothing shared is seen, else turns.
    Fitting,
    /// Turns.
    Turns,
    /// Halves wherever there are two clients.
    Halves,
}

/// Who asks on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Client {
    /// A process of this host.
    Process(u32),
    /// Another host.
    Host(IpAddr),
}

/// The processes of this host's sockets, by the sockets' ends.
#[derive(Clone, Debug, Default)]
pub struct Clients {
    owners: BTreeMap<(SocketAddr, SocketAddr), u32>,
}

impl Clients {
    /// Takes the owners of all sockets that were found.
    #[must_use]
    pub fn of(sockets: &[Owned]) -> Self {
        let owners = sockets.iter().filter_map(|owned| {
            let socket = &owned.socket;
            Some(((socket.local, socket.remote), owned.owner.as_ref()?.pid))
        });
        Self {
            owners: owners.collect(),
        }
    }

    /// Returns who asks on the connection of which a socket of this host is one end.
    #[must_use]
    pub fn of_connection(&self, end: WhichEnd, local: SocketAddr, remote: SocketAddr) -> Client {
        let (client, server) = match end {
            WhichEnd::Server(_) => (remote, local),
            WhichEnd::Client(_) => (local, remote),
        };
        match self.owners.get(&(client, server)) {
            Some(pid) => Client::Process(*pid),
            None => Client::Host(client.ip()),
        }
    }
}

impl Client {
    /// Returns whether the client's connections have the remedy in this period.
    #[must_use]
    pub fn is_drawn(self, seed: u64, period: u64) -> bool {
        let number = match self {
            Self::Process(pid) => u128::from(pid),
            Self::Host(IpAddr::V4(address)) => 1 << 64 | u128::from(address.to_bits()),
            Self::Host(IpAddr::V6(address)) => address.to_bits(),
        };
        let parts = [number as u64, (number >> 64) as u64, period];
        let drawn = parts.into_iter().fold(seed, |state, part| {
            Xoshiro256PlusPlus::seed_from_u64(state ^ part).next_u64()
        });
        drawn & 1 == 1
    }
}

/// Returns how a trial of this remedy is split. `sockets` are all of this host that were found.
#[must_use]
pub fn choose(remedy: &Remedy, look: &Look, sockets: &[Owned], wanted: Wanted) -> Split {
    if matches!(remedy.means, Means::Knob(..)) {
        return Split::Turns(WhyTurns::Knob);
    }
    if remedy.sockets != remedy.stalling {
        return Split::Turns(WhyTurns::OtherEnds);
    }
    if wanted == Wanted::Turns {
        return Split::Turns(WhyTurns::Asked);
    }
    let all = Clients::of(sockets);
    let mut clients = BTreeSet::new();
    let mut by_thread: BTreeMap<u32, BTreeSet<Client>> = BTreeMap::new();
    for stalling in look.stalls.values() {
        let connection = &stalling.first.connection;
        let end = ServiceEnd::of(stalling).end;
        let client = all.of_connection(end, connection.local, connection.remote);
        clients.insert(client);
        for thread in &stalling.threads {
            by_thread.entry(*thread).or_default().insert(client);
        }
    }
    let fewest = match wanted {
        Wanted::Halves => 2,
        _ => FEWEST_CLIENTS,
    };
    if clients.len() < fewest {
        return Split::Turns(WhyTurns::Few(clients.len()));
    }
    if wanted == Wanted::Fitting {
        if by_thread.values().any(|clients| clients.len() > 1) {
            return Split::Turns(WhyTurns::SharedThread);
        }
        if ask_others(remedy, look, sockets) {
            return Split::Turns(WhyTurns::AsksOthers);
        }
    }
    Split::Halves {
        clients: clients.len(),
    }
}

/// Returns whether a process that stalls as a server has connections that it opened itself, or one that stalls as a client
/// listens.
fn ask_others(remedy: &Remedy, look: &Look, sockets: &[Owned]) -> bool {
    let stalling: BTreeSet<u32> = look
        .stalls
        .values()
        .map(|stalling| stalling.first.process.pid)
        .collect();
    let is_server = |end: &WhichEnd| matches!(end, WhichEnd::Server(_));
    let serves = remedy
        .stalling
        .iter()
        .any(|service| is_server(&service.end));
    let of_them = |owned: &&Owned| {
        let owner = owned.owner.as_ref();
        owner.is_some_and(|owner| stalling.contains(&owner.pid))
    };
    let listened: BTreeSet<(u32, u16)> = sockets
        .iter()
        .filter(|owned| owned.socket.listens())
        .map(|owned| (owned.socket.netns, owned.socket.local.port()))
        .collect();
    let is_asked = |owned: &Owned| {
        let socket = &owned.socket;
        listened.contains(&(socket.netns, socket.local.port()))
    };
    let mut of_them = sockets.iter().filter(of_them);
    match serves {
        true => of_them.any(|owned| owned.socket.is_open() && !is_asked(owned)),
        false => of_them.any(is_asked),
    }
}

impl fmt::Display for WhyTurns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("they were asked for"),
            Self::Knob => f.write_str("a knob holds for all connections at once"),
            Self::OtherEnds => f.write_str("the remedy is at the other ends"),
            Self::Few(1) => f.write_str("1 client has no halves"),
            Self::Few(clients) => write!(f, "{clients} clients are few"),
            Self::SharedThread => f.write_str("a thread serves several clients"),
            Self::AsksOthers => f.write_str("the process that stalls waits for others, too"),
        }
    }
}

/// With fewer clients a half is often much unlike the other.
const FEWEST_CLIENTS: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// Every client is in either half about as often, whatever the other clients and periods are.
    #[test]
    fn halves_are_halves() {
        let hosts =
            (0..64_u32).map(|number| Client::Host(IpAddr::V4((0x0a00_0000 | number).into())));
        let processes = (0..64).map(|number| Client::Process(1000 + number));
        let clients: Vec<Client> = hosts.chain(processes).collect();
        for client in &clients {
            let drawn = (0..400)
                .filter(|period| client.is_drawn(7, *period))
                .count();
            // 200 are expected; five standard deviations are 50.
            assert!((150..=250).contains(&drawn), "{client:?}: {drawn}");
        }
        for period in 0..400 {
            let drawn = clients
                .iter()
                .filter(|client| client.is_drawn(7, period))
                .count();
            // 64 of 128; five standard deviations are 28.
            assert!((36..=92).contains(&drawn), "{period}: {drawn}");
        }
        let as_with = |seed| -> Vec<bool> {
            clients
                .iter()
                .map(|client| client.is_drawn(seed, 0))
                .collect()
        };
        assert_eq!(as_with(7), as_with(7));
        assert_ne!(as_with(7), as_with(8));
    }
}
