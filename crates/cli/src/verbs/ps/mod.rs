//! `tinygram ps`: shows every TCP connection with its process, its live options, and signs of
//! trouble.

mod changed;
mod connection;
mod diag;
mod live;
mod order;
mod show;
mod summary;
mod verdict;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Serialize;
use tinygram_host::names::Names;
use tinygram_host::target::Target;
use tinygram_watch::seen::Seen;

use crate::exit::{Done, Failure};
use crate::flags::Places;
use crate::glossary::Glosses;
use crate::terminal;
use order::Sort;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show only this process (by id or name), script, unit, container, control group, or local or remote port
    #[arg(value_name = "TARGET")]
    target: Option<String>,

    #[command(flatten)]
    places: Places,

    /// One JSON document on one line; with --watch one line after the other
    #[arg(long)]
    json: bool,

    /// Repeat every SECONDS (0.1 to 3600) until interrupted [1 if no number is given]
    #[arg(long, value_name = "SECONDS", num_args = 0..=1)]
    watch: Option<Option<String>>,

    /// Show only connections that look like trouble
    #[arg(long)]
    trouble: bool,

    /// Sort order
    #[arg(long, value_enum, default_value_t = Sort::Process, value_name = "KEY")]
    sort: Sort,

    /// Show only the first N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,

    /// A line for each process instead of one for each connection
    #[arg(long)]
    summary: bool,

    /// The folder of the journal of `set` and `cure`
    #[arg(
        long,
        value_name = "FOLDER",
        default_value = tinygram_remedy::journal::FOLDER,
        hide = true
    )]
    journal: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let (watch, target) = watched(args)?;
    let typed: Vec<String> = target.into_iter().collect();
    let target = args.places.targets(&typed).map_err(Failure::Input)?.pop();
    let mut names = Names::below(args.places.root().map_err(Failure::Input)?);
    // Pages come at this interval, however long one takes; missed ones are not made up for.
    let mut next = now();
    loop {
        let table = connection::gather(target.as_ref(), &mut names);
        let mut table = table.map_err(|error| Failure::Io {
            doing: "asking the kernel for its TCP sockets".into(),
            error,
        })?;
        table.mark(changed::in_force(&args.journal));
        let seen = table.seen();
        let found = seen.connections > 0;
        choose(args, &mut table);
        show(args, watch, target.as_ref(), &table, seen)?;
        for line in show::remarks(&table, target.as_ref(), seen) {
            terminal::remark(&format!("tinygram ps: {line}"));
        }
        let Some(interval) = watch else {
            // As grep does: exit code 1 if nothing matches.
            return Ok(if target.is_some() && !found {
                Done::Found
            } else {
                Done::Well
            });
        };
        next = (next + interval).max(now());
        std::thread::sleep(next - now());
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "a page is to be shown every so many seconds of real time"
)]
fn now() -> Instant {
    Instant::now()
}

/// Parses the interval and the target: `--watch 5` means five seconds, `--watch nginx` that
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

/// Returns how many connections are open in this network namespace.
pub(crate) fn open_connections() -> std::io::Result<u64> {
    Ok(diag::connections()?.len() as u64)
}

/// Keeps what is to be shown, in the requested order.
fn choose(args: &Args, table: &mut connection::Table) {
    let all = &mut table.connections;
    if args.trouble {
        all.retain(|connection| connection.verdict.is_some());
    }
    args.sort
        .order(all, |connection| connection.counts.figures());
    if let Some(top) = args.top.filter(|_| !args.summary) {
        all.truncate(top as usize);
    }
}

fn show(
    args: &Args,
    watch: Option<Duration>,
    target: Option<&Target>,
    table: &connection::Table,
    seen: Seen,
) -> Result<(), Failure> {
    let shown = match (args.json, watch) {
        (true, _) => {
            let target = target.map(ToString::to_string);
            let target = target.as_deref();
            match args.summary {
                true => {
                    let processes = summary(args, table);
                    json(&summary::Document::of(&processes, table, target, seen))
                }
                false => json(&show::Document::of(table, target, seen)),
            }
        }
        (false, watch) => {
            // Only a terminal is cleared; a file keeps what was written to it.
            let clear = watch.is_some() && std::io::stdout().is_terminal();
            format!(
                "{}{}",
                if clear { "\x1b[H\x1b[2J" } else { "" },
                page(args, table)
            )
        }
    };
    // Printed raw: the text has no styles, and searching ten thousand connections for styles would
    // take longer than everything else.
    terminal::print_raw(shown.as_bytes())?;
    Ok(())
}

/// Returns the table, and on a terminal what its words mean.
fn page(args: &Args, table: &connection::Table) -> String {
    let width = terminal::width();
    let mut text = match args.summary {
        true => summary::text(&summary(args, table), width),
        false => show::text(table, width),
    };
    if width < usize::MAX {
        for gloss in Glosses::default().new_in(&text) {
            text += &format!("{gloss}\n");
        }
        text = terminal::broken(&text, width);
    }
    text
}

fn json(document: &impl Serialize) -> String {
    serde_json::to_string(document).expect("plain data") + "\n"
}

/// Returns the processes to be shown, in the requested order.
fn summary(args: &Args, table: &connection::Table) -> Vec<summary::Process> {
    let mut processes = summary::of(table);
    args.sort.order(&mut processes, summary::Process::figures);
    processes.truncate(args.top.map_or(usize::MAX, |top| top as usize));
    processes
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .filter(|seconds| (0.1..=3600.0).contains(seconds))
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "accepted: seconds from 0.1 to 3600".to_owned())
}
