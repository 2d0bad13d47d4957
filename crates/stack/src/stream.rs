//! TCP connections as tokio streams.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tinygram_engine::Duration;
use tinygram_engine::extensions::Keepalive;
use tinygram_engine::receiver::ack_policy::{AckPolicy, AckTimer};
use tinygram_engine::sender::send_policy::SendPolicy;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::shared::Shared;
use crate::stack::Stack;
use tinygram_tcp::{ConnectionKey, Core, Info, SocketOptions};

/// A TCP connection.
///
/// Reading and writing wait as tokio's streams do. Dropping the stream closes the connection in
/// order while the stack lives; if data arrived that was not read, the peer gets a RST (RFC 2525,
/// section 2.17).
///
/// One task may wait to read and one to write; if several wait, only the last is woken, as in
/// tokio.
///
/// For a policy that gathers until the writer blocks (`flush-on-block`, `dldet`), the writer blocks
/// at a read that has to wait, at a flush, and when the task yields.
pub struct TcpStream {
    handle: Arc<Handle>,
}

/// The application's ownership of a socket.
struct Handle {
    shared: Arc<Shared>,
    key: ConnectionKey,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.call(|core, now| core.release(now, self.key));
    }
}

impl TcpStream {
    /// Opens a connection with the default options.
    ///
    /// # Errors
    ///
    /// See [`TcpStream::connect_with`].
    pub async fn connect(stack: &Stack, remote: SocketAddr) -> io::Result<Self> {
        Self::connect_with(stack, remote, None, &SocketOptions::default()).await
    }

    /// Opens a connection, from `local` if that is given (port 0: any). Dropping the future gives
    /// the attempt up and leaves nothing of it.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] if `remote` cannot be the other end of a connection: see
    /// [`Unfit`](tinygram_tcp::Unfit). [`io::ErrorKind::AddrNotAvailable`] or
    /// [`io::ErrorKind::AddrInUse`] if there is no such `local` address or no port left; [`io::ErrorKind::ConnectionRefused`] if the peer refuses;
    /// [`io::ErrorKind::TimedOut`] if it does not answer.
    pub async fn connect_with(
        stack: &Stack,
        remote: SocketAddr,
        local: Option<SocketAddr>,
        options: &SocketOptions,
    ) -> io::Result<Self> {
        let shared = &stack.shared;
        let key = shared.call(|core, now| core.connect(now, local, remote, options))?;
        let stream = Self::new(Arc::clone(shared), key);
        poll_fn(|context| shared.call(|core, _| core.poll_connected(key, context))).await?;
        Ok(stream)
    }

    pub(crate) fn new(shared: Arc<Shared>, key: ConnectionKey) -> Self {
        Self {
            handle: Arc::new(Handle { shared, key }),
        }
    }

