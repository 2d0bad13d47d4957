//! The experiments of five papers as data, with the papers' published numbers.
//!
//! There is one module per paper. An experiment is a profile, a workload, a link and parameters.
//! The engine and the simulator run it; they know nothing of papers.

mod account;
pub mod davids;
pub mod doupnik;
mod errata;
pub mod experiment;
pub mod heidemann;
pub mod mogul;
pub mod moldeklev;
mod standard;
pub mod value;

pub use account::{Account, Distance};
pub use experiment::Experiment;
pub use standard::{Source, Standard};

/// Returns every experiment, paper by paper.
#[must_use]
pub fn experiments() -> Vec<&'static Experiment> {
    let papers: [&'static [Experiment]; 5] = [
        mogul::EXPERIMENTS,
        moldeklev::EXPERIMENTS,
        heidemann::EXPERIMENTS,
        doupnik::EXPERIMENTS,
        davids::EXPERIMENTS,
    ];
    papers.into_iter().flatten().collect()
}
