//! Connections begin: by a call of this side's, or at a listener.

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use tinygram_engine::{Instant, State};
use tinygram_wire::endpoint::Endpoint;

use super::addresses::{Unfit, check_peer};
use super::keys::{ConnectionKey, ListenerKey};
use super::listener::Listener;
use super::socket::{Fate, Owner, remember};
use super::{Core, Pair, SocketOptions};

impl Core {
    /// Sends a SYN. The key is the application's until [`Core::release`].
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] with an [`Unfit`] if `remote` cannot be the other end of a
    /// connection (RFC 9293, MUST-46); [`io::ErrorKind::AddrNotAvailable`] if the stack has no
    /// address of the peer's family or no port is left for this peer;
    /// [`io::ErrorKind::AddrInUse`] if `local` is taken.
    pub fn connect(
        &mut self,
        now: Instant,
        local: Option<SocketAddr>,
        remote: SocketAddr,
        options: &SocketOptions,
    ) -> io::Result<ConnectionKey> {
        check_peer(remote.ip(), &self.addresses)?;
        if remote.port() == 0 {
            return Err(Unfit::Port.into());
        }
        let local = match local {
            Some(local) => local,
            None => SocketAddr::new(self.address_towards(remote)?, 0),
        };
        if !self.addresses.contains(&local.ip()) || local.is_ipv4() != remote.is_ipv4() {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        }
        let pair = self.choose_port(local.into(), remote.into())?;
        let key = self
            .open(now, pair, options, Owner::Application)
            .map_err(io::Error::other)?;
        self.sockets[key].connection.connect(now, &mut self.outbox);
        self.settle(key);
        Ok(self.key_of(key))
    }

    fn address_towards(&self, remote: SocketAddr) -> io::Result<std::net::IpAddr> {
        let mut of_the_family = self.addresses.iter();
        of_the_family
            .find(|address| address.is_ipv4() == remote.is_ipv4())
            .copied()
            .ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
    }

    fn choose_port(&mut self, local: Endpoint, remote: Endpoint) -> io::Result<Pair> {
        let pair = |port| Pair {
            local: Endpoint { port, ..local },
            remote,
        };
        if local.port != 0 {
            let taken = self.pairs.contains_key(&pair(local.port));
            return match taken {
                true => Err(io::ErrorKind::AddrInUse.into()),
                false => Ok(pair(local.port)),
            };
        }
        let pairs = &self.pairs;
        self.secrets
            .ephemeral_port(&local, &remote, |port| !pairs.contains_key(&pair(port)))
            .map(pair)
            .ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
    }

    /// Listens on `local`, whose address may be unspecified (all addresses of this family and the
    /// other). `backlog` bounds the half-open connections and, separately, the unaccepted ones.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AddrInUse`] if another listener has the address and port;
    /// [`io::ErrorKind::AddrNotAvailable`] if the address is not the stack's.
    pub fn listen(
        &mut self,
        local: SocketAddr,
        backlog: usize,
        options: &SocketOptions,
    ) -> io::Result<(ListenerKey, SocketAddr)> {
        let any = local.ip().is_unspecified();
        if !any && !self.addresses.contains(&local.ip()) {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        }
        let taken = |port| {
            self.listeners.iter().any(|(_, other)| {
                let theirs = other.local.address();
                let same = any || theirs.is_unspecified() || theirs == local.ip();
                other.local.port == port && same
            })
        };
        let port = match local.port() {
            0 => (49152..=65535).find(|port| !taken(*port)),
            port => Some(port).filter(|port| !taken(*port)),
        };
        let port = port.ok_or(io::ErrorKind::AddrInUse)?;
        let local = SocketAddr::new(local.ip(), port);
        let generation = self.generations.next();
        let listener = Listener::new(local.into(), generation, backlog, options.clone());
        let place = self.listeners.insert(listener);
        Ok((self.listener_key_of(place), local))
    }

    /// Polls for a complete connection. Any number of tasks may wait, each with a number of its
    /// own, until it has a connection or [`Core::stop_accepting`] is called for it.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::ConnectionAborted`] once the device is gone.
    pub fn poll_accept(
        &mut self,
        listener: ListenerKey,
        acceptor: u64,
        context: &Context<'_>,
    ) -> Poll<io::Result<ConnectionKey>> {
        let listener = self.listener_place(listener);
        let listener = &mut self.listeners[listener];
        match listener.pop_ready() {
            Some(key) => {
                self.sockets[key].owner = Owner::Application;
                Poll::Ready(Ok(self.key_of(key)))
            }
            None if self.device_gone => Poll::Ready(Err(Fate::Aborted.into())),
            None => {
                listener.remember(acceptor, context.waker());
                Poll::Pending
            }
        }
    }

    /// Forgets the task with this number, which no longer waits.
    pub fn stop_accepting(&mut self, listener: ListenerKey, acceptor: u64) {
        let listener = self.listener_place(listener);
        self.listeners[listener].forget(acceptor);
    }

    /// Stops accepting connections. Connections that were not accepted are reset.
    pub fn stop_listening(&mut self, listener: ListenerKey) {
        let listener = self.listener_place(listener);
        for key in self.listeners[listener].owned() {
            self.disown(key);
            self.reset_connection(key);
        }
        self.listeners.remove(listener);
    }

    /// Waits for the handshake.
    ///
    /// # Errors
    ///
    /// If the handshake failed.
    pub fn poll_connected(
        &mut self,
        key: ConnectionKey,
        context: &Context<'_>,
    ) -> Poll<io::Result<()>> {
        let key = self.place(key);
        let socket = &mut self.sockets[key];
        if let Some(fate) = socket.fate {
            socket.error = None;
            return Poll::Ready(Err(fate.into()));
        }
        match socket.connection.state() {
            State::SynSent | State::SynReceived => {
                remember(&mut socket.writer, context.waker());
                Poll::Pending
            }
            _ => Poll::Ready(Ok(())),
        }
    }
}
