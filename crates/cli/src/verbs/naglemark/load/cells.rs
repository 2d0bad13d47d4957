//! What a cell of the plan is called.

use tinygram_naglemark::load::{Demand, LoadCell};

/// Returns the name of a cell's ACK policy; both hosts' own is Linux's.
pub(super) fn acks(cell: &LoadCell) -> String {
    cell.ack_policy
        .as_ref()
        .map_or_else(|| "linux".into(), ToString::to_string)
}

/// Returns the requests a second of an open loop that do not change.
pub(super) fn planned(demand: &Demand) -> Option<f64> {
    match demand {
        Demand::Open(rate) => Some(*rate),
        Demand::Course(_) | Demand::Closed => None,
    }
}
