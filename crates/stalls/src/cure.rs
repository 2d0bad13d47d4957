//! What a change does against a stall.

/// What a recipe does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cure {
    /// Makes one write of several: the better cure wherever it is possible.
    WriteOnce,
    /// Makes one message or one write of several messages, which the program must have at the same
    /// time.
    Gather,
    /// Sends small segments at once. It is wrong if many small writes follow each other: they
    /// become as many packets.
    NoDelay,
    /// Makes the receiver acknowledge at once, if the sender cannot be changed.
    QuickAck,
    /// Makes a buffer's size a multiple of the MSS.
    Buffer,
    /// Makes the initial congestion window larger.
    InitialWindow,
}

impl Cure {
    /// Returns the name for tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::WriteOnce => "write once",
            Self::Gather => "gather",
            Self::NoDelay => "no delay",
            Self::QuickAck => "ACK at once",
            Self::Buffer => "buffer",
            Self::InitialWindow => "initial window",
        }
    }
}
