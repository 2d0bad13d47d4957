//! What the work of a host costs in processor time. The engine knows none of this.

use tinygram_engine::Duration;

/// Nominal costs of one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCosts {
    /// A segment comes in.
    pub input: Duration,
    /// A segment goes out.
    pub output: Duration,
    /// A sleeping thread is put back on the processor.
    pub wakeup: Duration,
    /// Entering `read`.
    pub read: Duration,
    /// Entering `write`.
    pub write: Duration,
    /// One piece of a write, besides the copying.
    pub chunk: Duration,
    /// Copying between application and kernel, in picoseconds per octet.
    pub copy_ps_per_octet: u64,
    /// Each cost varies by this many percent either way.
    pub jitter_percent: u64,
    /// A wake-up may take longer, for no reason that the network knows.
    pub hiccup: Option<Hiccup>,
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
        input: Duration::ZERO,
        output: Duration::ZERO,
        wakeup: Duration::ZERO,
        read: Duration::ZERO,
        write: Duration::ZERO,
        chunk: Duration::ZERO,
        copy_ps_per_octet: 0,
        jitter_percent: 0,
        hiccup: None,
    };

    /// Copying `octets`.
    #[must_use]
    pub const fn copying(&self, octets: u64) -> Duration {
        Duration::from_nanos(octets * self.copy_ps_per_octet / 1000)
    }
}
