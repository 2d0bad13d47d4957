//! `tinygram prevalence LOG...`: typed ([`args`]) -> meant ([`plan`]) -> done ([`read`], then
//! [`cost`]) -> shown ([`outputs`]).

mod args;
mod cost;
mod counted;
mod outputs;
mod plan;
mod read;
mod tables;

pub(crate) use args::Args;
pub use counted::Counted;

use tinygram_papers::mogul::prevalence::Vulnerability;
use tinygram_report::prevalence::{Prevalence, Share};

use tinygram_tables::Rows;
use tinygram_weblog::Survey;

use crate::files::{Given, Input};
use crate::outcome::{Done, Failure};
use crate::stop;
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

fn prevalence(plan: &Plan, (log, seconds): (Survey, u64)) -> Result<Prevalence, Failure> {
    let sizes = log.sizes();
    let summary = read::summary(&log, seconds, &sizes);
    Ok(Prevalence {
        shares: shares(plan, &sizes, summary.responses),
        costs: cost::costs(plan, &sizes, summary.days)?,
        log: summary,
    })
}

/// Returns Table 1, row by row.
fn shares(plan: &Plan, sizes: &[(u64, u64)], responses: u64) -> Vec<Share> {
    let with_body: u64 = sizes.iter().map(|(_, count)| count).sum();
    let of_row = |&mss| {
        plan.mclbytes.iter().map(move |&mclbytes| {
            let vulnerability = Vulnerability { mss, mclbytes };
            let is_delayed =
                |(size, _): &&(u64, u64)| vulnerability.is_delayed(plan.message(*size));
            let delayed = sizes
                .iter()
                .filter(is_delayed)
                .map(|(_, count)| count)
                .sum();
            Share {
                mss,
                mclbytes,
                delayed,
                share_percent: percent(delayed, with_body),
                share_of_all_percent: percent(delayed, responses),
            }
        })
    };
    plan.mss.iter().flat_map(of_row).collect()
}

/// Returns the share in percent; `None` if `whole` is 0.
fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}
