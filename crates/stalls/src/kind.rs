use core::fmt;

/// The kind of a finding. The files in `findings/` have the rules that recognise each kind in a
/// capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A message in two writes: the second waits for the delayed ACK of the first (RFC 896 meets
    /// RFC 813).
    WriteWriteRead,
    /// An odd number of full segments and a short one, under Nagle's original rule (Mogul and
    /// Minshall 2001, section 2).
    OddFullShortFinal,
    /// A short first segment uses up a congestion window of one or two segments (Heidemann 1997,
    /// section 3.2).
    ShortInitialSegment,
    /// A message torn at a buffer's size, so that the rest waits (Mogul and Minshall 2001, section
    /// 3.1).
    BufferTearing,
    /// A buffer too small for the MSS (Moldeklev and Gunningberg 1995).
    SmallBuffer,
    /// The first flight of slow start is acknowledged late (RFC 5681, section 4.2).
    SlowStartDelayedAck,
    /// A congestion window that had grown is cut after an idle period (RFC 5681, section 4.1).
    IdleRestart,
    /// `TCP_CORK`, `MSG_MORE` or autocorking held the tail for one retransmission timeout.
    CorkHeld,
    /// Nagle's algorithm held a short segment for a whole round trip: the ACK was not delayed, the
    /// path is long.
    NagleRoundTrip,
    /// Many short segments close together that a few segments could have carried.
    TinygramFlood,
}

impl Kind {
    /// All kinds, in the order in which they are shown.
    pub const ALL: [Self; 10] = [
        Self::WriteWriteRead,
        Self::OddFullShortFinal,
        Self::ShortInitialSegment,
        Self::BufferTearing,
        Self::SmallBuffer,
        Self::SlowStartDelayedAck,
        Self::IdleRestart,
        Self::CorkHeld,
        Self::NagleRoundTrip,
        Self::TinygramFlood,
    ];

    /// Returns the name in JSON and in filters, for example `write-write-read`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.names().0
    }

    /// Returns the name for people, for example `buffer tearing`.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.names().1
    }

    /// Returns the kind with this [`name`](Self::name).
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns true if a segment was held; false if the kind is a habit that costs packets instead.
    #[must_use]
    pub fn is_stall(self) -> bool {
        self != Self::TinygramFlood
    }

    /// Returns true if the receiver's delayed ACK ended the wait, so that an immediate ACK would
    /// have ended it earlier.
    #[must_use]
    pub fn waits_for_delayed_ack(self) -> bool {
        !matches!(
            self,
            Self::IdleRestart | Self::CorkHeld | Self::NagleRoundTrip | Self::TinygramFlood
        )
    }

    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::WriteWriteRead => ("write-write-read", "write-write-read"),
            Self::OddFullShortFinal => {
                ("odd-full-short-final", "odd full segments, short final one")
            }
            Self::ShortInitialSegment => ("short-initial-segment", "short initial segment"),
            Self::BufferTearing => ("buffer-tearing", "buffer tearing"),
            Self::SmallBuffer => ("small-buffer", "buffer too small for the MSS"),
            Self::SlowStartDelayedAck => ("slow-start-delayed-ack", "delayed ACK in slow start"),
            Self::IdleRestart => ("idle-restart", "slow start after idle"),
            Self::CorkHeld => ("cork-held", "corked until the timer"),
            Self::NagleRoundTrip => ("nagle-round-trip", "held for a round trip"),
            Self::TinygramFlood => ("tinygram-flood", "tinygram flood"),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
