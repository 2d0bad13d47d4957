//! What can be set on an open connection.

use tinygram_engine::extensions::{Keepalive, SynRetries};
use tinygram_engine::receiver::ack_policy::{AckPolicy, AckTimer};
use tinygram_engine::sender::congestion::Congestion;
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_engine::{Duration, Instant};

use super::Core;
use super::keys::ConnectionKey;

impl Core {
    /// Sets whether dropping the stream resets the connection. This is one setting with
    /// [`Core::set_linger`] of zero: what is set last holds.
    pub fn set_abort_on_drop(&mut self, key: ConnectionKey, on: bool) {
        let key = self.place(key);
        self.sockets[key].abort_on_drop = on;
    }

    /// Sets whether every write is followed by another one (MSG_MORE).
    pub fn set_more(&mut self, key: ConnectionKey, on: bool) {
        let key = self.place(key);
        self.sockets[key].more = on;
    }

    /// Sets SO_KEEPALIVE: whether and when an idle peer is probed.
    pub fn set_keepalive(
        &mut self,
        now: Instant,
        key: ConnectionKey,
        keepalive: Option<Keepalive>,
    ) {
        let key = self.place(key);
        let socket = &mut self.sockets[key];
        socket.connection.set_keepalive(now, keepalive);
        self.settle(key);
    }

    /// Sets TCP_USER_TIMEOUT: how long the peer may leave something unanswered.
    pub fn set_user_timeout(&mut self, key: ConnectionKey, limit: Option<Duration>) {
        let key = self.place(key);
        self.sockets[key].connection.set_user_timeout(limit);
        self.settle(key);
    }

    /// Sets TCP_SYNCNT: how often the SYN is sent again before the attempt is given up. `None` leaves
    /// it to the timeouts of the profile.
    pub fn set_syn_retries(&mut self, key: ConnectionKey, retries: Option<SynRetries>) {
        let key = self.place(key);
        self.sockets[key].connection.set_syn_retries(retries);
    }

    /// Sets TCP_NODELAY.
    pub fn set_nodelay(&mut self, now: Instant, key: ConnectionKey, on: bool) {
        let key = self.place(key);
        let socket = &mut self.sockets[key];
        socket.connection.set_nodelay(now, on, &mut self.outbox);
        self.settle(key);
    }

    /// Sets TCP_CORK.
    pub fn set_cork(&mut self, now: Instant, key: ConnectionKey, on: bool) {
        let key = self.place(key);
        let socket = &mut self.sockets[key];
        socket.connection.set_cork(now, on, &mut self.outbox);
        self.settle(key);
    }

    /// Sets TCP_QUICKACK.
    pub fn set_quick_ack(&mut self, now: Instant, key: ConnectionKey, on: bool) {
        let key = self.place(key);
        let socket = &mut self.sockets[key];
        socket.connection.set_quick_ack(now, on, &mut self.outbox);
        self.settle(key);
    }

    /// Sets the send policy.
    pub fn set_send_policy(&mut self, now: Instant, key: ConnectionKey, policy: SendPolicy) {
        let key = self.place(key);
        let socket = &mut self.sockets[key];
        socket
            .connection
            .set_send_policy(now, policy, &mut self.outbox);
        self.settle(key);
    }

    /// Sets the ACK policy.
    pub fn set_ack_policy(&mut self, key: ConnectionKey, policy: AckPolicy, timer: AckTimer) {
        let key = self.place(key);
        self.sockets[key].connection.set_ack_policy(policy, timer);
    }

    /// Sets the least octets for which a connection counts as readable and its reader is woken
    /// (SO_RCVLOWAT; at least 1). At most half of the receive buffer is waited for, and no longer
    /// than the peer may send, nor beyond the mark of urgent data, where a read stops. The end of
    /// the stream and errors are reported at once. A lower mark wakes the reader if enough is there.
    pub fn set_receive_low_water(&mut self, key: ConnectionKey, octets: u64) {
        let key = self.place(key);
        let socket = &mut self.sockets[key];
        socket.receive_low = octets.max(1);
        if socket.has_enough_for_the_reader() {
            socket.wake_reader(&mut self.wakers);
        }
    }

    /// Sets the class of service of the connection's packets (IP_TOS, IPV6_TCLASS): only DSCP,
    /// because ECN belongs to the connection.
    pub fn set_class(&mut self, key: ConnectionKey, class: u8) {
        let key = self.place(key);
        self.sockets[key].path.set_class(class);
    }

    /// Returns the class of service, whose ECN bits are zero.
    #[must_use]
    pub fn class(&self, key: ConnectionKey) -> u8 {
        let key = self.place(key);
        self.sockets[key].path.class()
    }

    /// Sets the time to live or hop limit of the connection's packets (IP_TTL, IPV6_UNICAST_HOPS): 1
    /// to 255. 0 counts as 1.
    pub fn set_ttl(&mut self, key: ConnectionKey, ttl: u8) {
        let key = self.place(key);
        self.sockets[key].path.set_ttl(ttl);
    }

    /// Returns the time to live or hop limit of the connection's packets.
    #[must_use]
    pub fn ttl(&self, key: ConnectionKey) -> u8 {
        let key = self.place(key);
        self.sockets[key].path.ttl()
    }

    /// Sets SO_SNDBUF, the size of the send buffer in octets.
    pub fn set_send_buffer(&mut self, key: ConnectionKey, octets: u64) {
        let key = self.place(key);
        self.sockets[key].connection.set_send_buffer(octets.max(1));
    }

    /// Sets TCP_NOTSENT_LOWAT: while this many octets were written and have not left, the socket
    /// accepts no more. It is writable again when only half as many have not left.
    pub fn set_notsent_low_water(&mut self, key: ConnectionKey, octets: Option<u64>) {
        let key = self.place(key);
        self.sockets[key].connection.set_notsent_low_water(octets);
    }

    /// Sets SO_RCVBUF, the size of the receive buffer in octets. What was announced is still
    /// accepted.
    pub fn set_receive_buffer(&mut self, key: ConnectionKey, octets: u64) {
        let key = self.place(key);
        self.sockets[key]
            .connection
            .set_receive_buffer(octets.max(1));
    }

    /// Sets the congestion control; the window stays as it is.
    pub fn set_congestion(&mut self, key: ConnectionKey, congestion: Congestion) {
        let key = self.place(key);
        self.sockets[key].connection.set_congestion(congestion);
    }
}
