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
//! connection saves help all the others, so one that tries alone may find that sending is better
//! for itself where all would be better off holding. No connection needs to know of another. The
//! clock keeps them in step, and so it must be the same on both hosts; by how much less than a slot
//! it may differ was not tried.
//!
//! A trial of five milliseconds does not show how a queue grows that has no end. So where it sends,
//! the waiting of the other slots counts, too, if it is longer.
//!
//! What is not worth a trial sends at once: less than eight writes a slot. Nothing is held longer
//! than twice the time after which what is sent at once is acknowledged, nor than a retransmission
//! timeout, nor into a slot in which all send.

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
    /// When the queues were looked at last; `None` if they never were.
    looked_at: Option<Instant>,
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
    /// Whether the application wants nothing held.
    is_nodelay: bool,
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
    /// Lets time pass in which it does not change.
    fn pass(&mut self, time: Duration) {
        let area = self.octets.saturating_mul(time.as_nanos());
        self.account.area = self.account.area.saturating_add(area);
    }

    /// Takes note that `octets` are in the queue now, and that `left` have left it in all.
    fn change(&mut self, octets: u64, left: u64) {
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
        let unread = self.unread.wait().unwrap_or(0);
        Some(self.unacknowledged.wait()?.saturating_add(unread))
    }
}

