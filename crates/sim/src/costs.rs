//! The costs of a host's work in processor time. The engine does not know them.

use tinygram_engine::Duration;

/// Nominal costs of one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCosts {
    /// The cost of an arriving segment.
    pub input: SegmentCost,
    /// The cost of a leaving segment.
    pub output: SegmentCost,
    /// The cost of putting a sleeping thread back on the processor.
    pub wakeup: Duration,
    /// The cost of entering `read`; paid when the thread continues.
    pub read: Duration,
    /// The cost of taking what a `read` has found, besides the copying.
    pub take: Duration,
    /// The cost of entering `write`; paid when the thread continues.
    pub write: Duration,
    /// The part of the cost of entering `write` that is paid at once, even if the call then sleeps
    /// for space.
    pub write_entry: Duration,
    /// The cost of one piece of a write, besides the copying.
    pub chunk: Duration,
    /// The cost of copying between application and kernel, in picoseconds per octet.
    pub copy_ps_per_octet: u64,
    /// If set, a read empties the receive buffer in units of this many octets, and what interrupts
    /// it sees what is left. Otherwise a read takes everything at once.
    pub take_unit: Option<u64>,
    /// What may interrupt a system call that works on a socket.
    pub comes_in: ComesIn,
    /// The percentage by which each cost varies either way.
    pub jitter_percent: u64,
    /// An additional delay of some wake-ups, which the network does not cause.
    pub hiccup: Option<Hiccup>,
}

/// What may interrupt a system call while it works on a socket: while it copies, enters or leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComesIn {
    /// Arriving frames and timers, as on BSD, where copying runs at `spl0`.
    FramesAndTimers,
    /// Only timers, between two units of a read ([`HostCosts::take_unit`]). All other work runs to
    /// its end, and what arrives from the network waits for it.
    Timers,
    /// Nothing, as on Linux: the call has locked the socket (`lock_sock`), segments for it wait in
    /// its backlog (`sk_add_backlog`), and its timers are postponed until the call is over.
    Nothing,
}

/// The cost of moving a segment between the device and the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentCost {
    /// The cost of a segment with data, besides its octets.
    pub data: Duration,
    /// The cost per octet of data, in picoseconds: checksums and copies.
    pub data_ps_per_octet: u64,
    /// The cost of a segment without data.
    pub empty: Duration,
}

impl SegmentCost {
    /// No cost.
    pub const NONE: Self = Self::flat(Duration::ZERO);

    /// Returns the same cost for every segment, whatever it carries.
    #[must_use]
    pub const fn flat(cost: Duration) -> Self {
        Self {
            data: cost,
            data_ps_per_octet: 0,
            empty: cost,
        }
    }

    /// Returns the cost of a segment with `len` octets of data.
    #[must_use]
    #[inline]
    pub const fn of(&self, len: u32) -> Duration {
        if len == 0 {
            return self.empty;
        }
        let octets = len as u64 * self.data_ps_per_octet / 1000;
        Duration::from_nanos(self.data.as_nanos() + octets)
    }
}

/// An additional delay of some wake-ups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hiccup {
    /// How long it takes.
    pub length: Duration,
    /// How many of a million wake-ups it delays.
    pub per_million: u64,
}

impl HostCosts {
    /// The costs of a host that needs no time.
    pub const NONE: Self = Self {
        input: SegmentCost::NONE,
        output: SegmentCost::NONE,
        wakeup: Duration::ZERO,
        read: Duration::ZERO,
        take: Duration::ZERO,
        write: Duration::ZERO,
        write_entry: Duration::ZERO,
        chunk: Duration::ZERO,
        copy_ps_per_octet: 0,
        take_unit: None,
        comes_in: ComesIn::FramesAndTimers,
        jitter_percent: 0,
        hiccup: None,
    };

    /// Returns the cost of copying `octets`.
    #[must_use]
    pub const fn copying(&self, octets: u64) -> Duration {
        Duration::from_nanos(octets * self.copy_ps_per_octet / 1000)
    }
}
