//! Go programs and static ones, on a machine whose code nobody puts into programs: they are refused.

use std::path::Path;

use tinygram_preload::settings::Settings;

use super::start::{ALTERNATIVES, Start};
use crate::outcome::{Done, Failure};

/// How the rule is put into a Go or static program: not at all.
pub(super) struct How;

impl How {
    /// Takes any settings, for what is asked for is refused when it is to be done.
    pub(super) fn of(_: &Settings<'_>, _: bool, _: bool, _: bool) -> Result<Self, String> {
        Ok(Self)
    }
}

/// Refuses a program.
pub(super) fn run(start: &Start, _: &How) -> Result<Done, Failure> {
    let file = start.file.display();
    Err(Failure::Input(format!(
        "{file} is a Go or static program, and the rule can be put into such programs on x86-64 only; {ALTERNATIVES}"
    )))
}

/// Refuses a running process.
pub(super) fn attach(pid: u32, _: &How, _: &Path) -> Result<Done, Failure> {
    Err(Failure::Input(format!(
        "process {pid}: --attach puts the rule into running programs on x86-64 only; instead, tinygram cure {pid} \
         sets its sockets' options from outside, and keeps them if that helps"
    )))
}

/// Refuses a running process, into which nothing can have been put.
pub(super) fn detach(pid: u32, _: &Path) -> Result<Done, Failure> {
    Err(Failure::Input(format!(
        "process {pid}: nothing was put into it, for tinygram run --attach works on x86-64 only"
    )))
}
