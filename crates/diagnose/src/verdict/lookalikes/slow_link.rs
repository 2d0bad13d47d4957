//! The bytes took that long to cross a slow link; nobody delayed their ACK.

pub(super) const NAME: &str = "slow-link";

pub(super) const REASON: &str = "the ACK came as soon as a link of that speed had carried the bytes: serialisation, no delayed-ACK timer";
