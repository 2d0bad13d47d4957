//! The application took its time; a late ACK happened to fall into it.

pub(super) const NAME: &str = "think-time";

pub(super) const REASON: &str =
    "the application produced the data later: this sender is seen not to hold small segments";