    /// Returns this end's address and port.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.call(|core, _, key| core.ends(key)).0
    }

    /// Returns the peer's address and port.
    #[must_use]
    pub fn peer_addr(&self) -> SocketAddr {
        self.call(|core, _, key| core.ends(key)).1
    }

    /// Changes the send policy. The new policy is asked at once about what the old one held.
    pub fn set_send_policy(&self, policy: SendPolicy) {
        self.call(|core, now, key| core.set_send_policy(now, key, policy));
    }

    /// Changes the ACK policy, and how long an acknowledgment may wait under it.
    pub fn set_ack_policy(&self, policy: AckPolicy, timer: AckTimer) {
        self.call(|core, _, key| core.set_ack_policy(key, policy, timer));
    }

    /// Sets TCP_NODELAY, which overrides the send policy's holds. Switching it on sends what is
    /// held.
    pub fn set_nodelay(&self, on: bool) {
        self.call(|core, now, key| core.set_nodelay(now, key, on));
    }

    /// Sets TCP_CORK: only full segments leave until it is switched off.
    pub fn cork(&self, on: bool) {
        self.call(|core, now, key| core.set_cork(now, key, on));
    }

    /// Sets whether every write is followed by another one, as if it had MSG_MORE.
    pub fn set_more(&self, on: bool) {
        self.call(|core, _, key| core.set_more(key, on));
    }

    /// Writes some octets and announces that more follow (`send` with MSG_MORE); returns how many.
    ///
    /// # Errors
    ///
    /// Those of a write.
    pub async fn send_more(&self, octets: &[u8]) -> io::Result<usize> {
        poll_fn(|context| self.write(context, &[IoSlice::new(octets)], true)).await
    }

    /// Writes all octets, waiting for space, as one write: the policy knows until its end that more
    /// comes, as for a kernel's write to a blocking socket. `AsyncWrite` instead cuts a write where
    /// the buffer is full, and the policy cannot distinguish such a piece from a write of that
    /// length. `more` announces another write (MSG_MORE).
    ///
    /// If the future is dropped early, what it has copied is sent and the rest is not.
    ///
    /// # Errors
    ///
    /// Those of a write.
    pub async fn write_whole(&mut self, octets: &[u8], more: bool) -> io::Result<()> {
        let mut done = 0;
        let whole = Abandoned(self);
        let result = poll_fn(|context| {
            self.call(|core, now, key| {
                core.poll_write_whole(now, key, octets, &mut done, more, context)
            })
        });
        let result = result.await;
        if result.is_ok() {
            std::mem::forget(whole);
        }
        result
    }

    /// Sets SO_KEEPALIVE: whether and when an idle peer is probed.
    pub fn set_keepalive(&self, keepalive: Option<Keepalive>) {
        self.call(|core, now, key| core.set_keepalive(now, key, keepalive));
    }

    /// Sets TCP_USER_TIMEOUT: how long the peer may leave something unanswered.
    pub fn set_user_timeout(&self, limit: Option<Duration>) {
        self.call(|core, _, key| core.set_user_timeout(key, limit));
    }

    /// Sets the time to live or hop limit of this connection's packets (IP_TTL, IPV6_UNICAST_HOPS).
    /// For the SYN, too: [`SocketOptions::ttl`].
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] if it is 0.
    pub fn set_ttl(&self, ttl: u8) -> io::Result<()> {
        let ttl = valid_ttl(ttl)?;
        self.call(|core, _, key| core.set_ttl(key, ttl));
        Ok(())
    }

    /// Returns the time to live or hop limit of this connection's packets: at first 64. What the
    /// peer's packets have is in [`Info::peer_ttl`].
    #[must_use]
    pub fn ttl(&self) -> u8 {
        self.call(|core, _, key| core.ttl(key))
    }

    /// Sets the DSCP of this connection's packets (RFC 2474; the upper six bits of IP_TOS and
    /// IPV6_TCLASS). The lower two are ECN's and stay with the connection. For the SYN, too:
    /// [`SocketOptions::dscp`].
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] if it is above 63.
    pub fn set_dscp(&self, dscp: u8) -> io::Result<()> {
        let dscp = valid_dscp(dscp)?;
        self.call(|core, _, key| core.set_class(key, dscp << 2));
        Ok(())
    }

    /// Returns the DSCP of this connection's packets: at first 0.
    #[must_use]
    pub fn dscp(&self) -> u8 {
        self.call(|core, _, key| core.class(key)) >> 2
    }

    /// Sets the least octets for which a read returns (SO_RCVLOWAT; at least 1). At most half of the
    /// receive buffer is waited for, and no longer than the peer may send; a smaller read waits for as
    /// many octets as it takes.
    pub fn set_receive_low_water(&self, octets: u64) {
        self.call(|core, _, key| core.set_receive_low_water(key, octets));
    }

    /// Sets whether the urgent octet stays in the stream (SO_OOBINLINE). The profile decides what holds
    /// at first: `modern` leaves it there, as RFC 6093, section 6, asks, and `linux_6` does not.
    pub fn set_urgent_inline(&self, inline: bool) {
        self.call(|core, _, key| core.set_urgent_inline(key, inline));
    }

    /// Writes some octets, the last of them urgent (`send` with MSG_OOB: RFC 9293, section 3.8.5);
    /// returns how many. What the windows allow leaves at once, whatever the send policy.
    ///
    /// # Errors
    ///
    /// Those of a write.
    pub async fn write_urgent(&self, octets: &[u8]) -> io::Result<usize> {
        poll_fn(|context| {
            self.call(|core, now, key| core.poll_write_urgent(now, key, octets, context))
        })
        .await
    }

    /// Waits for the urgent octet and takes it (`recv` with MSG_OOB). Other reads stop before it, and
    /// continue behind it. Whoever waits here is the task that waits to read.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] if urgent data is [read in line](Self::set_urgent_inline);
    /// [`io::ErrorKind::UnexpectedEof`] if none will come any more.
    pub async fn read_urgent(&self) -> io::Result<u8> {
        let poll = |context: &mut Context<'_>| {
            self.call(|core, now, key| core.poll_read_urgent(now, key, false, context))
        };
        poll_fn(poll).await
    }

    /// Returns whether everything before the urgent octet was read, and nothing beyond it
    /// (SIOCATMARK, `sockatmark`).
    #[must_use]
    pub fn is_at_mark(&self) -> bool {
        self.call(|core, _, key| core.is_at_mark(key))
    }

    /// Sets how the stream is closed (SO_LINGER): in the background (`None`); so that
    /// [`close`](Self::close) waits for the peer's acknowledgment for at most this time; or, with
    /// zero, by a reset. Dropping the stream never waits. Any other value than zero ends what
    /// [`set_abort_on_drop`](Self::set_abort_on_drop) set.
    pub fn set_linger(&self, linger: Option<Duration>) {
        self.call(|core, _, key| core.set_linger(key, linger));
    }

    /// Closes the stream as [`set_linger`](Self::set_linger) says. Returns whether the peer has
    /// acknowledged everything that was written, and the FIN. If not, the stack continues to send
    /// what is left, unless the connection has ended or was reset: the latter also if data came that
    /// was not read (RFC 2525, section 2.17).
    pub async fn close(self) -> bool {
        poll_fn(|context| self.call(|core, now, key| core.poll_close(now, key, context))).await
    }

    /// Sets whether dropping the stream resets the connection instead of closing it. This is one
    /// setting with [`set_linger`](Self::set_linger) of zero: what is set last holds.
    pub fn set_abort_on_drop(&self, on: bool) {
        self.call(|core, _, key| core.set_abort_on_drop(key, on));
    }

    /// Resets the connection: reads and writes here return [`io::ErrorKind::ConnectionAborted`],
    /// and the peer gets a RST.
    pub fn abort(&self) {
        self.call(|core, _, key| core.abort(key));
    }

    /// Returns the state of the connection.
    #[must_use]
    pub fn info(&self) -> Info {
        self.call(|core, now, key| core.info(now, key))
    }

    /// Splits the stream into two halves that may go to different tasks. Dropping the writing half
    /// means that nothing more will be written.
    #[must_use]
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        let reading = Self {
            handle: Arc::clone(&self.handle),
        };
        (OwnedReadHalf(reading), OwnedWriteHalf(self))
    }

    #[inline]
    fn call<T>(
        &self,
        call: impl FnOnce(&mut Core, tinygram_engine::Instant, ConnectionKey) -> T,
    ) -> T {
        let key = self.handle.key;
        self.handle.shared.call(|core, now| call(core, now, key))
    }

    #[inline]
    fn read(&self, context: &Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.call(|core, now, key| {
            let most = buffer.remaining();
            let take = |octets: &[u8]| buffer.put_slice(octets);
            core.poll_read(now, key, most, context, take).map_ok(|_| ())
        })
    }

    #[inline]
    fn write(
        &self,
        context: &Context<'_>,
        pieces: &[IoSlice<'_>],
        more: bool,
    ) -> Poll<io::Result<usize>> {
        self.call(|core, now, key| core.poll_write(now, key, pieces, more, context))
    }

    fn flush_now(&self) {
        self.call(Core::flush);
    }

    fn finish(&self) {
        self.call(Core::shutdown);
    }
}

