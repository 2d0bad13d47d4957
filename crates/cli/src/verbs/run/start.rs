//! A program that is to be run, and what else helps one that cannot be covered.

use std::ffi::OsString;
use std::path::PathBuf;

use tinygram_preload::settings::Settings;

use super::Format;

/// A program that is to be run.
pub(super) struct Start {
    /// The program as typed, with its arguments.
    pub(super) words: Vec<OsString>,
    /// Its file, or that of the interpreter of a script.
    pub(super) file: PathBuf,
    pub(super) settings: Settings<'static>,
    pub(super) statistics: Option<Statistics>,
}

/// How what was done is shown, and where, if not on standard error.
pub(super) struct Statistics {
    pub(super) format: Format,
    pub(super) to: Option<PathBuf>,
}

/// The alternatives for a program that cannot be reached.
pub(super) const ALTERNATIVES: &str = "instead, tinygram run --cgroup sets TCP_NODELAY for it in the kernel, or on the machine \
     that receives: ip route change ... quickack 1";
