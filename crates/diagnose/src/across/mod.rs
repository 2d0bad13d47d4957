//! Judges what connections show only together, and gathers what all say; read `gathered`, then `pool`, `elsewhere` and `twice`.
//!
//! `gathered` numbers the connections, keeps the findings in the order of the capture and fills the report as connections
//! leave. At the end it asks the other three: `pool` (connections of one program corroborate each other),
//! `elsewhere` (a second connection of the same two hosts explains a hold), and `twice` (a second connection is the first one,
//! behind a translator of addresses). It names `conversation`, the three rooms
//! behind it, and `report`; only `run` names it.

pub(crate) mod elsewhere;
pub(crate) mod gathered;
mod pool;
mod twice;
