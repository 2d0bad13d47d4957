//! The experiments of the five papers as data, with their published numbers.
//!
//! One module per paper. An experiment is a profile, a workload, a link and parameters; the engine
//! and the simulator do the rest and know nothing of papers.

pub mod mogul;
