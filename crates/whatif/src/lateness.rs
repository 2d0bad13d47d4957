//! How late programs read what the network has brought, and how late they will.

/// How much later than the network brought it a program read what it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    /// How much, in nanoseconds.
    pub ns: u64,
    /// Whether the data had waited at its sender for [`DEFERRED_NS`] or longer, until an acknowledgment or a timer let it
    /// go. It then wakes its reader from an interrupt, and a busy host lets the reader wait; a write wakes it from a thread
    /// that soon sleeps itself, and an acknowledgment that a read sends finds the reader awake.
    pub deferred: bool,
}

/// How busy the hosts are while a conversation is played. How busy they will be is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostLoad {
    /// Programs read as late as was seen.
    AsSeen,
    /// Programs read what has arrived at once, and what took less than [`SHORT_NS`] takes nothing: after a stall a processor
    /// wakes up with cold caches, and the same work takes a tenth of the time where there was none.
    Quiet,
    /// Programs read twice as late as was seen, and what took less than [`SHORT_NS`] takes twice as long: as much other work comes
    /// to that which was there.
    Busier,
}

impl HostLoad {
    /// Returns how long something takes that was seen to take so long.
    #[must_use]
    pub fn takes(self, seen_ns: u64) -> u64 {
        match seen_ns < SHORT_NS {
            true => self.times(seen_ns),
            false => seen_ns,
        }
    }

    /// Returns how late a program reads that was seen to read so late.
    #[must_use]
    pub fn times(self, late_ns: u64) -> u64 {
        match self {
            Self::AsSeen => late_ns,
            Self::Quiet => 0,
            Self::Busier => late_ns.saturating_mul(2),
        }
    }
}

/// What takes less, in nanoseconds, may be what hosts spend and no pause of a program's or distance.
pub const SHORT_NS: u64 = 1_000_000;

/// What waits so long at its sender is deferred, in nanoseconds. A reader sleeps deeply by then.
pub const DEFERRED_NS: u64 = 1_000_000;

/// How late the reads of an end were: of data that left with its write, and of what left later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    direct_ns: Vec<u64>,
    deferred_ns: Vec<u64>,
}

impl Lateness {
    pub(crate) fn of(all: impl Iterator<Item = Late>) -> Self {
        let mut lateness = Self::default();
        for late in all {
            match late.deferred {
                true => lateness.deferred_ns.push(late.ns),
                false => lateness.direct_ns.push(late.ns),
            }
        }
        lateness
    }

    /// Returns how late a read is that was `seen` so late, if its data is now deferred or not: another's lateness where that
    /// has changed. `draw` decides whose.
    #[must_use]
    pub fn now(&self, seen: Late, deferred: bool, draw: u64) -> u64 {
        let others = match deferred {
            true => &self.deferred_ns,
            false => &self.direct_ns,
        };
        if seen.deferred == deferred || others.is_empty() {
            return seen.ns;
        }
        others[(draw % others.len() as u64) as usize]
    }
}
