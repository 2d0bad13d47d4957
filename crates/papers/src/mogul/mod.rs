//! Mogul & Minshall, "Rethinking the TCP Nagle algorithm", ACM Computer Communication Review 2001.

pub mod aggregate;
pub mod model;
pub mod naglemark;
pub mod prevalence;
pub mod published;
pub mod response;
pub mod tables;

use crate::Experiment;

/// Its experiments.
pub const EXPERIMENTS: &[Experiment] = &[];
