//! `tinygram diagnose CAPTURE...`: from a capture to the stall, the side to blame and the fix.
//!
//! Typed ([`args`]) -> meant ([`plan`]) -> done ([`results`]) -> shown ([`show`]).

mod args;
mod fail_on;
mod live;
mod plan;
mod results;
mod ring;
mod show;

pub(crate) use args::Args;

use crate::exit::{Done, Failure};

pub(crate) fn run(args: Args) -> Result<Done, Failure> {
    if args.recipes {
        return super::print(show::terminal::recipes().as_bytes());
    }
    let plan = plan::Plan::of(args)?;
    let mut told = show::terminal::Told::default();
    let results = results::Results::of(&plan, &mut |so_far| told.tell(so_far))?;
    show::all(&plan, &results)?;
    // What was found beats what cannot be told.
    match (
        plan.fail_on.iter().any(|it| results.meets(it)),
        results.untold().next().is_some(),
    ) {
        (true, _) => Ok(Done::Found),
        (false, true) => Ok(Done::Unknown),
        (false, false) => Ok(Done::Well),
    }
}
