//! The rule in a Go or static program, on a machine where nobody puts it there: no process has it.

use std::fs::File;
use std::io;

use tinygram_coalesce::Policy;

use super::State;

/// What no process has.
pub(super) enum Grafted {}

impl Grafted {
    /// Returns that there is none.
    pub(super) fn in_maps(_: &str) -> Option<Self> {
        None
    }

    pub(super) fn state(&self, _: &File) -> io::Result<Option<State>> {
        match *self {}
    }

    pub(super) fn switch(&self, _: &File, _: Policy) -> io::Result<()> {
        match *self {}
    }
}
