//! TOGGLE: hold as Nagle does or send at once, whichever left less waiting when both were tried.
//!
//! Holding makes fewer segments, so it costs a busy host less; sending has the shorter way. Which of
//! the two is faster depends on the load, and the load shows in the queues: by Little's law the mean
//! time that an octet spends in a queue is the queue's area over time, divided by the octets that left
//! it. One end has two queues to look at: what it wrote and the peer has not acknowledged, and what
//! the peer sent and its application has not read. (Borisov, Amit and Tsafrir, "Batching with
//! End-to-End Performance Estimation", HotOS 2025, propose the estimate, from the queues of both
//! ends. What follows is not theirs.)
//!
//! Time is cut into slots of five milliseconds, and fifty of them are a round. In the first slot of a
//! round every connection holds, in the second every one sends, and in the others each does what
//! left less waiting in these two. That all try at once is the point: the segments that one
//! connection saves help all the others, so one that tried alone would always find that sending is
//! better for itself. No connection needs to know of another. The clock keeps them in step, and so
//! it must be the same on both hosts, within a millisecond or two.
//!
//! A trial of five milliseconds does not show how a queue grows that has no end. So where it sends,
//! the waiting of the other slots counts, too, if it is longer.
//!
//! What is not worth a trial sends at once: less than eight writes a slot. Nothing is held longer
//! than twice the time after which what is sent at once is acknowledged.

use alloc::boxed::Box;

use super::{Because, Moment, Offer, Rule, Vars, Verdict, Why};
use crate::offset::Offset;
use crate::time::{Duration, Instant};

/// How long a slot is.
const SLOT: Duration = Duration::from_millis(5);
/// How many slots are a round.
const ROUND: u64 = 50;
/// How many writes a slot must see, over the last few, for a trial to be worth while.
const LEAST_WRITES: u64 = 8;

/// The rule, with its memory apart: it is the largest of all, and every connection has room for the largest.
#[derive(Clone, Debug, Default)]
pub struct Toggle(Box<Memory>);

/// Both queues, what was found in the slots that were tried, and what follows from it.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    looked_at: Instant,
    slot: u64,
    unacknowledged: Queue,
    unread: Queue,
    /// Where the last write ended.
    written: Offset,
    /// The writes of this slot.
    writes: u64,
    /// Four times the mean of the writes of the last slots.
    recent_writes: u64,
    /// What was found where all held.
    holding: Found,
    /// What was found where all sent.
    sending: Found,
    /// What was found of late where this connection sent.
    lasting: Found,
    prefers_holding: bool,
    /// Whether the slot began with the queues that the other rule left.
    is_unsettled: bool,
}

/// A queue's octets now, and its area since the last account.
#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    octets: u64,
    /// All octets that ever left it.
    left: u64,
    account: Account,
}

/// A queue's area, in octets times nanoseconds, and the octets that left it.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    area: u64,
    left: u64,
}

/// What was found in some slots; older ones count less.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    unacknowledged: Account,
    unread: Account,
    writes: u64,
}

/// How much of what was found before still counts.
#[derive(Clone, Copy, Debug)]
enum Keep {
    Half,
    ThreeQuarters,
}

impl Keep {
    fn of(self, value: u64) -> u64 {
        match self {
            Self::Half => value / 2,
            Self::ThreeQuarters => value - value / 4,
        }
    }
}

impl Queue {
    /// Takes note that `octets` are in the queue now, and that `left` have left it in all.
    fn look(&mut self, after: Duration, octets: u64, left: u64) {
        let area = self.octets.saturating_mul(after.as_nanos());
        self.account.area = self.account.area.saturating_add(area);
        self.account.left += left.saturating_sub(self.left);
        (self.octets, self.left) = (octets, left);
    }
}

impl Account {
    fn add(&mut self, other: Self, keep: Keep) {
        self.area = keep.of(self.area).saturating_add(other.area);
        self.left = keep.of(self.left) + other.left;
    }

    /// Returns how long an octet waited, in nanoseconds; `None` if none left.
    fn wait(self) -> Option<u64> {
        self.area.checked_div(self.left)
    }
}

impl Found {
    fn add(&mut self, other: Self, keep: Keep) {
        self.unacknowledged.add(other.unacknowledged, keep);
        self.unread.add(other.unread, keep);
        self.writes = keep.of(self.writes) + other.writes;
    }

