//! A read at work: what it takes out of the receive buffer, and how much of it an interrupt finds taken.

use tinygram_engine::{Duration, Instant};

use crate::costs::{ComesIn, HostCosts};

/// What a read takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) socket: u32,
    /// What it has taken, in octets.
    pub(crate) taken: u64,
    /// What it will have taken besides when it is done.
    pub(crate) octets: u64,
    /// What is left to another piece of it, after a timer.
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

    /// Returns the same, cut short after the unit in which `timer` expires, if it does so while this copies
    /// from `begin` on, on a host where timers come in between units alone.
    pub(crate) fn up_to(self, timer: Option<Instant>, begin: Instant, costs: &HostCosts) -> Self {
        let (ComesIn::Timers, Some(unit), Some(timer)) = (costs.comes_in, costs.take_unit, timer)
        else {
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

    /// Returns what is left of it.
    pub(crate) fn rest(self) -> Self {
        Self {
            taken: self.taken + self.octets,
            octets: self.left,
            left: 0,
            ..self
        }
    }

    /// Of `octets`, what is still in the buffer when it copies for another `rest`. A unit leaves the
    /// buffer once it is copied; without units, all leaves at the end.
    pub(crate) fn left_after(self, rest: Duration, costs: &HostCosts) -> u64 {
        let Some(unit) = costs.take_unit else {
            return self.octets;
        };
        let uncopied = rest.as_nanos() * 1000 / costs.copy_ps_per_octet.max(1);
        // The first unit may be one that an earlier interrupt fell into.
        let all = self.taken + self.octets;
        let copied = all.saturating_sub(uncopied) / unit * unit;
        all - copied.clamp(self.taken, all)
    }

    /// So many octets of it have left the buffer.
    pub(crate) fn took(&mut self, octets: u64) {
        self.taken += octets;
        self.octets -= octets;
    }
}
