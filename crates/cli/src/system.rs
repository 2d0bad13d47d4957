//! What is said where the system is not the one that something asks.

use crate::outcome::Failure;

/// Returns that something asks Linux's kernel, and what works here instead.
pub(crate) fn needs_linux(what: &str, instead: &str) -> Failure {
    Failure::Input(format!(
        "{what} needs Linux (accepted on {OS}: {instead})",
        OS = std::env::consts::OS
    ))
}
