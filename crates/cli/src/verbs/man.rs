//! `tinygram man`

use clap::CommandFactory;

use crate::exit::{Done, Failure};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> Result<Done, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(crate::Cli::command())
        .render(&mut page)
        .map_err(|error| Failure::Io {
            doing: "writing the manual page".into(),
            error,
        })?;
    super::print(&page)
}
