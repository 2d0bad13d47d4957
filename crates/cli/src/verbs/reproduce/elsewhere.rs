//! The papers' experiments on this kernel's sockets, where there is no Linux: they are listed, and refused.

use tinygram_papers::experiment::{Effort, Outcome};

use crate::outcome::Failure;
use crate::system::needs_linux;

pub(super) use {
    nothing as davids, nothing as doupnik, nothing as heidemann, nothing as moldeklev,
};

/// Refuses what is measured on sockets.
pub(super) fn check() -> Result<(), Failure> {
    Err(needs_linux(
        "reproduce here",
        "the simulated experiments, which reproduce --list names",
    ))
}

/// Measures nothing, because all is refused before.
pub(super) fn nothing(_: &Effort) -> Outcome {
    Outcome::default()
}
