//! Results, shown: one exporter per format.

mod annotate;
mod group;
mod html;
mod json;
mod markup;
mod plot;
pub(super) mod terminal;
mod timeline;
mod totals;
mod trace;
mod xplot;

use super::plan::Plan;
use super::results::Results;
use crate::exit::{Done, Failure};

pub(super) fn all(plan: &Plan, results: &Results) -> Result<Done, Failure> {
    if let Some(out) = &plan.html {
        html::write(results, out)?;
    }
    for capture in results.captures.iter().filter(|c| !c.sources.is_empty()) {
        if let Some(out) = &plan.annotate {
            annotate::write(capture, out)?;
        }
        if let Some(folder) = &plan.xplot {
            xplot::write(capture, folder)?;
        }
    }
    let shown = match plan.json {
        true => json::document(plan, results),
        false => terminal::report(plan, results),
    };
    super::super::print(shown.as_bytes())
}
