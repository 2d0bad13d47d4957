//! The remedies that stalls call for, the least invasive first.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;

use tinygram_host::hand::{Hand, Raw, Setting, Socket, SocketOption};
use tinygram_host::knob::{Knob, KnobSetting};
use tinygram_host::namespace::Namespace;
use tinygram_host::route::RouteKey;
use tinygram_stalls::Side;

use crate::apply::knobs::{self, routes};
use crate::look::{Cause, Look, Stalling};

/// A setting, and the sockets that are to have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// What is set.
    pub means: Means,
    /// The sockets, by the service that they belong to.
    pub sockets: BTreeSet<ServiceEnd>,
    /// The services whose stalls it is to end.
    pub stalling: BTreeSet<ServiceEnd>,
    /// What it ends.
    pub cause: Cause,
    /// How many connections beside those of the services it touches: of a namespace or a route. It is not tried then.
    pub others: usize,
}

/// What a remedy sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Means {
    /// An option of the sockets.
    Socket(Setting),
    /// A knob, at these places.
    Knob(KnobSetting, Vec<KnobPlace>),
}

/// A network namespace, or one of its routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnobPlace {
    /// The inode of the namespace.
    pub netns: u32,
    /// The route, of a route's knob.
    pub route: Option<RouteKey>,
}

impl std::fmt::Display for Means {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Socket(setting) => write!(f, "{setting}"),
            Self::Knob(setting, _) => write!(f, "{setting}"),
        }
    }
}

/// The sockets at one end of a service: those of a port here, or those to a port elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceEnd {
    /// The network namespace.
    pub netns: u32,
    /// Which of its sockets.
    pub end: WhichEnd,
}

/// See [`ServiceEnd`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WhichEnd {
    /// The server's sockets: those with this local port.
    Server(u16),
    /// The clients' sockets: those to this address and port.
    Client(SocketAddr),
}

impl ServiceEnd {
    /// Returns the service of a socket that stalled.
    #[must_use]
    pub fn of(stalling: &Stalling) -> Self {
        let connection = &stalling.first.connection;
        Self {
            netns: connection.netns,
            end: match stalling.first.side {
                Side::Server => WhichEnd::Server(connection.local.port()),
                Side::Client => WhichEnd::Client(connection.remote),
            },
        }
    }

    /// Returns whether a connection with these ends belongs to it.
    #[must_use]
    pub fn has(&self, netns: u32, local: SocketAddr, remote: SocketAddr) -> bool {
        self.netns == netns
            && match self.end {
                WhichEnd::Server(port) => local.port() == port,
                WhichEnd::Client(server) => remote == server,
            }
    }
}

impl std::fmt::Display for ServiceEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.end {
            WhichEnd::Server(port) => write!(f, "the server's sockets of port {port}"),
            WhichEnd::Client(server) => write!(f, "the clients' sockets to {server}"),
        }
    }
}

impl Remedy {
    /// Returns whether it copies descriptors of the program, which is done only where it is asked for.
    #[must_use]
    pub fn takes_descriptors(&self) -> bool {
        matches!(&self.means, Means::Socket(setting) if setting.option.takes_descriptor())
    }

    /// Returns whether it leaves a remainder of each stall: a bound of the delayed ACK does.
    #[must_use]
    pub fn leaves_a_remainder(&self) -> bool {
        matches!(&self.means, Means::Socket(setting) if setting.option == SocketOption::DelackMax)
    }

