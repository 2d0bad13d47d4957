//! What the policies that switch have in common: when both rules are tried, what was found, and which
//! of the two left less waiting.
//!
//! Time is cut into slots of five milliseconds, and fifty of them are a round. In the first slot of a
//! round every connection holds, in the second every one sends, and in the others each does what left
//! less waiting in these two. That all try at once is the point: the segments that one connection
//! saves help all the others, so one that tries alone may find that sending is better for itself where
//! all would be better off holding. No connection needs to know of another. The clock keeps them in
//! step, and so it must be the same on both hosts; by how much less than a slot it may differ was not
//! tried.
//!
//! A trial of five milliseconds does not show how a queue grows that has no end. So where it sends,
//! the waiting of the other slots counts, too, if it is longer.
//!
//! What is not worth a trial sends at once: less than eight writes a slot. Nothing is held longer
//! than twice the time after which what is sent at once has left the first queue, nor than a
//! retransmission timeout, nor into a slot in which all send.

mod found;
mod shared;

use super::{Because, Offer, Vars, Verdict, Why};
use crate::offset::Offset;
use crate::queues::Queue;
use crate::time::{Duration, Instant};
use found::{Beside, Found, Keep, Known, Tried};
pub use shared::SharedTrials;

/// How long a slot is.
const SLOT: Duration = Duration::from_millis(5);
/// When the last quarter of a slot begins.
const LAST_QUARTER: Duration = Duration::from_micros(3_750);
/// How many slots are a round.
const ROUND: u64 = 50;
/// How many writes a slot must see, over the last few, for a trial to be worth while.
const LEAST_WRITES: u64 = 8;
/// How many times the mean of the last slots' writes their sum is in which older ones count less.
const RECENT: u64 = 4;

/// The queues of this slot, what was found in the slots that were tried, and what follows from it.
#[derive(Clone, Debug, Default)]
pub(super) struct Trials {
    /// Up to when time has passed in the queues; `None` if they were never looked at.
    looked_at: Option<Instant>,
    /// What was written and has not had its effect, and what came and was not read.
    pub(super) queues: [Queue; 2],
    /// What the arm found of this slot besides.
    pub(super) beside: Beside,
    /// Where the last write ended.
    written: Offset,
    /// The writes of this slot.
    writes: u64,
    /// Four times the mean of the writes of the last slots.
    recent_writes: u64,
    /// What is known of the slots that were tried.
    known: Known,
    /// Where all connections of the host put together what they find, if they decide together.
    host: Option<SharedTrials>,
    /// Whether the application wants nothing held.
    is_nodelay: bool,
    /// Whether the slot began with the queues that the other rule left.
    is_unsettled: bool,
}

impl Trials {
    /// Lets time pass, and ends the slots that have passed. The first call says what has left the
    /// queues of a connection that had another policy before, which was not seen.
    pub(super) fn pass(&mut self, now: Instant, left: [u64; 2]) {
        let slot = slot_of(now);
        let last = self.looked_at.unwrap_or_else(|| {
            let [first, unread] = &mut self.queues;
            first.begin(left[0]);
            unread.begin(left[1]);
            now
        });
        // What passed before is forgotten.
        let last = last.max(start_of(slot.saturating_sub(2 * ROUND)));
        self.looked_at = Some(last);
        for passed in slot_of(last)..slot {
            self.pass_until(start_of(passed + 1));
            let held = self.holds_in(passed);
            self.close(passed);
            self.is_unsettled = self.holds_in(passed + 1) != held;
        }
        self.pass_until(now);
    }

    /// Lets time pass, and looks at this end's own queues: what was written and is not acknowledged, and
    /// what came and was not read.
    pub(super) fn look(&mut self, vars: &Vars) {
        let left = [vars.una.since(Offset::FIRST), vars.read];
        self.pass(vars.now, left);
        let octets = [vars.buffered(), vars.received.saturating_sub(vars.read)];
        for (queue, (octets, left)) in self.queues.iter_mut().zip(octets.into_iter().zip(left)) {
            queue.change(octets, left);
        }
    }

