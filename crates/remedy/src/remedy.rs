//! The remedies that stalls call for, the least invasive first.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use tinygram_host::hand::{Raw, Setting, Socket, SocketOption};
use tinygram_stalls::Side;

use crate::look::{Cause, Look, Stalling};

/// A setting, and the sockets that are to have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// The setting.
    pub setting: Setting,
    /// The sockets, by the service that they belong to.
    pub sockets: BTreeSet<Service>,
    /// The services whose stalls it is to end.
    pub stalling: BTreeSet<Service>,
    /// What it ends.
    pub cause: Cause,
}

/// The sockets at one end of a service: those of a port here, or those to a port elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Service {
    /// The network namespace.
    pub netns: u32,
    /// Which of its sockets.
    pub end: End,
}

/// See [`Service`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// The server's sockets: those with this local port.
    Server(u16),
    /// The clients' sockets: those to this address and port.
    Client(SocketAddr),
}

impl Service {
    /// Returns the service of a socket that stalled.
    #[must_use]
    pub fn of(stalling: &Stalling) -> Self {
        let connection = &stalling.first.connection;
        Self {
            netns: connection.netns,
            end: match stalling.first.side {
                Side::Server => End::Server(connection.local.port()),
                Side::Client => End::Client(connection.remote),
            },
        }
    }

    /// Returns whether a connection with these ends belongs to it.
    #[must_use]
    pub fn has(&self, netns: u32, local: SocketAddr, remote: SocketAddr) -> bool {
        self.netns == netns
            && match self.end {
                End::Server(port) => local.port() == port,
                End::Client(server) => remote == server,
            }
    }
}

impl std::fmt::Display for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.end {
            End::Server(port) => write!(f, "the server's sockets of port {port}"),
            End::Client(server) => write!(f, "the clients' sockets to {server}"),
        }
    }
}

impl Remedy {
    /// Returns whether a socket is to have it.
    #[must_use]
    pub fn is_for(&self, socket: &Socket) -> bool {
        let has = |service: &Service| service.has(socket.netns, socket.local, socket.remote);
        socket.is_open() && self.sockets.iter().any(has)
    }
}

/// Returns the remedies to try, in this order. `sockets` are all of this host that were found.
#[must_use]
pub fn candidates(look: &Look, sockets: &[Socket]) -> Vec<Remedy> {
    let mut by_cause: BTreeMap<Cause, BTreeSet<Service>> = BTreeMap::new();
    for stalling in look.stalls.values() {
        let services = by_cause.entry(stalling.cause).or_default();
        services.insert(Service::of(stalling));
    }
    let mut all = Vec::new();
    for (cause, stalling) in by_cause {
        match cause {
            Cause::Nagle => {
                all.push(Remedy {
                    setting: nodelay(),
                    sockets: stalling.clone(),
                    stalling: stalling.clone(),
                    cause,
                });
                let receivers = peers(look, sockets);
                if !receivers.is_empty() {
                    all.push(Remedy {
                        setting: shortest_delay(),
                        sockets: receivers,
                        stalling,
                        cause,
                    });
                }
            }
            Cause::LateAck => all.push(Remedy {
                setting: shortest_delay(),
                sockets: stalling.clone(),
                stalling,
                cause,
            }),
        }
    }
    all
}

/// Returns the other ends of the stalling senders that are on this host.
fn peers(look: &Look, sockets: &[Socket]) -> BTreeSet<Service> {
    let stalls = look.stalls.values();
    let senders = stalls.filter(|stalling| stalling.cause == Cause::Nagle);
    senders
        .filter_map(|stalling| {
            let connection = &stalling.first.connection;
            let peer = sockets.iter().find(|socket| {
                socket.local == connection.remote && socket.remote == connection.local
            })?;
            let end = match stalling.first.side {
                Side::Server => End::Client(peer.remote),
                Side::Client => End::Server(peer.local.port()),
            };
            Some(Service {
                netns: peer.netns,
                end,
            })
        })
        .collect()
}

fn nodelay() -> Setting {
    Setting {
        option: SocketOption::Nodelay,
        value: Raw::of(1),
    }
}

/// The shortest bound of a delayed ACK that the kernel takes: two ticks.
fn shortest_delay() -> Setting {
    Setting {
        option: SocketOption::DelackMax,
        value: Raw::of(2),
    }
}
