//! `tinygram prevalence LOG...`: typed ([`args`]) -> meant ([`plan`]) -> done ([`read`], then
//! [`cost`]) -> shown ([`outputs`]).

mod args;
mod cost;
mod outputs;
mod plan;
mod read;

pub(crate) use args::Args;

use tinygram_papers::mogul::prevalence::Vulnerability;
use tinygram_report::prevalence::{Prevalence, Share};

use crate::exit::{Done, Failure};
use crate::interrupt;
use plan::Plan;

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let plan = Plan::from(args)?;
    let outputs = outputs::Outputs::open(args)?;
    interrupt::watch();
    let (log, seconds) = read::logs(&plan)?;
    let sizes = log.sizes();
    let summary = read::summary(&log, seconds, &sizes);
    let prevalence = Prevalence {
        shares: shares(&plan, &sizes, summary.responses),
        costs: cost::costs(&plan, &sizes, summary.days)?,
        log: summary,
    };
    outputs.show(&plan, &prevalence)
}

/// Table 1, a row after the other.
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

/// Nothing has no share.
fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}
