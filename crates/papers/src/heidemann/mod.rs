//! Heidemann, "Performance interactions between P-HTTP and TCP implementations", 1997.

use crate::Experiment;

/// Its experiments.
pub const EXPERIMENTS: &[Experiment] = &[];
