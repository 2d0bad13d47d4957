//! The state of a connection, as detailed as `TCP_INFO`.

use tinygram_engine::connection::Agreement;
use tinygram_engine::sender::{Counters, LossView};
use tinygram_engine::{Duration, Instant, State};

use super::Core;
use super::chronicle::Holder;
use super::keys::ConnectionKey;
use super::socket::Socket;

/// The state of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The state.
    pub state: State,
    /// What its sender counted.
    pub sent: Counters,
    /// What its sender believes about its flight.
    pub losses: LossView,
    /// What both SYNs agreed on.
    pub agreement: Agreement,
    /// The largest segment that is sent, in octets.
    pub mss: u32,
    /// The MSS that was announced to the peer, in octets.
    pub announced_mss: u16,
    /// The most data that one segment of the peer has carried, in octets.
    pub largest_received: u32,
    /// The congestion window, in octets.
    pub cwnd: u64,
    /// The slow start threshold, in octets.
    pub ssthresh: u64,
    /// The peer's window, in octets.
    pub peer_window: u64,
    /// The window that this side would announce now, in octets.
    pub window: u32,
    /// The window shifts of the peer and of this side.
    pub window_shifts: (u8, u8),
    /// The smoothed round-trip time, once it was measured.
    pub srtt: Option<Duration>,
    /// Its variation.
    pub rttvar: Duration,
    /// The retransmission timeout.
    pub rto: Duration,
    /// Timeouts in a row without an answer.
    pub unanswered: u32,
    /// How often the timeout was doubled.
    pub backoff: u32,
    /// Window probes in a row without an answer.
    pub probes: u32,
    /// Octets sent and not acknowledged.
    pub outstanding: u64,
    /// Octets written and not sent.
    pub unsent: u64,
    /// The size of the send buffer, in octets.
    pub send_buffer: u64,
    /// Octets that can be read.
    pub readable: u64,
    /// Octets that the peer has acknowledged.
    pub acknowledged: u64,
    /// Octets of data that arrived in order.
    pub received: u64,
    /// Segments that arrived, and how many of them carried data.
    pub segments_received: (u64, u64),
    /// The time since the peer's data last arrived, or since the connection began.
    pub since_data: Duration,
    /// How long there was written data that was not acknowledged.
    pub busy: Duration,
    /// The part of `busy` in which the peer's window held something back.
    pub limited_by_window: Duration,
    /// The part of `busy` in which the writer waited for space in the send buffer.
    pub limited_by_buffer: Duration,
    /// The time to live or hop limit with which the segment arrived that completed the handshake (or
    /// the last one before that): what the peer's host sets, less the routers in between.
    pub peer_ttl: Option<u8>,
    /// The octets of memory that the buffers take.
    pub allocated: usize,
}

impl Socket {
    /// Records what holds the data back from now on.
    #[inline]
    pub(super) fn chronicle(&mut self) {
        let held_by = self.held_by();
        if held_by != self.chronicle.held_by {
            let now = self.connection.sender().vars().now;
            self.chronicle = self.chronicle.up_to(now);
            self.chronicle.held_by = held_by;
        }
    }

    #[inline]
    fn held_by(&self) -> Holder {
        let vars = self.connection.sender().vars();
        if self.connection.sender().buffered() == 0 {
            return Holder::Nobody;
        }
        let unsent = vars.written.since(vars.nxt);
        let outstanding = vars.nxt.since(vars.una);
        let next = unsent.min(u64::from(vars.mss));
        if unsent > 0 && outstanding + next > vars.wnd && outstanding + next <= vars.cwnd {
            Holder::Window
        } else if unsent == 0 && vars.writer_blocked && outstanding < vars.cwnd {
            Holder::Buffer
        } else {
            Holder::Network
        }
    }
}

impl Core {
    /// Returns the present state of the connection.
    #[must_use]
    pub fn info(&self, now: Instant, key: ConnectionKey) -> Info {
        let key = self.place(key);
        let socket = &self.sockets[key];
        let (sender, receiver) = (socket.connection.sender(), socket.connection.receiver());
        let (vars, rtt) = (sender.vars(), sender.rtt());
        let chronicle = socket.chronicle.up_to(now);
        Info {
            state: socket.connection.state(),
            sent: *sender.counters(),
            losses: sender.losses(),
            agreement: socket.connection.agreement(),
            mss: vars.mss,
            announced_mss: receiver.mss(),
            largest_received: chronicle.largest_received,
            cwnd: vars.cwnd,
            ssthresh: vars.ssthresh,
            peer_window: vars.wnd,
            window: receiver.window(),
            window_shifts: (
                socket.connection.send_window_shift(),
                socket.connection.receive_window_shift(),
            ),
            srtt: rtt.srtt(),
            rttvar: rtt.rttvar(),
            rto: rtt.rto(),
            unanswered: rtt.unanswered(),
            backoff: rtt.backoff(),
            probes: sender.unanswered_probes(),
            outstanding: vars.outstanding(),
            unsent: vars.written.since(vars.nxt),
            send_buffer: sender.capacity(),
            readable: socket.readable(),
            acknowledged: vars.una.get().saturating_sub(1),
            received: receiver.nxt().get().saturating_sub(1),
            segments_received: (chronicle.segments, chronicle.data_segments),
            since_data: now.since(chronicle.data_at),
            busy: chronicle.busy,
            limited_by_window: chronicle.by_window,
            limited_by_buffer: chronicle.by_buffer,
            peer_ttl: Some(socket.peer_ttl).filter(|ttl| *ttl > 0),
            allocated: socket.allocated(),
        }
    }

    /// Returns only the state.
    #[must_use]
    pub fn state(&self, key: ConnectionKey) -> State {
        let key = self.place(key);
        self.sockets[key].connection.state()
    }
}
