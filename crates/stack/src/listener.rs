//! Waiting for connections.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::options::SocketOptions;
use crate::stack::{Shared, Stack};
use crate::stream::TcpStream;

/// A listening socket. Dropping it resets the connections that nobody has accepted.
pub struct TcpListener {
    shared: Arc<Shared>,
    key: usize,
    local: SocketAddr,
}

/// Half-open connections that a listener keeps, and as many that wait to be accepted (Linux:
/// `tcp_max_syn_backlog` and `somaxconn`).
const BACKLOG: usize = 4096;

impl TcpListener {
    /// Listens with the usual options. The unspecified address stands for all that the stack has,
    /// of both families; port 0 for any.
    ///
    /// # Errors
    ///
    /// See [`TcpListener::bind_with`].
    pub fn bind(stack: &Stack, local: SocketAddr) -> io::Result<Self> {
        Self::bind_with(stack, local, BACKLOG, &SocketOptions::default())
    }

    /// Listens; connections begin with `options`. At most `backlog` are half open (the oldest gives
    /// way to a new one) and at most about as many wait to be accepted (beyond it SYNs are lost).
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
        Ok(Self { shared, key, local })
    }

    /// Waits for a connection; gives it and the peer's address and port. Any number of tasks may
    /// wait, and one that stops waiting takes no connection with it.
    ///
    /// # Errors
    ///
    /// None now; the signature is tokio's.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        poll_fn(|context| self.poll_accept(context)).await
    }

    /// The same, to be polled.
    ///
    /// # Errors
    ///
    /// None now; the signature is tokio's.
    pub fn poll_accept(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let accepted = self
            .shared
            .call(|core, _| core.poll_accept(self.key, context));
        accepted.map(|key| {
            let stream = TcpStream::new(Arc::clone(&self.shared), key);
            let peer = stream.peer_addr();
            Ok((stream, peer))
        })
    }

    /// The address and port on which it listens.
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
