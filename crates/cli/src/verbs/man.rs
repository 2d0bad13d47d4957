//! `tinygram man [VERB]`

use clap::CommandFactory;

use crate::outcome::{Done, Failure};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The verb whose page to print; without it, the program's own
    verb: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    // Of `help` there is no page: it prints the same.
    let mut program = crate::Cli::command().disable_help_subcommand(true);
    program.build();
    let command = match &args.verb {
        None => program,
        Some(name) => verb(&program, name)?,
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| Failure::Io {
            doing: "writing the manual page".into(),
            error,
        })?;
    super::print(&page)
}

fn verb(program: &clap::Command, name: &str) -> Result<clap::Command, Failure> {
    if let Some(verb) = program.find_subcommand(name) {
        return Ok(verb.clone());
    }
    let names: Vec<_> = program
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect();
    Err(Failure::Input(format!(
        "no verb is called {name} (accepted: {})",
        names.join(", ")
    )))
}
