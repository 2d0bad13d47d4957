//! Every ACK is late, also those that no receiver may delay: a middlebox, a VPN or a slow path.

pub(super) const NAME: &str = "late-ack";

pub(super) const REASON: &str = "ACKs that no receiver delays were as late: the path or a middlebox is slow, not a delayed-ACK timer";
