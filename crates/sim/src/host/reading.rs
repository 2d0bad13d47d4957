//! A read at work: what it takes out of the receive buffer, and where a timer comes into it.

use tinygram_engine::{Duration, Instant};

use crate::costs::HostCosts;

/// A piece of a read, all of it as a rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) socket: u32,
    /// What earlier pieces took, in octets.
    pub(crate) taken: u64,
    /// What this one takes.
    pub(crate) octets: u64,
    /// What a later one will take, after a timer.
    pub(crate) left: u64,
}

impl Reading {
    /// A read that finds `octets`.
    pub(crate) fn of(socket: u32, octets: u64) -> Self {
        Self {
            socket,
            taken: 0,
            octets,
            left: 0,
        }
    }

    /// What is left of it.
    pub(crate) fn rest(self) -> Self {
        Self {
            taken: self.taken + self.octets,
            octets: self.left,
            left: 0,
            ..self
        }
    }

    /// The same, cut short after the unit in which `timer` expires, if it does so while this copies
    /// from `begin` on.
    pub(crate) fn up_to(self, timer: Instant, begin: Instant, costs: &HostCosts) -> Self {
        let Some(unit) = costs.take_unit else {
            return self;
        };
        if timer <= begin || begin + costs.copying(self.octets) <= timer {
            return self;
        }
        let copied = timer.since(begin).as_nanos() * 1000 / costs.copy_ps_per_octet.max(1);
        let octets = (copied + 1).next_multiple_of(unit).min(self.octets);
        Self {
            octets,
            left: self.octets - octets,
            ..self
        }
    }

    /// How long it copies.
    pub(crate) fn copying(self, costs: &HostCosts) -> Duration {
        costs.copying(self.octets)
    }
}