/// Returns the time to live, if packets may have it.
pub(crate) fn valid_ttl(ttl: u8) -> io::Result<u8> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "a time to live is 1 to 255");
    Some(ttl).filter(|ttl| *ttl > 0).ok_or_else(invalid)
}

/// Returns the DSCP, if there is such a one.
pub(crate) fn valid_dscp(dscp: u8) -> io::Result<u8> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "a DSCP is 0 to 63");
    Some(dscp).filter(|dscp| *dscp <= 63).ok_or_else(invalid)
}

/// Abandons a whole write if it is dropped early.
struct Abandoned<'a>(&'a TcpStream);

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        self.0.call(Core::abandon_write);
    }
}

impl AsyncRead for TcpStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.read(context, buffer)
    }
}

impl AsyncWrite for TcpStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write(context, &[IoSlice::new(octets)], false)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write(context, pieces, false)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Returns at once: TCP continues to send what the peer has not taken yet.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.flush_now();
        Poll::Ready(Ok(()))
    }

    /// Returns at once: the FIN follows what was written.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.finish();
        Poll::Ready(Ok(()))
    }
}

/// The reading half of a stream that was [split](TcpStream::into_split).
pub struct OwnedReadHalf(TcpStream);

/// The writing half of a stream that was [split](TcpStream::into_split).
pub struct OwnedWriteHalf(TcpStream);

impl AsyncRead for OwnedReadHalf {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.0.read(context, buffer)
    }
}

impl AsyncWrite for OwnedWriteHalf {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, octets)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

impl AsRef<TcpStream> for OwnedReadHalf {
    fn as_ref(&self) -> &TcpStream {
        &self.0
    }
}

impl AsRef<TcpStream> for OwnedWriteHalf {
    fn as_ref(&self) -> &TcpStream {
        &self.0
    }
}

impl Drop for OwnedWriteHalf {
    fn drop(&mut self) {
        self.0.finish();
    }
}
