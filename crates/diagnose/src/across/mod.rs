//! Judges what connections show only together, and gathers what all say; read `gathered`, then `pool` and `elsewhere`.
//!
//! `gathered` numbers the connections, keeps the findings in the order of the capture and fills the report as connections
//! leave. At the end it asks the other two: `pool` (connections of one program corroborate each other), and
//! `elsewhere` (a second connection of the same two hosts explains a hold). It names `conversation`, the three rooms
//! behind it, and `report`; only `run` names it.

pub(crate) mod elsewhere;
pub(crate) mod gathered;
mod pool;