impl Memory {
    /// Returns whether the connection holds in this slot.
    fn holds_in(&self, slot: u64) -> bool {
        !self.is_nodelay
            && self.bound().is_some()
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

    /// Takes note of both queues, and ends the slots whose time has passed.
    #[inline(never)]
    fn look(&mut self, vars: &Vars) {
        let acknowledged = vars.una.since(Offset::FIRST);
        let slot = slot_of(vars.now);
        let last = self.looked_at.unwrap_or_else(|| {
            // What left the queues of a connection that had another policy before was not seen.
            (self.unacknowledged.left, self.unread.left) = (acknowledged, vars.read);
            vars.now
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
        self.pass_until(vars.now);
        self.unacknowledged.change(vars.buffered(), acknowledged);
        let unread = vars.received.saturating_sub(vars.read);
        self.unread.change(unread, vars.read);
        self.is_nodelay = vars.nodelay;
        if vars.written > self.written {
            self.written = vars.written;
            self.writes += 1;
        }
        if self.is_unsettled && vars.now.as_nanos() % SLOT.as_nanos() > SLOT.as_nanos() / 4 {
            self.is_unsettled = false;
            self.unacknowledged.account = Account::default();
            self.unread.account = Account::default();
        }
    }

    /// Lets time pass in which the queues do not change.
    fn pass_until(&mut self, moment: Instant) {
        let last = self.looked_at.replace(moment).unwrap_or(moment);
        let time = moment.since(last);
        self.unacknowledged.pass(time);
        self.unread.pass(time);
    }

    /// Ends a slot: takes its account, and decides anew.
    fn close(&mut self, slot: u64) {
        let held = self.holds_in(slot);
        let found = Found {
            unacknowledged: core::mem::take(&mut self.unacknowledged.account),
            unread: core::mem::take(&mut self.unread.account),
            writes: self.writes,
        };
        self.recent_writes = Keep::ThreeQuarters.of(self.recent_writes) + self.writes;
        self.writes = 0;
        match (slot % ROUND, held) {
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
        let [gained, sent] = [gained, u128::from(sent)].map(|it| it.saturating_mul(it));
        Some(gained.saturating_mul(u128::from(number)) > sent)
    }
}

impl Rule for Toggle {
    fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict {
        if vars.idle() {
            return Verdict::Send(Because::Idle);
        }
        let (memory, slot) = (&self.0, slot_of(vars.now));
        let Some(bound) = memory.bound().filter(|_| memory.holds_in(slot)) else {
            return Verdict::Send(Because::NoDelay);
        };
        let mut until = offer.held_since.unwrap_or(vars.now) + bound.min(vars.rto);
        if !memory.holds_in(slot + 1) {
            until = until.min(start_of(slot + 1));
        }
        if vars.now >= until {
            Verdict::Send(Because::HeldLongEnough)
        } else {
            Verdict::hold_until(Why::Unacknowledged, until)
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

fn start_of(slot: u64) -> Instant {
    Instant::from_nanos(slot.saturating_mul(SLOT.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    const WROTE: Moment = Moment::ChunkCopied {
        more_to_come: false,
        pieces_before: 0,
        more_on_entry: false,
    };

    #[test]
    fn what_left_under_another_policy_is_not_counted() {
        let mut rule = Toggle::default();
        let mut vars = Vars::new(at(100), 1460);
        (vars.una, vars.written) = (Offset::new(1_000_000), Offset::new(1_000_000));
        (vars.received, vars.read) = (5_000_000, 5_000_000);
        rule.observe(Moment::ReceiveQueueChanged, &vars);
        vars.written += 100;
        rule.observe(WROTE, &vars);
        (vars.now, vars.una) = (at(1_100), vars.written);
        rule.observe(Moment::AckArrived, &vars);
        vars.now = at(5_000);
        rule.observe(Moment::AckArrived, &vars);
        assert_eq!(rule.0.lasting.wait(), Some(1_000_000));
    }

    #[test]
    fn a_pause_makes_a_trial_worthless() {
        let mut rule = Toggle::default();
        let mut vars = Vars::new(at(245_000), 1460);
        for _ in 0..100 {
            vars.written += 10;
            rule.observe(WROTE, &vars);
        }
        (vars.now, vars.una) = (at(246_000), vars.written);
        rule.observe(Moment::AckArrived, &vars);
        let holds_after = |micros: u64| {
            let mut rule = rule.clone();
            let now = at(246_000 + micros);
            rule.observe(Moment::AckArrived, &Vars { now, ..vars });
            rule.0.holds_in(0)
        };
        assert!(holds_after(5_000));
        assert!(!holds_after(505_000));
    }

    #[test]
    fn waits_of_any_length_overflow_nothing() {
        let endless = Found {
            unacknowledged: Account {
                area: u64::MAX,
                left: 1,
            },
            writes: u64::MAX,
            ..Found::default()
        };
        let mut rule = Toggle::default();
        (rule.0.holding, rule.0.sending) = (Found::default(), endless);
        assert_eq!(rule.0.holding_is_better(), None);
        rule.0.holding.unacknowledged = Account { area: 1, left: 1 };
        rule.0.holding.writes = 1;
        rule.0.recent_writes = 4 * LEAST_WRITES;
        let mut vars = Vars::new(at(0), 1460);
        vars.max = Offset::new(10);
        let offer = Offer::new(crate::offset::Span::default(), &vars);
        let until = |micros| Verdict::hold_until(Why::Unacknowledged, at(micros));
        // All send in the next slot; if it is not the next one, the timeout of a second ends the hold.
        assert_eq!(rule.decide(&offer, &vars), until(5_000));
        (vars.now, rule.0.prefers_holding) = (at(10_000), true);
        assert_eq!(rule.decide(&offer, &vars), until(1_010_000));
    }

    #[test]
    fn what_waits_through_many_slots_counts_in_each_of_them() {
        let mut rule = Toggle::default();
        let mut vars = Vars::new(at(10_000), 1460);
        vars.written += 100;
        rule.observe(WROTE, &vars);
        (vars.now, vars.una) = (at(22_500), vars.written);
        rule.observe(Moment::AckArrived, &vars);
        vars.now = at(25_000);
        rule.observe(Moment::AckArrived, &vars);
        // The first of three slots keeps nine sixteenths of its 5 ms, the second three quarters.
        let wait = 5_000_000 * 9 / 16 + 5_000_000 * 3 / 4 + 2_500_000;
        assert_eq!(rule.0.lasting.wait(), Some(wait));
    }

    #[test]
    fn of_a_long_pause_only_the_last_two_rounds_count() {
        let mut rule = Toggle::default();
        let mut vars = Vars::new(at(10_000), 1460);
        vars.written += 100;
        rule.observe(WROTE, &vars);
        (vars.now, vars.una) = (at(3_600_000_000), vars.written);
        rule.observe(Moment::AckArrived, &vars);
        vars.now = at(3_600_005_000);
        rule.observe(Moment::AckArrived, &vars);
        let most = Duration::from_millis(500).as_nanos();
        assert!(rule.0.lasting.wait().is_some_and(|wait| wait <= most));
    }

    #[test]
    fn with_nodelay_nothing_is_a_trial_of_holding() {
        let mut rule = Toggle::default();
        let mut vars = Vars::new(at(1_000), 1460);
        vars.nodelay = true;
        rule.0.lasting.unacknowledged = Account { area: 10, left: 1 };
        rule.0.recent_writes = 4 * LEAST_WRITES;
        rule.observe(WROTE, &vars);
        assert!(!rule.0.holds_in(0));
        vars.nodelay = false;
        rule.observe(WROTE, &vars);
        assert!(rule.0.holds_in(0));
    }
}
