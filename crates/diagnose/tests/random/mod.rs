//! Random captures about which everything is known: see `capture` for how a seed becomes one.

mod agenda;
mod app;
pub(crate) mod capture;
pub(crate) mod dice;
pub(crate) mod made;
mod scene;
pub(crate) mod score;
mod window;
mod world;
