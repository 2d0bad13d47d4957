//! Pauses that look like a stall of small segments and are not.
//!
//! They are told apart so that nobody is falsely accused.

/// What a pause turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lookalike {
    /// Data written on a clock: segments are really held, but neither writer nor reader waits for them.
    PeriodicSender,
    /// One or two held segments after which the sender went on by itself.
    NobodyWaited,
    /// The application took its time, and a late ACK happened to come meanwhile.
    ThinkTime,
    /// The receiver's window was full: flow control, not a policy on small segments.
    ZeroWindow,
    /// A segment was sent again.
    Loss,
    /// Every ACK is late, also those that no receiver may delay: a middlebox, a VPN or a slow path.
    LateAck,
    /// The segment waited for an ACK that came as fast as the path allows.
    RoundTrip,
    /// A single event that fits, seen from a place on the path where an accident would fit as well.
    Uncorroborated,
    /// The bytes took that long to cross a slow link; nobody delayed their ACK.
    SlowLink,
    /// A relay in the capturing host, for example a VPN's, reads, sends and waits for itself.
    Relay,
    /// The sender does not hold: its last flight had small segments behind unacknowledged small ones.
    NotHolding,
}

impl Lookalike {
    /// All lookalikes, in the order of their tallies.
    pub const ALL: [Self; 11] = [
        Self::PeriodicSender,
        Self::NobodyWaited,
        Self::ThinkTime,
        Self::ZeroWindow,
        Self::Loss,
        Self::LateAck,
        Self::RoundTrip,
        Self::Uncorroborated,
        Self::SlowLink,
        Self::Relay,
        Self::NotHolding,
    ];

    fn text(self) -> (&'static str, &'static str) {
        match self {
            Self::PeriodicSender => (
                "periodic-sender",
                "the sender writes on its own clock and the peer never answers it, so nobody waits for a held segment",
            ),
            Self::NobodyWaited => (
                "nobody-waited",
                "the segment left upon a late ACK, but the sender went on by itself and the peer did not answer it",
            ),
            Self::ThinkTime => (
                "think-time",
                "the data left at a time of its own and not upon the late ACK: the application produced it later",
            ),
            Self::ZeroWindow => (
                "zero-window",
                "the receiver advertised too small a window; its application did not read",
            ),
            Self::Loss => ("loss", "data was lost or reordered and sent again"),
            Self::LateAck => (
                "late-ack",
                "ACKs that no receiver delays were as late: the path or a middlebox is slow, not a delayed-ACK timer",
            ),
            Self::RoundTrip => (
                "round-trip",
                "the ACK came as fast as the path allows: one round trip, no delayed-ACK timer",
            ),
            Self::Uncorroborated => (
                "uncorroborated",
                "fits a stall, but too loosely, or too seldom, to exclude that its program just then produced it",
            ),
            Self::SlowLink => (
                "slow-link",
                "the ACK came as soon as a link of that speed had carried the bytes: serialisation, no delayed-ACK timer",
            ),
            Self::Relay => (
                "relay",
                "a relay stands between: a public address answers from inside the capturing host, so the ends' own segments were not seen",
            ),
            Self::NotHolding => (
                "not-holding",
                "the sender had just sent small segments while small ones were unacknowledged, so it does not hold any: the data was not there yet",
            ),
        }
    }

    /// Returns the name in JSON and in tables, for example `think-time`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.text().0
    }

    /// Returns why it is not a stall of small segments, in plain words.
    #[must_use]
    pub fn reason(self) -> &'static str {
        self.text().1
    }

    /// Returns the reason on a connection whose round trip a handshake has measured, or of which ACKs alone tell.
    #[must_use]
    pub fn reason_if(self, rtt_measured: bool) -> &'static str {
        match self {
            Self::RoundTrip if !rtt_measured => {
                "the ACK came about as fast as the fastest: one round trip and no delayed-ACK timer, as far as ACKs tell"
            }
            _ => self.reason(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lookalike_has_a_name_and_a_reason_of_its_own() {
        let names: std::collections::BTreeSet<_> = Lookalike::ALL.map(Lookalike::name).into();
        let reasons: std::collections::BTreeSet<_> = Lookalike::ALL.map(Lookalike::reason).into();
        assert_eq!((names.len(), reasons.len()), (11, 11));
        assert!(reasons.iter().all(|reason| reason.len() > 20));
    }
}
