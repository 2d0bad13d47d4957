//! `tinygram deadlock`: typed ([`args`]) -> meant ([`plan`]) -> done (here) -> shown ([`show`]).

mod args;
mod plan;
mod show;

pub(crate) use args::Args;

use tinygram_papers::moldeklev::cures::{Cure, Examined, cures, examine};

use crate::exit::{Done, Failure};
use crate::terminal::{self, Progress};
use plan::Plan;

/// What was found out.
struct Findings {
    asked: Examined,
    /// Nothing is cured that does not ail.
    cures: Vec<(Cure, Examined)>,
}

impl Findings {
    fn deadlocks(examined: &Examined) -> bool {
        examined.prediction.deadlock.is_some() || !examined.simulated.deadlocks.is_empty()
    }
}

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let plan = Plan::from(args)?;
    let findings = find_out(&plan);
    if let Some(plane) = plan.plane {
        show::plane(&plan.parameters, &plan.transfer, plane)?;
    }
    let text = match args.format {
        args::Format::Text => show::text(&plan.parameters, &findings),
        args::Format::Json => show::json(&plan.parameters, &findings),
    };
    terminal::print(text.as_bytes())
}

fn find_out(plan: &Plan) -> Findings {
    let (runs, seed) = (plan.parameters.runs, plan.parameters.seed);
    let asked = examine(&plan.transfer, runs, seed);
    let candidates = match Findings::deadlocks(&asked) {
        true => cures(&plan.transfer),
        false => Vec::new(),
    };
    let progress = Progress::over(candidates.len() as u64, "cures");
    let examined = candidates.into_iter().map(|cure| {
        let examined = examine(&cure.transfer, runs, seed);
        progress.step();
        (cure, examined)
    });
    Findings {
        asked,
        cures: examined.collect(),
    }
}
