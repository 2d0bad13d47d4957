//! A single event that fits, seen from a place on the path where an accident would fit as well.

pub(super) const NAME: &str = "uncorroborated";

pub(super) const REASON: &str = "fits a stall, but rests on round-trip arithmetic far from the sender and was not seen often enough to exclude chance";
