//! One event that fits, at a place on the path where accident would fit as well.

pub(super) const NAME: &str = "uncorroborated";

pub(super) const REASON: &str = "fits a stall, but rests on round-trip arithmetic far from the sender and was not seen often enough to exclude chance";
