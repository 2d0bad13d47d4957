//! A relay in the capturing host, for example a VPN's, reads, sends and waits for itself.

pub(super) const NAME: &str = "relay";

pub(super) const REASON: &str = "a relay stands between: a public address answers from inside the capturing host, so the ends' own segments were not seen";
