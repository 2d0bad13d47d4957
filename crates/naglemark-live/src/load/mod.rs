//! The running kernel's sockets under load: the programs of simulated hosts, on real sockets and in real time.

mod clock;
mod compute;
mod count;
mod run;
mod thread;

use std::io;
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};

use socket2::SockRef;
use tinygram_link::namespace::Namespace;
use tinygram_link::veth::{self, Offload};
use tinygram_link::{priority, processors};
use tinygram_naglemark::load::program::Sockets;
use tinygram_naglemark::load::{Ends, LoadBackend, LoadTaken, LoadTrial};
use tinygram_naglemark::{Conditions, Error, Policy, SocketPolicy};

use crate::kernel::rules::{self, Rules};
use crate::kernel::{NAME, estimated, release};
use crate::networks::{DEVICE, FAR, NEAR, space};
use crate::socket::{self, Options};
use compute::Computing;
use run::Run;

/// The running kernel's sockets in two namespaces that a veth pair without offloads joins. One process has both ends: a
/// thread for all clients, and the server's threads, on a processor of its own each if there are two.
///
/// Segments are those that `TCP_INFO` counts. Processor time is that of the threads, interrupts in them included: on a veth
/// pair the sender's processor does the receiver's work on a segment.
pub struct LoadedKernel {
    near: Namespace,
    far: Namespace,
    rules: Mutex<Rules>,
    conditions: Conditions,
    computing: Computing,
    /// The client's processor and the server's.
    processors: [Option<usize>; 2],
}

impl LoadedKernel {
    /// The ways of using a socket that the programs under load know.
    pub const SOCKET_POLICIES: [SocketPolicy; 3] = [
        SocketPolicy::Default,
        SocketPolicy::NoDelay,
        SocketPolicy::QuickAck,
    ];

    /// Makes the namespaces, and tests them with a first connection.
    ///
    /// # Errors
    ///
    /// [`Error::Failed`] if they cannot be made.
    pub fn open() -> Result<Self, Error> {
        Self::named(NAME, &[])
    }

    /// Does the same for sockets that are also given those of the engine's policies that there are as BPF
    /// ([`in_kernel`](crate::in_kernel)).
    ///
    /// # Errors
    ///
    /// [`Error::Failed`] if namespaces cannot be made or a policy cannot be loaded.
    pub fn with_policies(policies: &[Policy]) -> Result<Self, Error> {
        Self::named(rules::NAME, policies)
    }

    fn named(name: &'static str, policies: &[Policy]) -> Result<Self, Error> {
        priority::prefer();
        let mut rules = Rules::of(policies);
        // What the kernel or the privileges lack is said before anything is measured.
        policies
            .iter()
            .try_for_each(|policy| rules.prepare(policy))?;
        let [near, far] = [space()?, space()?];
        veth::join([&near, &far], DEVICE, [NEAR, FAR], Offload::Off)
            .map_err(|error| Error::failed("joining two namespaces", error))?;
        let [client, _server] = connected(&near, &far, 1)?;
        let (medium, rtt) = estimated(None);
        let conditions = Conditions {
            backend: name.into(),
            link: "veth".into(),
            stack: release(),
            mss: socket::mss(&client[0])?,
            congestion: socket::congestion(&client[0]),
            medium,
            wire: None,
            rtt,
        };
        Ok(Self {
            near,
            far,
            rules: Mutex::new(rules),
            conditions,
            computing: Computing::calibrated(),
            processors: processors::two().map_or([None, None], |two| two.map(Some)),
        })
    }

    /// Tells the connections of an end to follow the policies of a trial. Returns whether its programs set TCP_QUICKACK.
    fn tell(
        &self,
        connections: &[TcpStream],
        policy: Option<&Policy>,
        registered: Option<&str>,
    ) -> Result<bool, Error> {
        for connection in connections {
            let socket = SockRef::from(connection);
            let told = match policy {
                None | Some(Policy::Socket(SocketPolicy::Default | SocketPolicy::QuickAck)) => {
                    Ok(())
                }
                Some(Policy::Socket(SocketPolicy::NoDelay)) => socket.set_tcp_nodelay(true),
                Some(engine @ Policy::Engine { .. }) => {
                    let name = registered.ok_or_else(|| self.refuses(engine))?;
                    // The kernel's own rule never holds beside it.
                    let chosen = socket.set_tcp_congestion(name.as_bytes());
                    chosen.and_then(|()| socket.set_tcp_nodelay(true))
                }
                Some(other) => return Err(self.refuses(other)),
            };
            told.map_err(|error| Error::failed("choosing a policy for a socket", error))?;
        }
        let quickack = Policy::from(SocketPolicy::QuickAck);
        Ok(policy.is_some_and(|policy| policy.label() == quickack.label()))
    }

    fn refuses(&self, policy: &Policy) -> Error {
        Error::policy(&self.conditions.backend, policy)
    }
}

impl LoadBackend for LoadedKernel {
    fn conditions(&self) -> Conditions {
        self.conditions.clone()
    }

    fn serve(&self, trial: &LoadTrial) -> Result<LoadTaken, Error> {
        if trial.ack_policy.is_some() || trial.ack_timer.is_some() {
            let why = "the kernel has rules of its own";
            return Err(Error::failed("choosing when to acknowledge", why));
        }
        if trial.programs.connections > Sockets::MOST {
            let why = format!("more than {} connections", Sockets::MOST);
            return Err(Error::failed("opening connections", why));
        }
        let policies = match trial.ends {
            Ends::Both => [Some(&trial.policy); 2],
            Ends::Client => [Some(&trial.policy), trial.other.as_ref()],
            Ends::Server => [trial.other.as_ref(), Some(&trial.policy)],
        };
        let registered = {
            let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
            rules.prepare_only(policies.into_iter().flatten())?;
            rules.now().name()
        };
        let connections = connected(&self.near, &self.far, trial.programs.connections)?;
        let mut quickack = [false; 2];
        for ((end, policy), quickack) in connections.iter().zip(policies).zip(&mut quickack) {
            *quickack = self.tell(end, policy, registered.as_deref())?;
        }
        let run = Run {
            trial,
            connections: connections.map(Arc::new),
            quickack,
            computing: self.computing,
            processors: self.processors,
        };
        run.taken()
            .map_err(|error| Error::failed("serving under load over veth", error))
    }
}

/// Returns fresh connections: the client's ends, and the server's in the same order.
fn connected(
    near: &Namespace,
    far: &Namespace,
    connections: u32,
) -> Result<[Vec<TcpStream>; 2], Error> {
    let options = Options::default();
    let connect = || -> io::Result<[Vec<TcpStream>; 2]> {
        let listener = far.within(|| socket::listen((FAR.v4, 0).into(), options))??;
        let server = listener.local_addr()?;
        let connect = |_| -> io::Result<TcpStream> {
            let socket = socket::new(server, options)?;
            socket.connect(&server.into())?;
            Ok(socket.into())
        };
        let clients =
            near.within(|| (0..connections).map(connect).collect::<io::Result<_>>())??;
        // They are accepted in the order in which they were opened.
        let accept = |_| listener.accept().map(|(stream, _)| stream);
        let servers = (0..connections).map(accept).collect::<io::Result<_>>()?;
        Ok([clients, servers])
    };
    connect().map_err(|error| Error::failed("connecting to the server", error))
}
