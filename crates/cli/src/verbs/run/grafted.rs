//! Go programs: no library can be loaded into them, so the rule is put in by `tinygram-graft`.

use std::fs;
use std::path::Path;
use std::process::Command;

use tinygram_coalesce::Policy;
use tinygram_graft::object::Object;
use tinygram_graft::{launch, program};

use super::{ALTERNATIVES, Args};
use crate::exit::{Done, Failure};

/// Becomes the program, with the rule in it.
pub(super) fn run(args: &Args, command: Command, file: &Path) -> Result<Done, Failure> {
    let refused = |why: &dyn std::fmt::Display| {
        Failure::Input(format!("{} {why}; {ALTERNATIVES}", file.display()))
    };
    if args.policy == Policy::CorkUntilBlock {
        return Err(Failure::Input(
            "cork-until-block is for programs that a library can be loaded into; accepted for a Go \
             program: flush-on-block, nodelay, observe"
                .into(),
        ));
    }
    if !args.only.is_empty() || args.stats.is_some() {
        return Err(Failure::Input(
            "--only and --stats are for programs that a library can be loaded into".into(),
        ));
    }
    let bytes = fs::read(file).map_err(|error| Failure::Io {
        doing: format!("reading {}", file.display()),
        error,
    })?;
    let program = program::read(&bytes).map_err(|why| refused(&why))?;
    let object =
        Object::carried().ok_or_else(|| refused(&"needs an x86-64 build of this command"))?;
    let rules = super::settings(args)?.rules;
    Err(refused(&launch::become_program(
        command,
        &program,
        &object,
        &rules,
        |_| {},
    )))
}
