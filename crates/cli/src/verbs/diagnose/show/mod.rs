//! Results, shown: one exporter per format.

mod annotate;
mod group;
mod html;
mod json;
mod plot;
pub(super) mod terminal;
mod trace;
mod xplot;

use super::plan::Plan;
use super::results::Results;
use crate::exit::{Done, Failure};
use crate::files::Input;

pub(super) fn all(plan: &Plan, results: &Results) -> Result<Done, Failure> {
    if let Some(out) = &plan.html {
        html::write(plan, results, out)?;
    }
    for (input, capture) in plan.inputs.iter().zip(&results.captures) {
        let Input::File(source) = input else {
            continue;
        };
        if let Some(out) = &plan.annotate {
            annotate::write(capture, source, out)?;
        }
        if let Some(folder) = &plan.xplot {
            xplot::write(capture, source, folder)?;
        }
    }
    let shown = match plan.json {
        true => json::document(plan, results),
        false => terminal::report(plan, results),
    };
    super::super::print(shown.as_bytes())
}
