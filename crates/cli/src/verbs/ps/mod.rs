//! `tinygram ps`: every TCP connection with its process, its live options, and what they look like.

mod connection;
mod diag;
mod live;
mod show;
mod verdict;

use std::io::{IsTerminal, Write};
use std::time::Duration;

use crate::exit::{Done, Failure};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show only this process (by id or name) or this local or remote port
    #[arg(value_name = "PID|NAME|PORT")]
    target: Option<String>,

    /// One JSON document; with --watch one a line
    #[arg(long)]
    json: bool,

    /// Look again every so many seconds (0.1 to 3600) until interrupted
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "1",
          value_parser = parse_seconds)]
    watch: Option<Duration>,
}

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let target = args
        .target
        .as_deref()
        .map(connection::Target::parse)
        .transpose()
        .map_err(Failure::Input)?;
    loop {
        let table = connection::gather(target.as_ref()).map_err(|error| Failure::Io {
            doing: "asking the kernel for its TCP sockets".into(),
            error,
        })?;
        show(args, target.as_ref(), &table)?;
        let Some(interval) = args.watch else {
            return Ok(Done::Well);
        };
        std::thread::sleep(interval);
    }
}

fn show(
    args: &Args,
    target: Option<&connection::Target>,
    table: &connection::Table,
) -> Result<(), Failure> {
    let shown = match (args.json, args.watch) {
        (true, None) => format!("{:#}\n", show::json(table, args.target.as_deref())),
        (true, Some(_)) => format!("{}\n", show::json(table, args.target.as_deref())),
        (false, watch) => {
            // Only a terminal is cleared; a file keeps what it was given.
            let clear = watch.is_some() && std::io::stdout().is_terminal();
            format!(
                "{}{}",
                if clear { "\x1b[H\x1b[2J" } else { "" },
                show::text(table)
            )
        }
    };
    super::print(shown.as_bytes())?;
    let _ = std::io::stdout().flush();
    for line in show::remarks(table, target) {
        eprintln!("tinygram ps: {line}");
    }
    Ok(())
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .filter(|seconds| (0.1..=3600.0).contains(seconds))
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "accepted: seconds from 0.1 to 3600".to_owned())
}
