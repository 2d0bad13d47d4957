//! One or two held segments after which the sender went on by itself.

pub(super) const NAME: &str = "nobody-waited";

pub(super) const REASON: &str = "the segment left upon a late ACK, but the sender went on by itself and the peer did not answer it";
