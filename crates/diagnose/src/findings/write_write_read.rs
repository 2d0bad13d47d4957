//! Two writes, then a read: the second write is held until the first is acknowledged, and the peer,
//! which has half a message and nothing to answer, delays that ACK (RFC 896 meets RFC 813).

pub(super) use super::said::pieces_evidence as evidence;
