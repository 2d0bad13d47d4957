//! A connection joins the sending and the receiving half with a state machine (RFC 9293, section
//! 3.3.2).
//!
//! There are three families of calls, each with the time and an [`Outbox`]: the application calls,
//! a segment arrives, time passes. One query, [`Connection::next_wakeup`], reads the deadlines that
//! the halves have stored.

mod agreement;
mod arrival;
mod challenge;
mod config;
mod ecn;
mod handshake;
mod liveness;
mod output;
mod path;
mod scarcity;
mod teardown;
mod timestamps;

pub use agreement::Agreement;
pub use config::{Config, ConfigBuilder, InvalidConfig};
pub use handshake::reset;

use crate::extensions::Extensions;
use crate::outbox::{Events, Outbox};
use crate::receiver::Receiver;
use crate::receiver::ack_policy::{AckPolicy, AckTimer};
use crate::sender::congestion::Congestion;
use crate::sender::send_policy::{BlockedOn, Moment, SendPolicy};
use crate::sender::{Expired, PieceOfWrite, Sender, Stamp};
use crate::socket::copy_rule::{CopyRule, Rule};
use crate::socket::{Piece, WriteCall};
use crate::time::{Deadline, Duration, Instant};
use agreement::Agreed;
use challenge::Budget;
use liveness::Liveness;
use timestamps::Clock;

/// The states of RFC 9293, section 3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the RFC's names say it all
pub enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
}

impl State {
    /// Returns whether the handshake is complete and the connection still exists.
    #[must_use]
    pub fn synchronised(self) -> bool {
        !matches!(
            self,
            Self::Closed | Self::Listen | Self::SynSent | Self::SynReceived
        )
    }

    /// Returns whether the peer may still send data.
    #[must_use]
    pub fn receives(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }

    /// Returns whether the application may still write.
    #[must_use]
    pub fn sends(self) -> bool {
        matches!(self, Self::Established | Self::CloseWait)
    }
}

/// The result of a step of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrote {
    /// This many octets were copied, and more of the write is left.
    Piece(u64),
    /// This many octets were copied, and they were the last of the write.
    Last(u64),
    /// Nothing was copied; the writer must sleep until [`Events::WRITABLE`].
    Sleeps,
    /// Nothing can be written: this side has closed, or the connection is gone.
    Refused,
}

/// The purpose of the next wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// One of the sender's timers.
    Sender(crate::sender::TimerReason),
    /// A delayed acknowledgment.
    DelayedAck,
    /// The end of TIME-WAIT.
    TimeWait,
    /// The end of a FIN-WAIT-2 in which nobody reads.
    FinWait2,
    /// A check whether an idle peer is still there.
    Keepalive,
}

/// One end of a TCP connection.
#[derive(Clone, Debug)]
pub struct Connection {
    state: State,
    sender: Sender,
    receiver: Receiver,
    copy_rule: CopyRule,
    write: Option<WriteCall>,
    time_wait: Duration,
    /// The end of TIME-WAIT or of an abandoned FIN-WAIT-2, or the next keepalive, depending on the
    /// state.
    own_deadline: Deadline,
    liveness: Liveness,
    challenges: Budget,
    /// Whether an arriving SYN opened the connection, so that a refused one goes back to LISTEN.
    passive: bool,
    extensions: Extensions,
    agreed: Agreed,
    marks: ecn::Marks,
    /// The header fields of segments that leave now; kept so that most of them need not be written
    /// again.
    stamp: Stamp,
    clock: Clock,
    /// No bare ACK outside the window is answered before this time.
    next_answer: Instant,
}