    /// Returns how many connections beside those of the services it touches now: those of SSH, too.
    ///
    /// # Errors
    ///
    /// Returns what the system refuses.
    pub fn others_now(&self, hand: &mut Hand) -> io::Result<usize> {
        let Means::Knob(_, places) = &self.means else {
            return Ok(0);
        };
        let inodes: BTreeSet<u32> = places.iter().map(|place| place.netns).collect();
        let mut others = 0;
        for namespace in inodes.into_iter().filter_map(Namespace::find) {
            let sockets = namespace.within(|| hand.sockets())??;
            let is_meant = |socket: &Socket| is_of(&self.sockets, socket);
            let here = || places.iter().filter(|place| place.netns == namespace.inode);
            if here().any(|place| place.route.is_none()) {
                let connections = sockets.iter().filter(|socket| {
                    socket.netns == namespace.inode && !socket.listens() && !is_meant(socket)
                });
                others += connections.count();
                continue;
            }
            for (route, shared) in routes(&namespace, &sockets, is_meant)? {
                if here().any(|place| place.route.as_ref() == Some(&route)) {
                    others += shared.others;
                }
            }
        }
        Ok(others)
    }

    /// Returns whether a socket is to have it.
    #[must_use]
    pub fn is_for(&self, socket: &Socket) -> bool {
        let has = |service: &ServiceEnd| service.has(socket.netns, socket.local, socket.remote);
        socket.is_open() && self.sockets.iter().any(has)
    }

    /// Returns whether a socket's stalls are those that it is to end.
    #[must_use]
    pub fn stalls(&self, socket: &Socket) -> bool {
        let has = |service: &ServiceEnd| service.has(socket.netns, socket.local, socket.remote);
        socket.is_open() && self.stalling.iter().any(has)
    }
}

/// Returns the remedies, the least invasive first. `sockets` are all of this host that were found.
#[must_use]
pub fn candidates(look: &Look, sockets: &[Socket]) -> Vec<Remedy> {
    let mut by_cause: BTreeMap<Cause, BTreeSet<ServiceEnd>> = BTreeMap::new();
    for stalling in look.stalls.values() {
        let services = by_cause.entry(stalling.cause).or_default();
        services.insert(ServiceEnd::of(stalling));
    }
    let mut all = Vec::new();
    for (cause, stalling) in by_cause {
        match cause {
            Cause::Nagle => {
                all.push(Remedy {
                    means: Means::Socket(nodelay()),
                    sockets: stalling.clone(),
                    stalling: stalling.clone(),
                    cause,
                    others: 0,
                });
                all.extend(of_receivers(look, cause, &stalling, sockets));
            }
            // The senders are not meant.
            Cause::PeerHolds => all.extend(of_receivers(look, cause, &stalling, sockets)),
            Cause::LateAck => {
                all.push(Remedy {
                    means: Means::Socket(shortest_delay()),
                    sockets: stalling.clone(),
                    stalling: stalling.clone(),
                    cause,
                    others: 0,
                });
                all.extend(knobs(cause, &stalling, &stalling, sockets));
            }
            Cause::Cork => all.push(Remedy {
                means: Means::Socket(uncorked()),
                sockets: stalling.clone(),
                stalling,
                cause,
                others: 0,
            }),
            Cause::Autocork => {
                let off = (Knob::Autocorking, 0);
                all.extend(of_namespaces(off, cause, &stalling, &stalling, sockets));
            }
        }
    }
    all
}

/// Returns what the receivers on this host can do about senders that hold by Nagle's rule.
fn of_receivers(
    look: &Look,
    cause: Cause,
    stalling: &BTreeSet<ServiceEnd>,
    sockets: &[Socket],
) -> Vec<Remedy> {
    let receivers = peers(look, cause, sockets);
    if receivers.is_empty() {
        return Vec::new();
    }
    let bound = Remedy {
        means: Means::Socket(shortest_delay()),
        sockets: receivers.clone(),
        stalling: stalling.clone(),
        // What the findings at the senders' ends say.
        cause: Cause::Nagle,
        others: 0,
    };
    let knobs = knobs(Cause::Nagle, &receivers, stalling, sockets);
    [bound].into_iter().chain(knobs).collect()
}

