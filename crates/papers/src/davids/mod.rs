//! Davids, "TCP: either fast or efficient".

use crate::Experiment;

/// Its experiments.
pub const EXPERIMENTS: &[Experiment] = &[];
