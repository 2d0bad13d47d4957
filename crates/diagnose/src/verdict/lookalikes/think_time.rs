//! The application took its time, and a late ACK happened to come meanwhile.

pub(super) const NAME: &str = "think-time";

pub(super) const REASON: &str = "the data left at a time of its own and not upon the late ACK: the application produced it later";