/// Returns the knobs by which these receivers acknowledge at once, the one that touches fewer connections first. What
/// cannot be asked for is left out: a namespace that has ended, a route that is gone.
fn knobs(
    cause: Cause,
    receivers: &BTreeSet<ServiceEnd>,
    stalling: &BTreeSet<ServiceEnd>,
    sockets: &[Socket],
) -> Vec<Remedy> {
    let quickack = KnobSetting {
        knob: Knob::Quickack,
        value: 1,
    };
    let mut places = Vec::new();
    let mut others = 0;
    for namespace in namespaces(receivers) {
        let is_meant = |socket: &Socket| is_of(receivers, socket);
        let routes = routes(&namespace, sockets, is_meant).unwrap_or_default();
        for (route, shared) in routes {
            if knobs::value(&namespace, quickack.knob, Some(&route)) == Some(quickack.value) {
                continue;
            }
            places.push(KnobPlace {
                netns: namespace.inode,
                route: Some(route),
            });
            others += shared.others;
        }
    }
    let by_route = (!places.is_empty()).then(|| Remedy {
        means: Means::Knob(quickack, places),
        sockets: receivers.clone(),
        stalling: stalling.clone(),
        cause,
        others,
    });
    let pingpong = (Knob::Pingpong, MOST_PINGPONG);
    let by_namespace = of_namespaces(pingpong, cause, receivers, stalling, sockets);
    by_route.into_iter().chain(by_namespace).collect()
}

/// Returns a knob of the namespaces of these services, if one of those is still there, has the knob, and has another value.
fn of_namespaces(
    (knob, value): (Knob, u32),
    cause: Cause,
    services: &BTreeSet<ServiceEnd>,
    stalling: &BTreeSet<ServiceEnd>,
    sockets: &[Socket],
) -> Option<Remedy> {
    let mut places = Vec::new();
    let mut others = 0;
    for namespace in namespaces(services) {
        // What cannot be read could not be put back.
        if knobs::value(&namespace, knob, None).is_none_or(|it| it == value) {
            continue;
        }
        let netns = namespace.inode;
        places.push(KnobPlace { netns, route: None });
        let here = sockets
            .iter()
            .filter(|socket| socket.netns == netns && !socket.listens());
        others += here.filter(|socket| !is_of(services, socket)).count();
    }
    (!places.is_empty()).then(|| Remedy {
        means: Means::Knob(KnobSetting { knob, value }, places),
        sockets: services.clone(),
        stalling: stalling.clone(),
        cause,
        others,
    })
}

fn namespaces(services: &BTreeSet<ServiceEnd>) -> Vec<Namespace> {
    let inodes: BTreeSet<u32> = services.iter().map(|service| service.netns).collect();
    inodes.into_iter().filter_map(Namespace::find).collect()
}

/// Returns whether a socket is of one of the services, or the other end of one that is: both may be here, and send by the
/// same route.
fn is_of(services: &BTreeSet<ServiceEnd>, socket: &Socket) -> bool {
    services.iter().any(|service| {
        service.has(socket.netns, socket.local, socket.remote)
            || service.has(socket.netns, socket.remote, socket.local)
    })
}

/// Returns the other ends of the senders that stall by this cause, where they are on this host.
fn peers(look: &Look, cause: Cause, sockets: &[Socket]) -> BTreeSet<ServiceEnd> {
    let stalls = look.stalls.values();
    let senders = stalls.filter(|stalling| stalling.cause == cause);
    senders
        .filter_map(|stalling| {
            let connection = &stalling.first.connection;
            let peer = sockets.iter().find(|socket| {
                socket.local == connection.remote && socket.remote == connection.local
            })?;
            let end = match stalling.first.side {
                Side::Server => WhichEnd::Client(peer.remote),
                Side::Client => WhichEnd::Server(peer.local.port()),
            };
            Some(ServiceEnd {
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

fn uncorked() -> Setting {
    Setting {
        option: SocketOption::Cork,
        value: Raw::of(0),
    }
}

/// Returns the shortest bound of a delayed ACK that the kernel takes: two ticks.
fn shortest_delay() -> Setting {
    Setting {
        option: SocketOption::DelackMax,
        value: Raw::of(2),
    }
}

/// A receiver then takes a connection for interactive only after so many answers in a row: in effect, seldom.
const MOST_PINGPONG: u32 = 255;
