//! `tinygram ps`: shows every TCP connection with its process, its live options, and signs of
//! trouble.
//!
//! Typed -> meant ([`plan`]) -> done ([`done`]) -> shown ([`show`]: [`text`], [`summary`] or [`document`]).

pub(crate) mod changed;
mod connection;
mod diag;
mod document;
mod done;
mod live;
mod order;
mod plan;
mod show;
mod socket;
mod summary;
mod table;
mod text;
mod unseen;
mod verdict;

use std::time::Instant;

use tinygram_host::names::Names;

use crate::flags::Places;
use crate::host_flags::JournalFolder;
use crate::outcome::{Done, Failure};
use crate::stop;
use order::Sort;
use plan::Plan;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show only this process (by id or name; pid:8080), script, unit, container, control group, or local or remote port
    /// (port:8080)
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

    #[command(flatten)]
    journal: JournalFolder,
}

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let plan = Plan::of(args).map_err(Failure::Input)?;
    let mut names = Names::below(plan.root.clone());
    if plan.interval.is_some() {
        stop::listen()?;
    }
    // Pages come at this interval, however long one takes; missed ones are not made up for.
    let mut next = now();
    loop {
        let looked = done::look(&plan, &mut names)?;
        show::show(&plan, &looked)?;
        if let Some(interval) = plan.interval {
            next = (next + interval).max(now());
            stop::wait(next.saturating_duration_since(now()));
        }
        if plan.interval.is_none() || stop::is_asked() {
            // As grep does: exit code 1 if nothing matches.
            let is_unmet = plan.target.is_some() && looked.seen.connections == 0;
            return Ok(if is_unmet { Done::Found } else { Done::Well });
        }
    }
}

/// Returns how many connections are open in this network namespace.
pub(crate) fn open_connections() -> std::io::Result<u64> {
    Ok(diag::connections()?.len() as u64)
}

#[allow(
    clippy::disallowed_methods,
    reason = "a page is to be shown every so many seconds of real time"
)]
fn now() -> Instant {
    Instant::now()
}
