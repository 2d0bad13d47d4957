//! Whether the peer is still there: keepalive (RFC 9293, section 3.8.4), and an end for a
//! connection that nobody reads any more.

use super::{Connection, Reason, State};
use crate::extensions::{Keepalive, SynRetries};
use crate::offset::Offset;
use crate::outbox::{Events, Outbox};
use crate::segment::{Flags, Segment};
use crate::time::{Deadline, Duration, Instant};

/// What is known about whether the peer is there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Liveness {
    /// When something last came from the peer.
    pub(super) heard: Instant,
    /// Probes since then, and the time of the last one.
    probes: u32,
    probed: Instant,
    /// Whether the application has gone, so that nobody will read what still comes.
    pub(super) abandoned: bool,
    /// Whether nobody will read although the application has not gone.
    pub(super) reads_no_more: bool,
}

impl Connection {
    /// Switches probes of an idle peer on or off (SO_KEEPALIVE).
    pub fn set_keepalive(&mut self, now: Instant, keepalive: Option<Keepalive>) {
        self.extensions.keepalive = keepalive;
        self.liveness.heard = self.liveness.heard.max(now);
        self.watch(now);
    }

    /// Sets how long sent data may stay unacknowledged, or a probe of the window or of an idle peer
    /// unanswered, before the connection is given up (TCP_USER_TIMEOUT; RFC 5482; RFC 9293, section
    /// 3.8.3).
    pub fn set_user_timeout(&mut self, limit: Option<Duration>) {
        self.sender.set_user_timeout(limit);
    }

    /// Sets how often a SYN is sent again before the attempt is given up (TCP_SYNCNT; RFC 9293,
    /// section 3.8.3).
    pub fn set_syn_retries(&mut self, retries: Option<SynRetries>) {
        self.extensions.syn_retries = retries;
    }

    /// Returns whether a SYN whose timer has expired is not to be sent again.
    pub(super) fn repeated_its_syn_enough(&self) -> bool {
        self.extensions.syn_retries.is_some_and(|retries| {
            let most = match self.state {
                State::SynReceived => retries.syn_ack,
                _ => retries.syn,
            };
            self.sender.rtt().unanswered() > most
        })
    }

    /// Says that the application will read no more but has not gone. Once it has closed as well,
    /// arriving data is answered with a RST, which resets the connection (RFC 9293, section 3.6.1;
    /// Linux: `tcp_rcv_state_process`).
    pub fn read_no_more(&mut self) {
        self.liveness.reads_no_more = true;
    }

    /// Returns whether data that comes now has no reader.
    pub(super) fn refuses_data(&self) -> bool {
        let closed = self.sender.is_finishing();
        self.liveness.abandoned || (self.liveness.reads_no_more && closed)
    }

    /// Closes the connection of an application that has gone and will not read. Data that was not
    /// read or arrives later is answered with a RST, so that the peer knows (RFC 2525, section
    /// 2.17). FIN-WAIT-2 gets an end, and so does the probing of a window that stays closed, which
    /// a peer that answers the probes could otherwise prolong forever (Linux:
    /// `tcp_orphan_retries`).
    pub fn abandon(&mut self, now: Instant, out: &mut Outbox) {
        if self.receiver.readable() > 0 {
            self.sender.clock_is(now);
            self.abort(out);
            return;
        }
        self.liveness.abandoned = true;
        self.close(now, out);
        self.watch(now);
    }

    /// Sets the connection's own timer for its present state.
    pub(super) fn watch(&mut self, now: Instant) {
        let abandoned = self.liveness.abandoned;
        self.own_deadline = match self.state {
            State::TimeWait => Deadline::at(now + self.time_wait),
            State::FinWait2 if abandoned => match self.extensions.fin_wait_2 {
                Some(limit) => Deadline::at(now + limit),
                None => Deadline::OFF,
            },
            _ => self.next_keepalive(),
        };
    }

    /// Returns what the connection's own timer is for.
    pub(super) fn own_reason(&self) -> Reason {
        match self.state {
            State::TimeWait => Reason::TimeWait,
            State::FinWait2 if self.liveness.abandoned => Reason::FinWait2,
            _ => Reason::Keepalive,
        }
    }

    fn next_keepalive(&self) -> Deadline {
        match self.extensions.keepalive {
            Some(keepalive) if self.state.synchronised() => {
                let live = &self.liveness;
                Deadline::at(if live.probed > live.heard {
                    live.probed + keepalive.interval
                } else {
                    live.heard + keepalive.idle
                })
            }
            _ => Deadline::OFF,
        }
    }

    /// Handles the expiry of the connection's own timer. Returns whether the connection lives on.
    pub(super) fn on_own_deadline(&mut self, now: Instant, out: &mut Outbox) -> bool {
        match self.own_reason() {
            Reason::Keepalive => self.keep_alive(now, out),
            _ => {
                self.vanish(Events::CLOSED, out);
                false
            }
        }
    }

    fn keep_alive(&mut self, now: Instant, out: &mut Outbox) -> bool {
        let Some(keepalive) = self.extensions.keepalive else {
            self.watch(now);
            return true;
        };
        if self.liveness.heard >= self.liveness.probed {
            self.liveness.probes = 0;
        }
        // Something may have come from the peer since the timer was set. And while something is
        // outstanding, retransmissions serve as probes.
        let busy = !self.sender.vars().idle();
        if busy {
            self.liveness.heard = now;
        }
        if !busy && self.next_keepalive().is_due(now) {
            if self.is_silent_for_too_long(now, &keepalive) {
                self.push_reset(out);
                self.vanish(Events::TIMED_OUT, out);
                return false;
            }
            self.liveness.probes += 1;
            self.liveness.probed = now;
            self.probe_peer(now, out);
        }
        self.watch(now);
        true
    }

    /// Returns whether an idle peer has been silent for so long that the connection is given up. The
    /// user timeout, if there is one, replaces the number of probes (Linux: `tcp_keepalive_timer`;
    /// tcp(7), TCP_USER_TIMEOUT).
    fn is_silent_for_too_long(&self, now: Instant, keepalive: &Keepalive) -> bool {
        let live = &self.liveness;
        match self.sender.user_timeout() {
            Some(limit) => live.probes > 0 && now.since(live.heard) >= limit,
            None => live.probes >= keepalive.probes,
        }
    }

    /// Sends an ACK with a sequence number that the peer already has; the peer must answer it
    /// (section 3.8.4).
    fn probe_peer(&mut self, now: Instant, out: &mut Outbox) {
        self.set_stamp(now);
        let stamp = &self.stamp;
        let una = self.sender.vars().una.get();
        out.segments.push(Segment {
            seq: Offset::new(una.saturating_sub(1)),
            ack: stamp.ack,
            len: 0,
            window: stamp.window,
            flags: Flags::ACK,
            options: stamp.options,
        });
    }
}
