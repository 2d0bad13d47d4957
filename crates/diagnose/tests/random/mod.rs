//! Random captures of which everything is known: see `capture` for what becomes of a seed.

mod app;
pub(crate) mod capture;
pub(crate) mod dice;
pub(crate) mod made;
mod scene;
pub(crate) mod score;
mod world;
