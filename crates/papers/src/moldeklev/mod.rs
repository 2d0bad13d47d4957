//! Moldeklev & Gunningberg, "Deadlock situations in TCP over ATM".

use crate::Experiment;

/// Its experiments.
pub const EXPERIMENTS: &[Experiment] = &[];
