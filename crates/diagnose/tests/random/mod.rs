//! Random captures of which everything is known: see `capture` for what becomes of a seed.

mod app;
pub(crate) mod capture;
mod dice;
mod scene;
pub(crate) mod score;
mod world;
