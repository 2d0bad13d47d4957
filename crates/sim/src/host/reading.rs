//! A read in progress: what it takes out of the receive buffer, and how much of it is gone when
//! something interrupts.

use tinygram_engine::{Duration, Instant};

use crate::costs::{ComesIn, HostCosts};

/// A read in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) socket: u32,
    /// The octets that it has taken.
    pub(crate) taken: u64,
    /// The octets that it will have taken besides when it is done.
    pub(crate) octets: u64,
    /// The octets left to another part of it, after a timer.
    pub(crate) left: u64,
    /// The octets that the program asked for.
    max: u64,
}

impl Reading {
    /// Returns a read of at most `max` octets that finds `octets`.
    pub(crate) fn of(socket: u32, octets: u64, max: u64) -> Self {
        Self {
            socket,
            taken: 0,
            octets,
            left: 0,
            max,
        }
    }

    /// Returns the read with what came while it copied as its rest, when `readable` octets are in
    /// the buffer, its own among them.
    ///
    /// 4.4BSD's `soreceive` copies until the buffer is empty or the program has what it asked for.
    /// This is so on hosts on which frames come in while a call copies. Hosts with a `take_unit`
    /// were fitted without it.
    pub(crate) fn with_news(self, readable: u64, costs: &HostCosts) -> Self {
        let goes_on = costs.comes_in == ComesIn::FramesAndTimers && costs.take_unit.is_none();
        if !goes_on || self.left > 0 {
            return self;
        }
        let wanted = self.max - (self.taken + self.octets);
        Self {
            left: readable.saturating_sub(self.octets).min(wanted),
            ..self
        }
    }

    /// Returns the read, cut short after the unit in which `timer` expires, if it expires while the
    /// read copies from `begin` on and the host's timers interrupt only between units.
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

    /// Returns the rest of the read.
    pub(crate) fn rest(self) -> Self {
        Self {
            taken: self.taken + self.octets,
            octets: self.left,
            left: 0,
            ..self
        }
    }

    /// Returns how many of `octets` are still in the buffer when the read copies for another
    /// `rest`. A unit leaves the buffer once it is copied; without units, everything leaves at the
    /// end.
    pub(crate) fn left_after(self, rest: Duration, costs: &HostCosts) -> u64 {
        let Some(unit) = costs.take_unit else {
            return self.octets;
        };
        let uncopied = rest.as_nanos() * 1000 / costs.copy_ps_per_octet.max(1);
        // An earlier interrupt may have fallen into the first unit.
        let all = self.taken + self.octets;
        let copied = all.saturating_sub(uncopied) / unit * unit;
        all - copied.clamp(self.taken, all)
    }

    /// Records that this many octets of it have left the buffer.
    pub(crate) fn took(&mut self, octets: u64) {
        self.taken += octets;
        self.octets -= octets;
    }
}
