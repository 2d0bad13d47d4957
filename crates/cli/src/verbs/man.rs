//! `tinygram man [VERB]`

use clap::CommandFactory;

use crate::exits;
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
    let page = page(command).map_err(|error| Failure::Io {
        doing: "writing the manual page".into(),
        error,
    })?;
    super::print(&page)
}

/// Returns the page: clap's sections, and the exit codes before the examples.
fn page(command: clap::Command) -> std::io::Result<Vec<u8>> {
    let exits = exits::section(command.get_name());
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    let text = String::from_utf8(page).map_err(std::io::Error::other)?;
    let behind = ["\n.SH EXTRA", "\n.SH VERSION"];
    let at = behind.iter().find_map(|section| text.find(section));
    let (before, after) = text.split_at(at.map_or(text.len(), |at| at + 1));
    Ok(format!("{before}{exits}{after}").into_bytes())
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
