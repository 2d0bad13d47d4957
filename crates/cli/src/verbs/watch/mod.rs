//! `tinygram watch`: stalls and floods on a running host, as they happen, by process.
//!
//! Typed ([`args`]) -> meant ([`plan`]) -> done ([`done`], on `tinygram-watch`) -> shown ([`told`]: [`show`], [`metrics`],
//! [`otlp`], [`sites`]).

mod addresses;
mod args;
mod done;
mod http;
mod json;
#[cfg(test)]
pub(crate) mod made;
mod metrics;
mod otlp;
mod plan;
mod repeats;
mod screen;
mod seen;
pub(crate) mod sentence;
mod show;
mod sites;
mod table;
mod told;
mod under_run;

use std::time::{Duration, Instant};

pub(crate) use args::Args;
use done::Watch;
use plan::Plan;
use told::Listeners;

use crate::outcome::{Done, Failure};
use crate::stop;

#[expect(clippy::disallowed_methods, reason = "how long to watch is real time")]
pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let plan = Plan::of(args).map_err(Failure::Input)?;
    let (length, root) = (plan.length, plan.root.clone());
    let mut listeners = Listeners::open(args)?;
    let mut watch = Watch::begin(plan)?;
    stop::listen_and_leave(screen::leave)?;
    listeners.begin(args, &root, &watch)?;
    let begun = Instant::now();
    let mut told = Ok(());
    while told.is_ok() && !stop::is_asked() {
        let left = length.map(|length| length.saturating_sub(begun.elapsed()));
        if left == Some(Duration::ZERO) {
            break;
        }
        let patience = left.map_or(BREATH, |left| left.min(BREATH));
        told = listeners
            .hear(&watch.look(patience))
            .and_then(|()| listeners.breathe(&watch, begun.elapsed()));
    }
    // What the kernel said while the last findings were shown, and what only the end brings.
    for findings in [watch.look(Duration::ZERO), watch.finish()] {
        told = told.and(listeners.hear(&findings));
    }
    let is_whole = listeners.end(told, &watch, begun.elapsed())?;
    if !is_whole {
        return Ok(Done::Partly);
    }
    // As in `ps`, and as grep does: exit code 1 if nothing matches.
    Ok(match watch.watched.unmet().is_empty() {
        true => Done::Well,
        false => Done::Found,
    })
}

/// How often the display is renewed and the end is checked.
const BREATH: Duration = Duration::from_millis(250);
