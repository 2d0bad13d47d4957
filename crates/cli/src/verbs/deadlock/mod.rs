//! `tinygram deadlock`: typed ([`args`]) -> meant ([`plan`]) -> done (here) -> shown ([`show`]).

mod args;
mod plan;
mod show;

pub(crate) use args::Args;

use tinygram_papers::moldeklev::cures::{Cure, Examined, cures, examine};
use tinygram_sim::medium::{Frame, Side};

use crate::capture::{self, CaptureAt};
use crate::exit::{Done, Failure};
use crate::interrupt;
use crate::terminal::{self, Progress};
use plan::Plan;

/// What was found out.
struct Findings {
    asked: Examined,
    /// Nothing is cured that does not ail.
    cures: Vec<(Cure, Examined)>,
}

impl Findings {
    /// Whether it must be feared: by the rules, or seen.
    fn ails(examined: &Examined) -> bool {
        examined.prediction.deadlock.is_some() || Self::waits(examined)
    }

    /// Whether the simulated transfer is the timer's, for good or for a part of its time that shows.
    fn waits(examined: &Examined) -> bool {
        examined.simulated.waiting >= TELLS
    }
}

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let plan = Plan::from(args)?;
    interrupt::watch();
    let findings = find_out(&plan);
    if let Some((path, plane)) = plan.plane {
        show::plane(&plan.parameters, &plan.transfer, &path, plane)?;
    }
    if let Some((at, kept)) = plan.capture {
        let seen = seen(&findings.asked, at);
        let in_place_of_the_answer = kept.goes_to_stdout();
        interrupt::shielded(|| kept.write_files(&seen, &show::comment(&plan.parameters)))?;
        if in_place_of_the_answer {
            return capture::print(&seen);
        }
    }
    let text = match args.format {
        args::Format::Text => show::text(&plan.parameters, &findings),
        args::Format::Json => show::json(&plan.parameters, &findings),
    };
    terminal::print(text.as_bytes())
}

/// What is seen of the run that tells most.
fn seen(asked: &Examined, at: CaptureAt) -> Vec<(Side, Frame)> {
    let (run, deadlock) = &asked.simulated.telling;
    // The writer is the one who connects.
    run.captured(*deadlock, at.side(Side::Client), MOST_CAPTURED)
}

/// The share of the time; a fast transfer that meets a tick or two spends less.
const TELLS: f64 = 0.05;
/// Segments; ten times as many as anybody reads.
const MOST_CAPTURED: usize = 100_000;

fn find_out(plan: &Plan) -> Findings {
    let (runs, seed) = (plan.parameters.runs, plan.parameters.seed);
    let asked = examine(&plan.transfer, runs, seed);
    let candidates = match Findings::ails(&asked) {
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
