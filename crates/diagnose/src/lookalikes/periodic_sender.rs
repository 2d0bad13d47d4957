//! Data written on a clock: held segments are real, but the writer is not waiting and neither is the reader.

pub(super) const NAME: &str = "periodic-sender";

pub(super) const REASON: &str = "the sender writes on its own clock and the peer never answers it, so nobody waits for a held segment";
