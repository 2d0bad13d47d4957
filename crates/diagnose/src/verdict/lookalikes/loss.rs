//! A segment was sent again.

pub(super) const NAME: &str = "loss";

pub(super) const REASON: &str = "data was lost or reordered and sent again";
