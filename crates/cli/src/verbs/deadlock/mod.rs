//! `tinygram deadlock`: typed ([`args`]) -> meant ([`plan`]) -> done ([`done`]) -> shown ([`show`]).

mod args;
mod done;
mod plan;
mod show;

pub(crate) use args::Args;

use tinygram_papers::moldeklev::predict::AckThreshold;
use tinygram_tables::Rows;

use crate::files::failed;
use crate::outcome::{Done, Failure};
use crate::{capture, stop, terminal};
use done::Findings;
use plan::Plan;

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let plan = Plan::from(args)?;
    stop::at_once();
    let findings = Findings::of(&plan);
    let parameters = &plan.parameters;
    if let (Some((path, into)), Some(pairs)) = (plan.plane, &findings.plane) {
        let threshold = AckThreshold::of(&plan.transfer.rules.receiver);
        let picture = show::plane(parameters, &threshold, pairs);
        stop::shielded(|| into.write(picture.as_bytes())).map_err(|error| failed(&path, error))?;
    }
    if let (Some((_, kept)), Some(seen)) = (plan.capture, &findings.seen) {
        let in_place_of_the_answer = kept.goes_to_stdout();
        stop::shielded(|| kept.write_files(seen, &show::comment(parameters)))?;
        if in_place_of_the_answer {
            return capture::print(seen);
        }
    }
    let text = match args.format {
        args::Format::Text => show::text(parameters, &findings),
        args::Format::Json => show::json(parameters, &findings),
    };
    let Some((path, into)) = plan.output else {
        return terminal::print(text.as_bytes());
    };
    stop::shielded(|| into.write(text.as_bytes())).map_err(|error| failed(&path, error))?;
    Ok(Done::Well)
}

/// Returns the buffers and their cures, as rows.
pub(crate) fn tables(args: &Args) -> Result<Vec<Rows>, Failure> {
    let plan = Plan::from(args)?;
    Ok(vec![show::rows(&Findings::of(&plan))])
}
