//! The work on many captures: each processor takes the next one that nobody has taken.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tinygram_diagnose::{Analyzer, Parameters};
use tinygram_diagnosis::{Capture, Work};

use super::one_by_one::{self, processors};
use super::plan::Plan;
use crate::files::{self, Input};
use crate::heard;
use crate::outcome::Failure;
use crate::terminal::Reading;

/// Analyses all captures, if they are files and many. Returns what came of each, in their order; nothing if
/// they are better done one after the other, each by all processors.
pub(super) fn analyses(streams: &[&[Input]], plan: &Plan) -> Vec<Result<Capture, Failure>> {
    let threads = processors();
    let mut inputs = streams.iter().flat_map(|it| it.iter());
    let are_files = inputs.all(|it| matches!(it, Input::File(_)));
    // Whoever listens is told by the thread that asked.
    let is_heard = heard::listener().is_some();
    if threads < 2 || streams.len() < threads * FILES || !are_files || is_heard {
        return Vec::new();
    }
    let paths = || streams.iter().flat_map(|it| it.iter()).filter_map(path);
    let size = |path: &Path| std::fs::metadata(path).ok().map(|it| it.len());
    let reading = Reading::of(
        paths().map(size).sum(),
        format!("{} captures", streams.len()),
    );
    let parameters = &plan.parameters;
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(inputs) = streams.get(at)
        {
            done.push((at, analyse(inputs, parameters, &reading)));
        }
        done
    };
    let mut done: Vec<_> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            done.extend(
                other
                    .join()
                    .unwrap_or_else(|payload| std::panic::resume_unwind(payload)),
            );
        }
        done
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, capture)| capture).collect()
}

fn analyse(
    inputs: &[Input],
    parameters: &Parameters,
    reading: &Reading,
) -> Result<Capture, Failure> {
    let mut capture = Work::new(parameters);
    for input in inputs {
        one_by_one::add(&mut capture, input, |analyzer: &mut Analyzer| {
            let Some(path) = path(input) else {
                return Ok(None);
            };
            let (file, _) = files::open(path).map_err(|error| Failure::Io {
                doing: format!("reading {}", input.name()),
                error,
            })?;
            Ok(analyzer.read(reading.over(file), 1).err())
        })?;
    }
    Ok(one_by_one::done(capture, inputs))
}

fn path(input: &Input) -> Option<&Path> {
    match input {
        Input::File(path) => Some(path),
        Input::Stdin | Input::Given(_) => None,
    }
}

/// With fewer captures for each processor, the last ones would keep one alone.
const FILES: usize = 4;
