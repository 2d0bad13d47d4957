//! The segment waited for an ACK that came as fast as the path allows.

pub(super) const NAME: &str = "round-trip";

pub(super) const REASON: &str =
    "the ACK came as fast as the path allows: one round trip, no delayed-ACK timer";
