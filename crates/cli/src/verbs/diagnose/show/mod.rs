//! The results, with one exporter per format.

mod annotate;
mod audit;
mod group;
mod html;
mod json;
mod rows;
pub(super) mod tables;
pub(super) mod terminal;
mod totals;
mod trace;
mod xplot;

use std::io::Write;

use super::args::Format;
use super::plan::Plan;
use super::results::Results;
use crate::exit::{Done, Failure};
use crate::files::failed;
use crate::interrupt;
use crate::shown::{self, Rendered};

pub(super) fn all(mut plan: Plan, results: &Results) -> Result<Done, Failure> {
    if let Some((path, file)) = plan.html.take() {
        html::write(results, file).map_err(|error| failed(&path, error))?;
    }
    for capture in results.captures.iter().filter(|c| !c.sources.is_empty()) {
        if let Some((path, file)) = plan.annotate.take() {
            annotate::write(capture, &path, file)?;
        }
        if let Some((path, folder)) = &plan.xplot {
            xplot::write(capture, folder).map_err(|error| failed(path, error))?;
        }
    }
    let output = plan.output.take();
    let shown = match (plan.format, shown::encoding(plan.format)) {
        (_, Some(encoding)) => Rendered::rows(&tables::of(plan.table, results), encoding)?,
        (Format::Json, None) => {
            let write = |into: &mut dyn Write| json::write(&plan, results, into);
            return match output {
                None => crate::terminal::stream(write),
                Some((path, file)) => interrupt::shielded(|| file.fill(write))
                    .map(|()| Done::Well)
                    .map_err(|error| failed(&path, error)),
            };
        }
        (_, None) => Rendered::Text(match plan.parameters.explain {
            Some(frame) => audit::story(frame, results),
            None => terminal::report(&plan, results),
        }),
    };
    match output {
        None => match &shown {
            Rendered::Text(text) => crate::terminal::print_text(text),
            Rendered::Binary(_) => shown.print(),
        },
        Some((path, file)) => interrupt::shielded(|| file.write(shown.bytes()))
            .map(|()| Done::Well)
            .map_err(|error| failed(&path, error)),
    }
}
