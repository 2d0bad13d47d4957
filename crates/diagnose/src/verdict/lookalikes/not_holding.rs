//! The sender does not hold: its last flight had small segments behind unacknowledged small ones.

pub(super) const NAME: &str = "not-holding";

pub(super) const REASON: &str = "the sender had just sent small segments while small ones were unacknowledged, so it does not hold any: the data was not there yet";