    /// Returns how long an octet waited in both queues, in nanoseconds.
    fn wait(self) -> Option<u64> {
        Some(self.unacknowledged.wait()? + self.unread.wait().unwrap_or(0))
    }
}

impl Memory {
    /// Returns whether the connection holds in this slot.
    fn holds_in(&self, slot: u64) -> bool {
        self.bound().is_some()
            && self.recent_writes >= 4 * LEAST_WRITES
            && match slot % ROUND {
                0 => true,
                1 => false,
                _ => self.prefers_holding,
            }
    }

    /// Returns how long a runt is held at most; `None` if nothing was ever acknowledged that was sent at once.
    fn bound(&self) -> Option<Duration> {
        let sent = [self.sending, self.lasting].map(|found| found.unacknowledged.wait());
        let [tried, lasting] = sent;
        tried
            .or(lasting)
            .map(|wait| Duration::from_nanos(wait.saturating_mul(2)))
    }

    /// Takes note of both queues, and ends the slot if its time has come.
    #[inline(never)]
    fn look(&mut self, vars: &Vars) {
        let after = vars.now.since(self.looked_at);
        self.looked_at = vars.now;
        let acknowledged = vars.una.since(Offset::FIRST);
        self.unacknowledged
            .look(after, vars.buffered(), acknowledged);
        self.unread
            .look(after, vars.received.saturating_sub(vars.read), vars.read);
        if vars.written > self.written {
            self.written = vars.written;
            self.writes += 1;
        }
        let slot = slot_of(vars.now);
        if slot != self.slot {
            let held = self.holds_in(self.slot);
            self.close_slot();
            self.is_unsettled = self.holds_in(slot) != held;
            self.slot = slot;
        } else if self.is_unsettled && vars.now.as_nanos() % SLOT.as_nanos() > SLOT.as_nanos() / 4 {
            self.is_unsettled = false;
            self.unacknowledged.account = Account::default();
            self.unread.account = Account::default();
        }
    }

    /// Ends the slot: takes its account, and decides anew.
    fn close_slot(&mut self) {
        let held = self.holds_in(self.slot);
        let found = Found {
            unacknowledged: core::mem::take(&mut self.unacknowledged.account),
            unread: core::mem::take(&mut self.unread.account),
            writes: self.writes,
        };
        self.recent_writes = Keep::ThreeQuarters.of(self.recent_writes) + self.writes;
        self.writes = 0;
        match (self.slot % ROUND, held) {
            (0, true) => self.holding.add(found, Keep::Half),
            (1, _) => {
                self.sending.add(found, Keep::Half);
                if self.prefers_holding {
                    self.lasting.add(found, Keep::Half);
                }
            }
            (_, false) => self.lasting.add(found, Keep::ThreeQuarters),
            (_, true) => {}
        }
        if let Some(better) = self.holding_is_better() {
            self.prefers_holding = better;
        }
    }

    /// Returns whether holding left less waiting, by more than chance: as many times vary by a part of one over the square
    /// root of their number, if each varies by as much as it lasts. `None` if one of the two was not tried.
    fn holding_is_better(&self) -> Option<bool> {
        let held = self.holding.wait()?;
        let sent = self.sending.wait()?.max(self.lasting.wait().unwrap_or(0));
        let number = self.holding.writes.min(self.sending.writes);
        let gained = u128::from(sent.saturating_sub(held));
        Some(gained * gained * u128::from(number) > u128::from(sent) * u128::from(sent))
    }
}

impl Rule for Toggle {
    fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict {
        if vars.idle() {
            return Verdict::Send(Because::Idle);
        }
        let memory = &self.0;
        match memory.bound() {
            Some(bound) if memory.holds_in(slot_of(vars.now)) => {
                let until = offer.held_since.unwrap_or(vars.now) + bound;
                if vars.now >= until {
                    Verdict::Send(Because::HeldLongEnough)
                } else {
                    Verdict::hold_until(Why::Unacknowledged, until)
                }
            }
            _ => Verdict::Send(Because::NoDelay),
        }
    }

    fn observe(&mut self, moment: Moment, vars: &Vars) {
        // All other moments change neither queue.
        if let Moment::ChunkCopied { .. } | Moment::AckArrived | Moment::ReceiveQueueChanged =
            moment
        {
            self.0.look(vars);
        }
    }

    fn heeds_receiving(&self) -> bool {
        true
    }
}

fn slot_of(now: Instant) -> u64 {
    now.as_nanos() / SLOT.as_nanos()
}
