//! What the work of a host costs in processor time. The engine knows none of this.

use tinygram_engine::Duration;

/// Nominal costs of one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCosts {
    /// A segment comes in.
    pub input: SegmentCost,
    /// A segment goes out.
    pub output: SegmentCost,
    /// A sleeping thread is put back on the processor.
    pub wakeup: Duration,
    /// Entering `read`; owed until the thread runs on.
    pub read: Duration,
    /// Taking what a `read` has found, besides the copying.
    pub take: Duration,
    /// Entering `write`; owed until the thread runs on.
    pub write: Duration,
    /// Entering `write`, as far as it is paid at once, even if the call then sleeps for space.
    pub write_entry: Duration,
    /// One piece of a write, besides the copying.
    pub chunk: Duration,
    /// Copying between application and kernel, in picoseconds per octet.
    pub copy_ps_per_octet: u64,
    /// A read empties the receive buffer in units of so many octets, and what interrupts it sees
    /// what is left; without it, it takes all at once.
    pub take_unit: Option<u64>,
    /// What comes in between while a system call works on a socket.
    pub comes_in: ComesIn,
    /// Each cost varies by this many percent either way.
    pub jitter_percent: u64,
    /// A wake-up may take longer, for no reason that the network knows.
    pub hiccup: Option<Hiccup>,
}

/// What comes in between while a system call works on a socket: copies, or enters it or leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComesIn {
    /// Arriving frames and timers, as on BSD: the copying runs at `spl0`.
    FramesAndTimers,
    /// Timers alone, between two units of a read ([`HostCosts::take_unit`]). All other work runs to its
    /// end, and what comes from the network waits for it.
    Timers,
    /// Nothing, as on Linux: the call has locked the socket (`lock_sock`), segments for it wait in
    /// its backlog (`sk_add_backlog`) and its timers are put off until the call is over.
    Nothing,
}

/// What it costs to move a segment between the device and the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentCost {
    /// A segment with data, besides its octets.
    pub data: Duration,
    /// Its octets, in picoseconds each: checksums and copies.
    pub data_ps_per_octet: u64,
    /// A segment without data.
    pub empty: Duration,
}

impl SegmentCost {
    /// Nothing.
    pub const NONE: Self = Self::flat(Duration::ZERO);

    /// Returns the same for every segment, whatever it carries.
    #[must_use]
    pub const fn flat(cost: Duration) -> Self {
        Self {
            data: cost,
            data_ps_per_octet: 0,
            empty: cost,
        }
    }

    /// Returns a segment with `len` octets of data.
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

/// A delay that now and then befalls a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hiccup {
    /// How long it takes.
    pub length: Duration,
    /// In how many of a million wake-ups.
    pub per_million: u64,
}

impl HostCosts {
    /// A host that does everything in no time.
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

    /// Copying `octets`.
    #[must_use]
    pub const fn copying(&self, octets: u64) -> Duration {
        Duration::from_nanos(octets * self.copy_ps_per_octet / 1000)
    }
}
