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

    /// Look again every so many seconds (0.1 to 3600) until interrupted [1 if none are given]
    #[arg(long, value_name = "SECONDS", num_args = 0..=1)]
    watch: Option<Option<String>>,

    /// Show only connections that look like trouble
    #[arg(long)]
    trouble: bool,

    /// What comes first
    #[arg(long, value_enum, default_value_t = Sort::Process, value_name = "KEY")]
    sort: Sort,

    /// Show only the first so many
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,

    /// A line for each process instead of one for each connection
    #[arg(long)]
    summary: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Sort {
    /// By process and addresses
    Process,
    /// Most data segments sent first
    Segments,
    /// Fewest bytes a segment first
    Small,
    /// Longest round trip first
    Rtt,
    /// Most bytes sent first
    Bytes,
}

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let (watch, target) = watched(args)?;
    let target = target
        .as_deref()
        .map(connection::Target::parse)
        .transpose()
        .map_err(Failure::Input)?;
    loop {
        let mut table = connection::gather(target.as_ref()).map_err(|error| Failure::Io {
            doing: "asking the kernel for its TCP sockets".into(),
            error,
        })?;
        let found = !table.connections.is_empty();
        choose(args, &mut table);
        show(args, watch, target.as_ref(), &table)?;
        let Some(interval) = watch else {
            // As grep does: 1 where nothing matches what was asked for.
            return Ok(if target.is_some() && !found {
                Done::Found
            } else {
                Done::Well
            });
        };
        std::thread::sleep(interval);
    }
}

/// Parses how often to look, and what at: `--watch 5` means five seconds, `--watch nginx` that
/// program.
fn watched(args: &Args) -> Result<(Option<Duration>, Option<String>), Failure> {
    let Some(typed) = &args.watch else {
        return Ok((None, args.target.clone()));
    };
    let second = Duration::from_secs(1);
    match (typed.as_deref(), &args.target) {
        (None, target) => Ok((Some(second), target.clone())),
        (Some(text), target) => match (text.parse::<f64>(), target) {
            (Err(_), None) => Ok((Some(second), Some(text.to_owned()))),
            _ => parse_seconds(text)
                .map(|interval| (Some(interval), target.clone()))
                .map_err(|accepted| Failure::Input(format!("--watch {text}: {accepted}"))),
        },
    }
}

/// Leaves what is to be shown, in the order in which it is to be.
fn choose(args: &Args, table: &mut connection::Table) {
    let all = &mut table.connections;
    if args.trouble {
        all.retain(|connection| connection.verdict.is_some());
    }
    let falling = std::cmp::Reverse::<u64>;
    match args.sort {
        Sort::Process => {}
        Sort::Segments => all.sort_by_key(|c| falling(c.counts.data_segments_sent.into())),
        Sort::Small => all.sort_by(|a, b| {
            let size =
                |c: &connection::Connection| c.counts.bytes_per_segment().unwrap_or(f64::INFINITY);
            size(a).total_cmp(&size(b))
        }),
        Sort::Rtt => all.sort_by_key(|c| falling(c.counts.rtt_us.into())),
        Sort::Bytes => all.sort_by_key(|c| falling(c.counts.bytes_sent)),
    }
    if let Some(top) = args.top.filter(|_| !args.summary) {
        all.truncate(top as usize);
    }
}

fn show(
    args: &Args,
    watch: Option<Duration>,
    target: Option<&connection::Target>,
    table: &connection::Table,
) -> Result<(), Failure> {
    let shown = match (args.json, watch) {
        (true, None) => format!(
            "{:#}\n",
            show::json(table, target.map(ToString::to_string).as_deref())
        ),
        (true, Some(_)) => format!(
            "{}\n",
            show::json(table, target.map(ToString::to_string).as_deref())
        ),
        (false, watch) => {
            // Only a terminal is cleared; a file keeps what it was given.
            let clear = watch.is_some() && std::io::stdout().is_terminal();
            format!(
                "{}{}",
                if clear { "\x1b[H\x1b[2J" } else { "" },
                if args.summary {
                    show::summary(table, args.top)
                } else {
                    show::text(table)
                }
            )
        }
    };
    super::print(shown.as_bytes())?;
    let _ = std::io::stdout().flush();
    for line in show::remarks(table, target, args.trouble) {
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