    /// Takes note of what was written, and of what the application wants. Comes after the queues have
    /// changed.
    pub(super) fn note(&mut self, vars: &Vars) {
        self.is_nodelay = vars.nodelay;
        if vars.written > self.written {
            self.written = vars.written;
            self.writes += 1;
        }
        let quarter = SLOT.as_nanos() / 4;
        if self.is_unsettled && vars.now.as_nanos() % SLOT.as_nanos() > quarter {
            self.is_unsettled = false;
            for queue in &mut self.queues {
                queue.take_account();
            }
            self.beside = Beside::default();
        }
    }

    /// Decides as [`Rule::decide`](super::Rule::decide) does.
    pub(super) fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict {
        if vars.idle() {
            return Verdict::Send(Because::Idle);
        }
        let slot = slot_of(vars.now);
        let Some(bound) = self.bound().filter(|_| self.holds_in(slot)) else {
            return Verdict::Send(Because::NoDelay);
        };
        let mut until = offer.held_since.unwrap_or(vars.now) + bound.min(vars.rto);
        if !self.holds_in(slot + 1) {
            until = until.min(start_of(slot + 1));
        }
        if vars.now >= until {
            Verdict::Send(Because::HeldLongEnough)
        } else {
            Verdict::hold_until(Why::Unacknowledged, until)
        }
    }

    /// Lets all connections that have the same one decide together.
    pub(super) fn of(host: SharedTrials) -> Self {
        Self {
            host: Some(host),
            ..Self::default()
        }
    }

    /// Returns whether the connection holds in this slot.
    fn holds_in(&self, slot: u64) -> bool {
        !self.is_nodelay
            && self.bound().is_some()
            && self.recent_writes >= RECENT * LEAST_WRITES
            && match slot % ROUND {
                0 => true,
                1 => false,
                _ => self.prefers_holding(),
            }
    }

    fn prefers_holding(&self) -> bool {
        let of_host = self.host.as_ref().map(SharedTrials::prefers_holding);
        of_host.unwrap_or(self.known.prefers_holding)
    }

    /// Returns how long a runt is held at most; `None` if nothing that was sent at once ever left the
    /// first queue.
    fn bound(&self) -> Option<Duration> {
        let wait = self.known.wait_for_effect()?;
        Some(Duration::from_nanos(wait.saturating_mul(2)))
    }

    /// Lets time pass in which the queues do not change.
    fn pass_until(&mut self, moment: Instant) {
        let last = self.looked_at.replace(moment).unwrap_or(moment);
        for queue in &mut self.queues {
            queue.pass(moment.since(last));
        }
    }

    /// Ends a slot: takes its account, and decides anew.
    fn close(&mut self, slot: u64) {
        let held = self.holds_in(slot);
        let found = Found {
            queues: self.queues.each_mut().map(Queue::take_account),
            beside: core::mem::take(&mut self.beside),
            writes: self.writes,
            slot,
        };
        self.recent_writes = Keep::ThreeQuarters.of(self.recent_writes) + self.writes;
        self.writes = 0;
        let tried = match (slot % ROUND, held) {
            (0, true) => Tried::Holding,
            (1, _) => Tried::Sending,
            (_, false) => Tried::Lasting,
            (_, true) => return,
        };
        match &self.host {
            None => self.known.add(slot, tried, &found),
            Some(host) => self.known = host.add(slot, tried, &found),
        }
    }
}

/// Returns whether the end of a slot is near, of which the peer has not been told since `last`: what it
/// is told then is known there when the slot ends.
pub(super) fn ends_untold(now: Instant, last: Option<Instant>) -> bool {
    let begins = start_of(slot_of(now)) + LAST_QUARTER;
    now >= begins && last.is_none_or(|last| last < begins)
}

fn slot_of(now: Instant) -> u64 {
    now.as_nanos() / SLOT.as_nanos()
}

fn start_of(slot: u64) -> Instant {
    Instant::from_nanos(slot.saturating_mul(SLOT.as_nanos()))
}

#[cfg(test)]
impl Trials {
    /// Returns how long an octet waited of late where this connection sent, in nanoseconds.
    pub(super) fn waited_where_it_sent(&self) -> Option<u64> {
        self.known.wait_where_it_sent()
    }
}

#[cfg(test)]
mod tests;