impl Connection {
    /// Returns a closed connection; [`Connection::connect`] or [`Connection::listen`] opens it.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let mut receiver = Receiver::new(&config.receiver);
        receiver.may_grow_to(config.extensions.receive_buffer_most);
        Self {
            state: State::Closed,
            sender: Sender::new(&config.sender, &config.extensions),
            receiver,
            copy_rule: config.copy_rule,
            write: None,
            time_wait: config.time_wait,
            own_deadline: Deadline::OFF,
            liveness: Liveness::default(),
            challenges: Budget::default(),
            passive: false,
            extensions: config.extensions,
            agreed: Agreed::default(),
            marks: ecn::Marks::default(),
            stamp: Stamp::default(),
            clock: Clock::default(),
            next_answer: Instant::ZERO,
        }
    }

    /// Returns a connection whose handshake counts as done, with a peer that offers `peer_window`
    /// octets: at most a gigabyte (RFC 7323, section 2.3), more counts as that.
    ///
    /// The peer counts as one of the same kind, which agreed to every extension. Simulations that
    /// do not measure the handshake start here.
    #[must_use]
    pub fn established(config: &Config, peer_window: u64) -> Self {
        let mut connection = Self::new(config);
        connection.state = State::Established;
        let options = connection.syn_options(Instant::ZERO);
        connection.agree(Instant::ZERO, &options);
        connection.sender.establish(peer_window.min(LARGEST_WINDOW));
        connection.receiver.establish();
        connection.watch(Instant::ZERO);
        connection
    }

    /// Returns the state.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// Returns the sending half.
    #[must_use]
    #[inline]
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Returns the receiving half.
    #[must_use]
    #[inline]
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// Returns what both SYNs agreed on.
    #[must_use]
    pub fn agreement(&self) -> Agreement {
        Agreement {
            window_scaling: self.agreed.window_scaling,
            timestamps: self.agreed.timestamps,
            sack: self.agreed.sack,
            ecn: self.agreed.ecn,
        }
    }

    /// Returns Snd.Wind.Shift: how far to shift left the window field of arriving segments other
    /// than SYNs (RFC 7323, section 2.3).
    #[must_use]
    pub fn send_window_shift(&self) -> u8 {
        self.agreed.send_window_shift
    }

    /// Returns Rcv.Wind.Shift: how far to shift right the windows of leaving segments other than
    /// SYNs. Announced windows are multiples of `1 << shift`.
    #[must_use]
    pub fn receive_window_shift(&self) -> u8 {
        self.receiver.window_shift()
    }

    /// Changes the send policy from now on. The new policy is asked at once about what the old one
    /// held.
    pub fn set_send_policy(&mut self, now: Instant, policy: SendPolicy, out: &mut Outbox) {
        self.sender.set_policy(policy);
        self.output(now, out);
    }

    /// Changes the congestion control from now on. The window stays as it is.
    pub fn set_congestion(&mut self, congestion: Congestion) {
        self.sender.set_congestion(congestion);
    }

    /// Changes the size of the send buffer from now on, in octets (SO_SNDBUF).
    pub fn set_send_buffer(&mut self, octets: u64) {
        self.sender.set_capacity(octets);
    }

    /// Limits unsent data (TCP_NOTSENT_LOWAT): nothing is accepted while `octets` were written and
    /// have not left, and a sleeping writer is woken when half as many have not left. `None` leaves
    /// the limit to the send buffer alone. A program that writes late can still change what it
    /// writes.
    pub fn set_notsent_low_water(&mut self, octets: Option<u64>) {
        self.sender.set_notsent_low_water(octets);
    }

    /// Changes the size of the receive buffer from now on, in octets (SO_RCVBUF). What was
    /// announced is still accepted, and the window scale stays as the SYN offered it.
    pub fn set_receive_buffer(&mut self, octets: u64) {
        self.receiver.set_capacity(octets);
    }

    /// Changes the ACK policy from now on.
    pub fn set_ack_policy(&mut self, policy: AckPolicy, timer: AckTimer) {
        self.receiver.set_policy(policy, timer);
    }

    /// Sets TCP_NODELAY. Switching it on, even if it was on, sends what was held: what MSG_MORE
    /// announced is no longer waited for, and a cork stays but lets the present data pass (tcp(7)).
    pub fn set_nodelay(&mut self, now: Instant, on: bool, out: &mut Outbox) {
        self.sender.set_nodelay(on);
        if !on {
            return;
        }
        let corked = self.sender.vars().corked;
        self.sender.set_corked(false);
        self.sender.set_more_to_come(false);
        self.output(now, out);
        self.sender.set_corked(corked);
    }

    /// Sets TCP_CORK. Switching it off, even if it was off, sends what was held, also by MSG_MORE.
    pub fn set_cork(&mut self, now: Instant, on: bool, out: &mut Outbox) {
        self.sender.set_corked(on);
        if !on {
            self.sender.set_more_to_come(false);
            self.output(now, out);
        }
    }

    /// Sets TCP_QUICKACK: ACKs are no longer delayed, or are delayed again. Policies without quick
    /// ACKs send the ACK that waits and continue as before; Linux's policy returns to delays once
    /// data is answered with data.
    pub fn set_quick_ack(&mut self, now: Instant, on: bool, out: &mut Outbox) {
        self.receiver.set_quick_ack(on, now);
        self.output(now, out);
    }

    /// Says whether segments of this connection wait in the local device's queue. Once none do,
    /// what waited for that may leave.
    pub fn set_device_busy(&mut self, now: Instant, busy: bool, out: &mut Outbox) {
        self.sender.set_device_busy(busy);
        if !busy {
            self.output(now, out);
        }
    }

    /// Says whether the local device refuses packets. While it does, only bare acknowledgments
    /// leave, and the caller drops them; what is due is tried again every half second.
    pub fn set_device_full(&mut self, now: Instant, full: bool, out: &mut Outbox) {
        self.sender.set_device_full(full);
        if !full {
            self.output(now, out);
        }
    }

    /// Begins a write of `len` octets (at least one). [`Connection::write_step`] does the work.
    ///
    /// # Panics
    ///
    /// If a write is already under way: the caller keeps writers apart, as `sblock` does in BSD.
    pub fn write_begin(&mut self, now: Instant, len: u64) {
        assert!(self.write.is_none(), "a write is under way");
        assert!(len > 0, "a write of nothing");
        self.write = Some(WriteCall::new(len, self.sender.space()));
        self.sender
            .observe(Moment::WriteBegan { resumed: false }, now);
    }

    /// Says that the writer that slept looks at the buffer again.
    pub fn write_resume(&mut self, now: Instant) {
        if let Some(write) = &mut self.write {
            write.begin_round(self.sender.space());
            self.sender.set_writer_blocked(false);
            self.sender
                .observe(Moment::WriteBegan { resumed: true }, now);
        }
    }

    /// Returns the octets of the write under way that are still to be copied.
    #[must_use]
    pub fn write_remaining(&self) -> u64 {
        self.write.map_or(0, |write| write.remaining())
    }

    /// Decides the next piece of the write under way and returns its octets, or `None` if the
    /// writer must sleep. [`Connection::write_step`] copies just that piece, however the free space
    /// changes meanwhile.
    pub fn next_piece(&mut self) -> Option<u64> {
        let (buffered, capacity) = self.sender.fill();
        match self
            .write
            .as_mut()?
            .next(&self.copy_rule, buffered, capacity)
        {
            Piece::Copy(octets) => Some(octets),
            Piece::Sleep => None,
        }
    }

    /// Copies the next piece of the write and lets the sender decide, or returns that the writer
    /// must sleep. `more` is the caller's own MORE (MSG_MORE): another write follows.
    pub fn write_step(&mut self, now: Instant, more: bool, out: &mut Outbox) -> Wrote {
        let opening = matches!(self.state, State::SynSent | State::SynReceived);
        if !(self.state.sends() || opening) || self.sender.is_finishing() {
            self.write = None;
            return Wrote::Refused;
        }
        let Some(write) = &mut self.write else {
            return Wrote::Refused;
        };
        let (buffered, capacity) = self.sender.fill();
        let octets = match write.next(&self.copy_rule, buffered, capacity) {
            Piece::Copy(octets) => octets,
            Piece::Sleep => {
                self.sender.push_what_is_written();
                return Wrote::Sleeps;
            }
        };
        let pieces_before = write.pieces();
        write.copied(octets);
        let last = write.remaining() == 0;
        let more_to_come = !last || more;
        let more_on_entry = self.sender.vars().more_to_come;
        self.sender.append(&PieceOfWrite {
            octets,
            goes_on: pieces_before > 0,
            more: more_to_come,
        });
        self.sender.set_more_to_come(more_to_come);
        self.sender.observe(
            Moment::ChunkCopied {
                more_to_come,
                pieces_before,
                more_on_entry,
            },
            now,
        );
        if last {
            self.write = None;
        }
        self.output(now, out);
        if last {
            Wrote::Last(octets)
        } else {
            Wrote::Piece(octets)
        }
    }

    /// Writes as much of `len` octets as the copy rule takes without sleeping, and returns how
    /// much. For callers to whom the times of the single pieces do not matter.
    pub fn write(&mut self, now: Instant, len: u64, more: bool, out: &mut Outbox) -> u64 {
        if len == 0 {
            return 0;
        }
        self.write_begin(now, len);
        let mut copied = 0;
        loop {
            match self.write_step(now, more, out) {
                Wrote::Piece(octets) => copied += octets,
                Wrote::Last(octets) => return copied + octets,
                Wrote::Refused => return copied,
                Wrote::Sleeps => {
                    // The write is given up instead of slept on: what was announced as more does
                    // not come.
                    self.write = None;
                    self.sender.set_more_to_come(more);
                    self.output(now, out);
                    return copied;
                }
            }
        }
    }

    /// Returns whether poll would report room for a write.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.sender.space() > 0 && self.wakes_writer()
    }

    /// Returns whether enough space is free to wake a writer.
    fn wakes_writer(&self) -> bool {
        let (free, capacity) = (self.sender.free(), self.sender.capacity());
        self.copy_rule.wakes(free, capacity)
    }

    /// Returns whether the thread that sleeps for space would sleep again if it were woken now.
    pub(super) fn writer_lacks_space(&self) -> bool {
        let (buffered, capacity) = self.sender.fill();
        let would_sleep = match self.write {
            Some(write) => write.would_sleep(&self.copy_rule, buffered, capacity),
            None => self.sender.space() == 0,
        };
        would_sleep || !self.wakes_writer()
    }

    /// Gives up the write of a writer that slept: what was announced as more does not come.
    pub fn write_abandon(&mut self, now: Instant, out: &mut Outbox) {
        if self.write.take().is_some() {
            self.sender.set_writer_blocked(false);
            self.sender.set_more_to_come(false);
            self.output(now, out);
        }
    }

    /// Copies up to `max` octets as a part of a read. The read ends with [`Connection::read`],
    /// which asks the ACK policy about all of its parts. BSD's `soreceive` empties the buffer mbuf
    /// by mbuf and tells the protocol once (PRU_RCVD); an ACK that a timer sends in between shows
    /// the window of that instant.
    pub fn read_part(&mut self, max: u64) -> u64 {
        self.receiver.read_part(max)
    }

    /// Lets the application take up to `max` octets; returns how many it got.
    pub fn read(&mut self, now: Instant, max: u64, out: &mut Outbox) -> u64 {
        let octets = self.receiver.read(max, now);
        self.receiver
            .grow_with_reading(now, self.sender.rtt().srtt());
        if self.receiver.wants_ack() {
            self.output(now, out);
        }
        octets
    }

    /// Says that a thread is about to sleep; `wrote` says whether it wrote to this socket since it
    /// last slept. Returns whether there was anything to decide: if not, nothing was sent and no
    /// timer moved.
    #[inline]
    pub fn app_blocks(
        &mut self,
        now: Instant,
        on: BlockedOn,
        wrote: bool,
        out: &mut Outbox,
    ) -> bool {
        match on {
            BlockedOn::Read => self.sender.set_reader_blocked(true),
            BlockedOn::Write => self.sender.set_writer_blocked(true),
            BlockedOn::Elsewhere => {}
        }
        self.sender.observe(Moment::AppBlocks { on, wrote }, now);
        self.sender.heeds_blocking() && self.output(now, out)
    }

    /// Says that the thread that slept in a read on this socket runs again.
    pub fn reader_resumes(&mut self) {
        self.sender.set_reader_blocked(false);
    }

    /// Says that the thread that slept for space runs again, if it did not sleep in a [write that
    /// is under way](Connection::write_resume).
    pub fn writer_resumes(&mut self) {
        self.sender.set_writer_blocked(false);
    }

    /// Returns when to call [`Connection::on_wakeup`]; `None` if no timer runs. Ask after every
    /// call, because any call may change it.
    #[must_use]
    #[inline]
    pub fn next_wakeup(&self) -> Option<Instant> {
        let own = self.receiver.delayed_until().min(self.own_deadline);
        self.sender.next_deadline().min(own).get()
    }

    /// Returns the time of the next wake-up and its purpose.
    #[must_use]
    #[inline]
    pub fn next_wakeup_reason(&self) -> Option<(Instant, Reason)> {
        let (at, reason) = self.sender.next_timer();
        let mut first = (at, Reason::Sender(reason));
        if self.receiver.delayed_until() < first.0 {
            first = (self.receiver.delayed_until(), Reason::DelayedAck);
        }
        if self.own_deadline < first.0 {
            first = (self.own_deadline, self.own_reason());
        }
        first.0.get().map(|at| (at, first.1))
    }

    /// Handles the passing of time: expires the timers that are due.
    pub fn on_wakeup(&mut self, now: Instant, out: &mut Outbox) {
        if self.own_deadline.is_due(now) && !self.on_own_deadline(now, out) {
            return;
        }
        self.receiver.on_wakeup(now);
        match self.sender.on_wakeup(now) {
            Expired::GiveUp => {
                self.vanish(Events::TIMED_OUT, out);
                return;
            }
            Expired::Probe if self.liveness.abandoned && self.sender.probed_enough() => {
                self.push_reset(out);
                self.vanish(Events::TIMED_OUT, out);
                return;
            }
            Expired::Probe => {
                self.set_stamp(now);
                self.sender.probe(now, &self.stamp, out);
                self.receiver.acknowledged(self.stamp.window, true, now);
            }
            Expired::TailProbe => {
                self.set_stamp(now);
                self.sender.tail_probe(now, &self.stamp, out);
                self.receiver.acknowledged(self.stamp.window, true, now);
            }
            Expired::Pass if !self.state.synchronised() => {
                if self.repeated_its_syn_enough() {
                    self.vanish(Events::TIMED_OUT, out);
                    return;
                }
                self.send_syn(now, out);
            }
            Expired::Pass | Expired::Nothing => {}
        }
        self.output(now, out);
    }

    /// Removes the connection.
    fn vanish(&mut self, news: Events, out: &mut Outbox) {
        self.state = State::Closed;
        self.agreed = Agreed::default();
        self.write = None;
        self.own_deadline = Deadline::OFF;
        self.sender.stop_timers();
        self.receiver.forget();
        out.events.add(news);
    }
}

/// The largest window that a peer can offer, in octets (RFC 7323, section 2.3: 2^30).
const LARGEST_WINDOW: u64 = 1 << 30;
