//! What the logs show: how many of the responses have such a length, and what they would cost.

use tinygram_papers::mogul::prevalence::Vulnerability;
use tinygram_weblog::Survey;

use super::cost::{self, percent};
use super::found::{Prevalence, Share};
use super::plan::Plan;
use super::read;
use crate::outcome::Failure;

pub(super) fn prevalence(
    plan: &Plan,
    (log, seconds): (Survey, u64),
) -> Result<Prevalence, Failure> {
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
