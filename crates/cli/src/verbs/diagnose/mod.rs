//! `tinygram diagnose CAPTURE...`: from a capture to the stall, the side to blame and the fix.
//!
//! Typed ([`args`]) -> meant ([`plan`]) -> done ([`results`]) -> shown ([`show`]).

mod args;
mod fail_on;
mod live;
mod plan;
mod results;
mod show;

pub(crate) use args::Args;

use crate::exit::{Done, Failure};

pub(crate) fn run(args: Args) -> Result<Done, Failure> {
    if args.recipes {
        return super::print(show::terminal::recipes().as_bytes());
    }
    let plan = plan::Plan::of(args)?;
    let results = results::Results::of(&plan)?;
    show::all(&plan, &results)?;
    match plan.fail_on.iter().any(|c| c.holds(&results)) {
        true => Ok(Done::Found),
        false => Ok(Done::Well),
    }
}
