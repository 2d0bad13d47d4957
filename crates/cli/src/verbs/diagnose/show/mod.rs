//! Results, shown: one exporter per format.

mod group;
mod json;
pub(super) mod terminal;

use super::plan::Plan;
use super::results::Results;
use crate::exit::{Done, Failure};

pub(super) fn all(plan: &Plan, results: &Results) -> Result<Done, Failure> {
    let shown = match plan.json {
        true => json::document(plan, results),
        false => terminal::report(plan, results),
    };
    super::super::print(shown.as_bytes())
}
