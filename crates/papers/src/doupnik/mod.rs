//! Doupnik, "A new TCP transmission policy replacing Nagle mode", Internet-Draft, 1999.

use crate::Experiment;

/// Its experiments.
pub const EXPERIMENTS: &[Experiment] = &[];
