//! `tinygram completions SHELL`

use clap::CommandFactory;
use clap_complete::Shell;

use crate::outcome::{Done, Failure};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell that will read the script
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut crate::Cli::command(),
        "tinygram",
        &mut script,
    );
    super::print(&script)
}
