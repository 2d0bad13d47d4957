//! The results, with one exporter per format.

pub(super) mod recipes;
pub(super) mod terminal;
mod xplot;

use std::io::{self, Write};
use std::path::Path;

use tinygram_diagnosis::annotate::{self, Unfinished};
use tinygram_diagnosis::{Capture, Diagnosis, Echo, audit, html, json, tables};
use tinygram_report::Destination;

use super::args::Format;
use super::done::Results;
use super::plan::Plan;
use crate::files::{Input, failed};
use crate::outcome::{Done, Failure};
use crate::shown::{self, Rendered};
use crate::stop;

pub(super) fn all(mut plan: Plan, results: &Results) -> Result<Done, Failure> {
    if let Some((path, file)) = plan.html.take() {
        write_page(results, file).map_err(|error| failed(&path, error))?;
    }
    for capture in results
        .diagnosis
        .captures
        .iter()
        .filter(|c| !c.sources.is_empty())
    {
        if let Some((path, file)) = plan.annotate.take() {
            write_annotated(capture, &path, file)?;
        }
        if let Some((path, folder)) = &plan.xplot {
            xplot::write(capture, folder).map_err(|error| failed(path, error))?;
        }
    }
    let output = plan.output.take();
    let width = match output {
        None => crate::terminal::width(),
        Some(_) => usize::MAX,
    };
    let shown = match (plan.format, shown::encoding(plan.format)) {
        (_, Some(encoding)) => {
            Rendered::rows(&tables::of(plan.table, &results.diagnosis), encoding)?
        }
        (Format::Csv, None) => Rendered::Text(tables::of(plan.table, &results.diagnosis).to_csv()),
        (Format::Json, None) => {
            let echo = echo(&plan);
            let write = |into: &mut dyn Write| json::write(&echo, &results.diagnosis, into);
            return match output {
                None => crate::terminal::stream(write),
                Some((path, file)) => stop::shielded(|| file.fill(write))
                    .map(|()| Done::Well)
                    .map_err(|error| failed(&path, error)),
            };
        }
        (_, None) => Rendered::Text(match plan.parameters.explain {
            Some(frame) => explained(frame, &results.diagnosis)?,
            None => terminal::report(&plan, results, width),
        }),
    };
    match output {
        None => match &shown {
            Rendered::Text(text) if plan.format == Format::Text => {
                crate::terminal::print_text(text)
            }
            _ => shown.print(),
        },
        Some((path, file)) => stop::shielded(|| file.write(shown.bytes()))
            .map(|()| Done::Well)
            .map_err(|error| failed(&path, error)),
    }
}

/// Returns the story of a frame.
fn explained(frame: u64, results: &Diagnosis) -> Result<String, Failure> {
    let frames = results.total().frames;
    if frame <= frames {
        return Ok(audit::story(frame, results));
    }
    Err(Failure::Input(match frames {
        0 => format!("--explain {frame}: the capture has no frames"),
        _ => format!("--explain {frame}: the capture has no such frame (accepted: 1 to {frames})"),
    }))
}

fn write_page(results: &Results, out: Destination) -> io::Result<()> {
    let page = html::page(&results.diagnosis, shown::origin())?.to_html();
    stop::shielded(|| out.write(page.as_bytes()))
}

/// Writes the files of the capture one after the other, as sections of one file.
fn write_annotated(capture: &Capture, path: &Path, out: Destination) -> Result<(), Failure> {
    // The failure of the copy, which is more specific than the write error.
    let mut ended = None;
    let written = stop::shielded(|| {
        out.fill(|into| {
            annotate::copy(capture, into).map_err(|reason| {
                ended = Some(reason);
                io::ErrorKind::Other.into()
            })
        })
    });
    match ended {
        Some(Unfinished::Opening(name, error)) => Err(Failure::Io {
            doing: format!("reading {name}"),
            error,
        }),
        Some(Unfinished::Reading(name, error)) => Err(Failure::Input(format!("{name} {error}"))),
        Some(Unfinished::Writing(error)) => Err(failed(path, error)),
        None => written.map_err(|error| failed(path, error)),
    }
}

/// Returns what the document repeats of the plan.
fn echo(plan: &Plan) -> Echo {
    Echo {
        captures: plan.inputs.iter().map(Input::name).collect(),
        fail_on: plan.fail_on.iter().map(|c| c.text().to_owned()).collect(),
        connection_limit: plan.parameters.connection_limit,
        finding_limit: plan.parameters.finding_limit,
    }
}
