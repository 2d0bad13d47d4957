//! Moldeklev & Gunningberg, "Deadlock situations in TCP over ATM".

pub mod hosts;
pub mod published;
pub mod transfer;

use crate::Experiment;

/// Its experiments.
pub const EXPERIMENTS: &[Experiment] = &[];
