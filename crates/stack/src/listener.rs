//! Listening for connections.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

use crate::shared::Shared;
use crate::stack::Stack;
use crate::stream::{TcpStream, valid_dscp, valid_ttl};
use tinygram_tcp::{ListenerKey, SocketOptions};

/// A listening socket. Dropping it resets the connections that nobody has accepted.
pub struct TcpListener {
    shared: Arc<Shared>,
    key: ListenerKey,
    local: SocketAddr,
    /// The number of the next task that waits.
    next_acceptor: AtomicU64,
}

/// The number of the task that polls instead of waiting.
const POLLS: u64 = 0;

/// The most half-open connections of a listener, and the most unaccepted ones (Linux:
/// `tcp_max_syn_backlog` and `somaxconn`).
const BACKLOG: usize = 4096;

impl TcpListener {
    /// Listens with the default options. The unspecified address stands for all addresses of the
    /// stack, of both families; port 0 for any port.
    ///
    /// # Errors
    ///
    /// See [`TcpListener::bind_with`].
    pub fn bind(stack: &Stack, local: SocketAddr) -> io::Result<Self> {
        Self::bind_with(stack, local, BACKLOG, &SocketOptions::default())
    }

    /// Listens for connections, which begin with `options`. At most `backlog` connections are half open (a
    /// new one replaces the oldest), and about as many wait to be accepted (further SYNs are
    /// dropped).
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AddrNotAvailable`] or [`io::ErrorKind::AddrInUse`].
    pub fn bind_with(
        stack: &Stack,
        local: SocketAddr,
        backlog: usize,
        options: &SocketOptions,
    ) -> io::Result<Self> {
        let shared = Arc::clone(&stack.shared);
        let (key, local) = shared.call(|core, _| core.listen(local, backlog, options))?;
        Ok(Self {
            shared,
            key,
            local,
            next_acceptor: AtomicU64::new(POLLS + 1),
        })
    }

    /// Waits for a connection; returns it and the peer's address and port. Any number of tasks may
    /// wait. A task that stops waiting takes no connection with it.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::ConnectionAborted`] once the device is gone.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let waiting = Waiting {
            listener: self,
            acceptor: self.next_acceptor.fetch_add(1, Relaxed),
        };
        poll_fn(|context| self.poll_as(waiting.acceptor, context)).await
    }

    /// Polls for a connection. Only the task that polled last is woken.
    ///
    /// # Errors
    ///
    /// As [`TcpListener::accept`].
    pub fn poll_accept(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        self.poll_as(POLLS, context)
    }

    fn poll_as(
        &self,
        acceptor: u64,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let accepted = self
            .shared
            .call(|core, _| core.poll_accept(self.key, acceptor, context));
        accepted.map_ok(|key| {
            let stream = TcpStream::new(Arc::clone(&self.shared), key);
            let peer = stream.peer_addr();
            (stream, peer)
        })
    }

    /// Sets the time to live or hop limit of connections that begin from now on (IP_TTL,
    /// IPV6_UNICAST_HOPS), their SYN-ACK included.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] if it is 0.
    pub fn set_ttl(&self, ttl: u8) -> io::Result<()> {
        let ttl = valid_ttl(ttl)?;
        self.options(|options| options.ttl = ttl);
        Ok(())
    }

    /// Returns the time to live or hop limit of connections that begin from now on.
    #[must_use]
    pub fn ttl(&self) -> u8 {
        self.options(|options| options.ttl)
    }

    /// Sets the DSCP of connections that begin from now on (RFC 2474), their SYN-ACK included.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] if it is above 63.
    pub fn set_dscp(&self, dscp: u8) -> io::Result<()> {
        let dscp = valid_dscp(dscp)?;
        self.options(|options| options.dscp = dscp);
        Ok(())
    }

    /// Returns the DSCP of connections that begin from now on.
    #[must_use]
    pub fn dscp(&self) -> u8 {
        self.options(|options| options.dscp)
    }

    /// Reads or changes the options of connections that begin from now on.
    fn options<T>(&self, what: impl FnOnce(&mut SocketOptions) -> T) -> T {
        self.shared
            .call(|core, _| what(core.listener_options(self.key)))
    }

    /// Returns the address and port on which it listens.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }
}

impl Drop for TcpListener {
    fn drop(&mut self) {
        self.shared.call(|core, _| core.stop_listening(self.key));
    }
}

/// A task that waits for a connection. Dropping it forgets the task, whether or not it got one.
struct Waiting<'a> {
    listener: &'a TcpListener,
    acceptor: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Self { listener, acceptor } = *self;
        listener
            .shared
            .call(|core, _| core.stop_accepting(listener.key, acceptor));
    }
}
