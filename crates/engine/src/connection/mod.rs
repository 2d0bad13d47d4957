//! A connection joins the sending and the receiving half with a state machine (RFC 9293, section
//! 3.3.2).
//!
//! There are three families of calls, each with the time and an [`Outbox`]: the application calls,
//! a segment arrives, time passes. One query, [`Connection::next_wakeup`], reads the deadlines that
//! the halves have stored.

mod agreement;
mod arrival;
mod calls;
mod challenge;
mod config;
mod ecn;
mod handshake;
mod liveness;
mod output;
mod path;
mod reports;
mod scarcity;
mod teardown;
mod timestamps;

pub use agreement::Agreement;
pub use config::{Config, ConfigBuilder, InvalidConfig};
pub use handshake::reset;

use alloc::boxed::Box;

use crate::extensions::Extensions;
use crate::outbox::{Events, Outbox};
use crate::receiver::Receiver;
use crate::receiver::ack_policy::{AckPolicy, AckTimer};
use crate::sender::congestion::Congestion;
use crate::sender::send_policy::SendPolicy;
use crate::sender::{Expired, Sender, Stamp};
use crate::socket::WriteCall;
use crate::socket::copy_rule::CopyRule;
use crate::time::{Deadline, Duration, Instant};
use agreement::Agreed;
use challenge::Budget;
use liveness::Liveness;
use reports::Reports;
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
    /// The counters of both ends' queues, if both SYNs agreed to tell them.
    reports: Option<Box<Reports>>,
    /// No bare ACK outside the window is answered before this time.
    next_answer: Instant,
}

impl Connection {
    /// Returns a closed connection; [`Connection::connect`] or [`Connection::listen`] opens it.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let mut receiver = Receiver::new(&config.receiver);
        receiver.may_grow_to(config.extensions.receive_buffer_most);
        let sender = Sender::new(&config.sender, &config.extensions);
        let mut extensions = config.extensions;
        extensions.queue_counters |= sender.heeds_peer();
        Self {
            state: State::Closed,
            sender,
            receiver,
            copy_rule: config.copy_rule,
            write: None,
            time_wait: config.time_wait,
            own_deadline: Deadline::OFF,
            liveness: Liveness::default(),
            challenges: Budget::default(),
            passive: false,
            extensions,
            agreed: Agreed::default(),
            marks: ecn::Marks::default(),
            stamp: Stamp::default(),
            clock: Clock::default(),
            reports: None,
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
            queue_counters: self.reports.is_some(),
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
        if self.sender.heeds_receiving() {
            self.tell_received(now);
        }
        self.look_at_queues(now);
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
