//! `tinygram reproduce`: typed ([`args`]) -> meant ([`plan`]) -> done ([`done`]) -> shown
//! ([`outputs`], [`show`]).

mod args;
mod done;
mod here;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
mod measured;
mod outputs;
mod plan;
mod show;

pub(crate) use args::Args;

use tinygram_tables::Rows;

use crate::outcome::{Done, Failure};
use crate::{stop, terminal};
use plan::Plan;

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let plan = Plan::from(args)?;
    let outputs = outputs::Outputs::open(args)?;
    if args.list {
        return outputs.list(&plan);
    }
    stop::at_once();
    let reproduced = reproduced(args, &plan)?;
    let found = match done::Tally::of_all(&reproduced).misses {
        0 => Done::Well,
        _ => Done::Found,
    };
    outputs.show(&plan, &reproduced)?;
    // Whether everything matches that should.
    Ok(found)
}

/// Returns the rows of every experiment.
pub(crate) fn tables(args: &Args) -> Result<Vec<Rows>, Failure> {
    let plan = Plan::from(args)?;
    Ok(vec![show::rows(&reproduced(args, &plan)?)])
}

fn reproduced(args: &Args, plan: &Plan) -> Result<Vec<done::Reproduced>, Failure> {
    let pool = args.processors.pool()?;
    done::tell_how_long(plan, &pool)?;
    let progress = terminal::Progress::over(plan.experiments.all().count() as u64, "reproducing");
    Ok(done::reproduce(plan, &pool, &progress))
}
