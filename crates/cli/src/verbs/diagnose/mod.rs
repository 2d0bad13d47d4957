//! `tinygram diagnose CAPTURE...`: from a capture to the stall, the side to blame and the fix.
//!
//! Typed ([`args`]) -> meant ([`plan`]) -> done ([`done`]) -> shown ([`show`]).

mod args;
mod done;
mod fail_on;
mod live;
mod one_by_one;
mod plan;
mod show;
mod side_by_side;

pub(crate) use args::Args;
use tinygram_diagnosis::tables;
use tinygram_tables::Rows;

use crate::files::{Given, Input};
use crate::outcome::{Done, Failure};

pub(crate) fn run(args: Args) -> Result<Done, Failure> {
    if args.recipes {
        let recipes = show::recipes::text(crate::terminal::width());
        return crate::terminal::print_text(&recipes);
    }
    let plan = plan::Plan::of(args)?;
    let mut told = show::terminal::Told::default();
    plan.unread.iter().for_each(Failure::say);
    let results = done::Results::of(&plan, &mut |so_far| told.tell(so_far))?;
    results.unread.iter().for_each(Failure::say);
    let partly = !plan.unread.is_empty()
        || !results.unread.is_empty()
        || results.diagnosis.total().incomplete;
    // A finding counts more than what could not be read, and that more than what cannot be told.
    let done = match (
        plan.fail_on.iter().any(|it| results.meets(it)),
        results.diagnosis.untold().next().is_some(),
    ) {
        (true, _) => Done::Found,
        (false, _) if partly => Done::Partly,
        (false, true) => Done::Unknown,
        (false, false) => Done::Well,
    };
    show::all(plan, &results)?;
    Ok(done)
}

/// Returns which of these names belong together, in order: single captures, or the files of one
/// ring buffer.
pub(crate) fn streams(names: &[String]) -> Vec<Vec<String>> {
    tinygram_diagnosis::streams(names, String::as_str)
        .into_iter()
        .map(<[String]>::to_vec)
        .collect()
}

/// Returns all tables of a diagnosis, or the requested one. `given` sources replace the named
/// captures.
pub(crate) fn tables(mut args: Args, given: Vec<Given>) -> Result<Vec<Rows>, Failure> {
    let only = args.table.take();
    if !given.is_empty() {
        args.captures.clear();
    }
    let mut plan = plan::Plan::of(args)?;
    plan.inputs.extend(given.into_iter().map(Input::from));
    plan.parameters.listed_limit = plan.parameters.connection_limit;
    let mut results = done::Results::of(&plan, &mut |_| Ok(()))?;
    // An embedding program has no exit code to see beside its rows.
    plan.unread.append(&mut results.unread);
    if let Some(failure) = plan.unread.pop() {
        return Err(failure);
    }
    Ok(match only {
        Some(name) => vec![tables::of(name.table(), &results.diagnosis)],
        None => tables::all(&results.diagnosis),
    })
}
