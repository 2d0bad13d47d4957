//! The reasons of a verdict, with names for whoever shows them. A sender counts its holds by theirs
//! ([`Sender::holds`](crate::sender::Sender::holds)), and a policy learns why a segment left
//! ([`Moment::Sent`](super::Moment::Sent)).

/// Makes reasons with their names. The last one is the rule's own, with a number.
macro_rules! reasons {
    (
        $(#[$of_kind:meta])* $kind:ident;
        $($(#[$of_reason:meta])* $reason:ident = $name:literal,)*
    ) => {
        $(#[$of_kind])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $kind {
            $($(#[$of_reason])* $reason,)*
            /// A reason of a user's own rule, which [names](super::Rule::reason) it by this number.
            Own(u8),
        }

        impl $kind {
            /// All reasons but a rule's own.
            pub const ALL: &'static [Self] = &[$(Self::$reason,)*];

            /// Returns the name in tables and traces; `None` for a rule's own reason, whose name
            /// [the rule](super::Rule::reason) knows.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$reason => Some($name),)*
                    Self::Own(_) => None,
                }
            }
        }
    };
}

reasons! {
    /// The reason why a segment left. It is shown and affects nothing else.
    Because;
    /// It is full-sized.
    Full = "full",
    /// It is at least half of the largest window the peer ever offered (BSD).
    HalfWindow = "half-window",
    /// It is a retransmission.
    Retransmission = "retransmission",
    /// It probes a closed window.
    Probe = "probe",
    /// It carries the FIN.
    Fin = "fin",
    /// Nothing was outstanding.
    Idle = "idle",
    /// TCP_NODELAY, or a policy that never holds.
    NoDelay = "no-delay",
    /// It ends the application's data.
    EndOfData = "end-of-data",
    /// No small segment is outstanding.
    NoSmallOutstanding = "no-small-outstanding",
    /// The previous segment was full-sized.
    PreviousFull = "previous-full",
    /// It follows full-sized segments of the same pass.
    BehindFull = "behind-full",
    /// A thread waits, or is about to wait, for the answer.
    Blocked = "blocked",
    /// Enough is outstanding or enough has been gathered.
    Enough = "enough",
    /// It was held as long as the policy allows.
    HeldLongEnough = "held-long-enough",
}

reasons! {
    /// The reason why a segment was held. They affect nothing but
    /// [`outranks_nodelay`](Self::outranks_nodelay).
    Why;
    /// Something sent is not acknowledged (Nagle).
    Unacknowledged = "unacknowledged",
    /// A small segment sent is not acknowledged (Minshall).
    SmallUnacknowledged = "small-unacknowledged",
    /// The previous segment was small (MSMV).
    PreviousSmall = "previous-small",
    /// The application's write has more to come (MORE).
    MoreToCome = "more-to-come",
    /// The application corked the socket.
    Corked = "corked",
    /// Less than the threshold has been gathered (naglim).
    BelowLimit = "below-limit",
    /// It does not end the application's data (Doupnik).
    NotEndOfData = "not-end-of-data",
    /// Less than an MSS is outstanding (Moldeklev & Gunningberg).
    LessThanMssOutstanding = "less-than-mss-outstanding",
    /// The thread that wrote has not blocked yet (flush-on-block).
    WriterRuns = "writer-runs",
    /// Segments of the connection still wait in the device (Linux's autocorking).
    DeviceBusy = "device-busy",
    /// The window cuts it short (sender's silly window avoidance, RFC 1122 section 4.2.3.4).
    WindowCuts = "window-cuts",
    /// Held back to spread a burst (rate-based pacing after idle).
    Pacing = "pacing",
}

impl Why {
    /// How many reasons of its own a rule has that are counted one by one: those below this number. All others count as the
    /// last of them.
    pub const OWN_COUNTED: u8 = 4;

    /// How many reasons are counted.
    pub const COUNTED: usize = Self::ALL.len() + Self::OWN_COUNTED as usize;

    /// Returns the place of its count.
    pub(crate) const fn place(self) -> usize {
        const LAST: u8 = Why::OWN_COUNTED - 1;
        let own = Self::ALL.len();
        match self {
            Self::Own(number) if number < LAST => own + number as usize,
            Self::Own(_) => own + LAST as usize,
            Self::Unacknowledged => 0,
            Self::SmallUnacknowledged => 1,
            Self::PreviousSmall => 2,
            Self::MoreToCome => 3,
            Self::Corked => 4,
            Self::BelowLimit => 5,
            Self::NotEndOfData => 6,
            Self::LessThanMssOutstanding => 7,
            Self::WriterRuns => 8,
            Self::DeviceBusy => 9,
            Self::WindowCuts => 10,
            Self::Pacing => 11,
        }
    }

    /// Returns whether the hold stands although the application set TCP_NODELAY: the application
    /// asked for this hold, too, or it is not of Nagle's kind (autocorking).
    #[must_use]
    pub const fn outranks_nodelay(self) -> bool {
        matches!(
            self,
            Self::Corked | Self::MoreToCome | Self::WindowCuts | Self::DeviceBusy
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_reason_but_an_own_one_has_a_name_of_its_own() {
        let names: Vec<_> = Because::ALL.iter().map(|it| it.name()).collect();
        let distinct: BTreeSet<_> = names.iter().flatten().collect();
        assert_eq!(distinct.len(), names.len());
        assert_eq!(Because::Own(0).name(), None);
        let names: Vec<_> = Why::ALL.iter().map(|it| it.name()).collect();
        let distinct: BTreeSet<_> = names.iter().flatten().collect();
        assert_eq!(distinct.len(), names.len());
        assert_eq!(Why::Own(0).name(), None);
    }

    #[test]
    fn each_reason_has_a_count_and_own_ones_beyond_the_last_share_it() {
        let places: Vec<usize> = Why::ALL.iter().map(|why| why.place()).collect();
        assert_eq!(places, (0..Why::ALL.len()).collect::<Vec<_>>());
        let own = |number| Why::Own(number).place() - Why::ALL.len();
        assert_eq!([0, 1, 2, 3, 4, 255].map(own), [0, 1, 2, 3, 3, 3]);
        assert_eq!(own(255) + Why::ALL.len() + 1, Why::COUNTED);
    }
}
