//! The receiver's window was full: flow control, not a policy on small segments.

pub(super) const NAME: &str = "zero-window";

pub(super) const REASON: &str =
    "the receiver advertised too small a window; its application did not read";
