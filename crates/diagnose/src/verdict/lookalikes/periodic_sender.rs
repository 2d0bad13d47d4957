//! Data written on a clock: segments are really held, but neither writer nor reader waits for them.

pub(super) const NAME: &str = "periodic-sender";

pub(super) const REASON: &str = "the sender writes on its own clock and the peer never answers it, so nobody waits for a held segment";
