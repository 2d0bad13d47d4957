//! What was found in the slots that were tried, and which rule left less waiting.

use crate::queues::QueueAccount;

/// Accounts of the peer's queues, and of the time for which either end delays ACKs, which is in the
/// other one's first queue and delays nothing by itself.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Beside {
    pub(in super::super) peer: [QueueAccount; 2],
    pub(in super::super) delayed: [QueueAccount; 2],
}

/// What was found in some slots; older ones count less.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    pub(super) queues: [QueueAccount; 2],
    pub(super) beside: Beside,
    pub(super) writes: u64,
    /// The slot with which it was last added to, counted from 1.
    pub(super) slot: u64,
}

/// What a slot was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tried {
    /// One in which all held.
    Holding,
    /// One in which all sent.
    Sending,
    /// Another one, in which this connection sent.
    Lasting,
}

/// What was found in slots of each kind, and what follows from it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    pub(super) holding: Found,
    pub(super) sending: Found,
    pub(super) lasting: Found,
    pub(super) prefers_holding: bool,
}

/// How much of what was found before still counts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Keep {
    Half,
    ThreeQuarters,
}

impl Keep {
    pub(super) fn of(self, value: u64) -> u64 {
        match self {
            Self::Half => value / 2,
            Self::ThreeQuarters => value - value / 4,
        }
    }
}

impl Found {
    fn accounts(&mut self) -> impl Iterator<Item = &mut QueueAccount> {
        let Beside { peer, delayed } = &mut self.beside;
        self.queues.iter_mut().chain(peer).chain(delayed)
    }

    /// Adds what was found in a slot. The first time in a slot, what was found before is reduced.
    fn add(&mut self, slot: u64, other: &Self, keep: Keep) {
        if self.slot != slot + 1 {
            self.slot = slot + 1;
            for account in self.accounts() {
                (account.area, account.left) = (keep.of(account.area), keep.of(account.left));
            }
            self.writes = keep.of(self.writes);
        }
        let mut other = *other;
        for (account, more) in self.accounts().zip(other.accounts()) {
            account.add(*more);
        }
        self.writes = self.writes.saturating_add(other.writes);
    }

    /// Returns how long an octet waited in all queues, in nanoseconds; `None` if none left the first.
    pub(super) fn wait(&self) -> Option<u64> {
        let [first, unread] = self.queues;
        let sum = |accounts: [QueueAccount; 2]| {
            let waits = accounts.map(|it| it.wait().unwrap_or(0));
            waits[0].saturating_add(waits[1])
        };
        let own = first.wait()?.saturating_add(unread.wait().unwrap_or(0));
        let both = own.saturating_add(sum(self.beside.peer));
        Some(both.saturating_sub(sum(self.beside.delayed)))
    }

    /// Returns its numbers.
    fn numbers(&mut self) -> impl Iterator<Item = &mut u64> {
        let Self {
            queues,
            beside,
            writes,
            slot,
        } = self;
        let accounts = queues.iter_mut().chain(&mut beside.peer);
        let accounts = accounts.chain(&mut beside.delayed);
        let numbers = accounts.flat_map(|QueueAccount { area, left }| [area, left]);
        numbers.chain([writes, slot])
    }
}

impl Known {
    /// How many numbers it has.
    pub(super) const NUMBERS: usize = 3 * 14;

    /// Adds what was found in a slot, and decides anew.
    pub(super) fn add(&mut self, slot: u64, tried: Tried, found: &Found) {
        match tried {
            Tried::Holding => self.holding.add(slot, found, Keep::Half),
            Tried::Sending => {
                self.sending.add(slot, found, Keep::Half);
                if self.prefers_holding {
                    self.lasting.add(slot, found, Keep::Half);
                }
            }
            Tried::Lasting => self.lasting.add(slot, found, Keep::ThreeQuarters),
        }
        if let Some(better) = self.holding_is_better() {
            self.prefers_holding = better;
        }
    }

    /// Returns how long what is sent at once takes to leave the first queue, in nanoseconds.
    pub(super) fn wait_for_effect(&self) -> Option<u64> {
        let [tried, lasting] = [self.sending, self.lasting].map(|found| found.queues[0].wait());
        tried.or(lasting)
    }

    /// Returns its numbers, without the verdict.
    pub(super) fn numbers(&mut self) -> impl Iterator<Item = &mut u64> {
        let all = [&mut self.holding, &mut self.sending, &mut self.lasting];
        all.into_iter().flat_map(Found::numbers)
    }

    /// Returns whether holding left less waiting, by more than chance: as many times vary by a part of one over the square
    /// root of their number, if each varies by as much as it lasts. `None` if one of the two was not tried.
    pub(super) fn holding_is_better(&self) -> Option<bool> {
        let held = self.holding.wait()?;
        let sent = self.sending.wait()?.max(self.lasting.wait().unwrap_or(0));
        let number = self.holding.writes.min(self.sending.writes);
        let gained = u128::from(sent.saturating_sub(held));
        let [gained, sent] = [gained, u128::from(sent)].map(|it| it.saturating_mul(it));
        Some(gained.saturating_mul(u128::from(number)) > sent)
    }
}

#[cfg(test)]
impl Known {
    /// Returns how long an octet waited of late where this connection sent, in nanoseconds.
    pub(super) fn wait_where_it_sent(&self) -> Option<u64> {
        self.lasting.wait()
    }
}
