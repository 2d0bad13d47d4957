//! `tinygram prevalence LOG...`: typed ([`args`]) -> meant ([`plan`]) -> done ([`done`]: [`read`], then
//! [`cost`]) -> shown ([`outputs`], [`show`]).

mod args;
mod cost;
mod counted;
mod done;
mod found;
mod outputs;
mod plan;
mod read;
mod show;
mod tables;

pub(crate) use args::Args;
pub use counted::Counted;

use tinygram_tables::Rows;

use crate::files::{Given, Input};
use crate::outcome::{Done, Failure};
use crate::stop;
use done::prevalence;
use plan::Plan;

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let plan = Plan::from(args)?;
    let outputs = outputs::Outputs::open(args)?;
    stop::at_once();
    let log = read::logs(&plan)?;
    outputs.show(&plan, &prevalence(&plan, log)?)
}

/// Returns every table. `given` sources replace the named logs.
pub(crate) fn tables(args: &Args, given: Vec<Given>) -> Result<Vec<Rows>, Failure> {
    let mut args = args.clone();
    if !given.is_empty() {
        args.logs.clear();
    }
    let mut plan = Plan::from(&args)?;
    plan.logs.extend(given.into_iter().map(Input::from));
    let log = read::logs(&plan)?;
    Ok(tables::all(&prevalence(&plan, log)?))
}

/// Returns the counts of one range of a log.
pub(crate) fn responses(given: Given, offset: u64) -> Result<Rows, Failure> {
    let log = given.name.clone();
    let survey = read::survey(&Input::from(given))?;
    Ok(counted::rows(&log, offset, &survey))
}

/// Returns every table for logs that were counted in parts.
pub(crate) fn tables_of(args: &Args, counted: &[Counted]) -> Result<Vec<Rows>, Failure> {
    let mut args = args.clone();
    args.logs.clear();
    let plan = Plan::from(&args)?;
    Ok(tables::all(&prevalence(
        &plan,
        counted::together(counted)?,
    )?))
}
