//! The work on one capture: each of its files is read to its end, by all processors.

use std::io::Read;
use std::num::NonZero;
use std::thread;

use tinygram_diagnose::{Analyzer, Parameters};
use tinygram_wire::capture::{CaptureError, Reader};

use super::args::Format;
use super::capture::{Capture, Source, Tell};
use super::live;
use super::plan::Plan;
use crate::exit::Failure;
use crate::files::{self, Input};
use crate::terminal::Reading;

/// Analyses one capture, or the files of one ring buffer as one stream.
pub(super) fn analyse(inputs: &[Input], plan: &Plan, tell: &mut Tell) -> Result<Capture, Failure> {
    let mut capture = Work::new(&plan.parameters);
    for input in inputs {
        capture.add(input, |analyzer| read(input, plan, analyzer, tell))?;
    }
    Ok(capture.done(inputs))
}

/// A capture on which work has begun.
pub(super) struct Work {
    analyzer: Analyzer,
    broken: Option<CaptureError>,
    sources: Vec<Source>,
    remarks: Vec<String>,
}

impl Work {
    pub(super) fn new(parameters: &Parameters) -> Self {
        Self {
            analyzer: Analyzer::new(parameters.clone()),
            broken: None,
            sources: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Adds what `read` reads of an input; it returns why the input ended early, if it did.
    pub(super) fn add(
        &mut self,
        input: &Input,
        read: impl FnOnce(&mut Analyzer) -> Result<Option<CaptureError>, Failure>,
    ) -> Result<(), Failure> {
        let before = self.analyzer.frames();
        if let Input::File(path) = input {
            self.sources.push(Source {
                path: path.clone(),
                frames_before: before,
            });
        }
        if let Some(error) = read(&mut self.analyzer)? {
            let name = input.name();
            let frames = self.analyzer.frames() - before;
            if frames == 0 {
                return Err(Failure::Input(format!("{name} {error}")));
            }
            self.remarks.push(format!(
                "tinygram: {name} {error}; the {frames} frames before are reported"
            ));
            self.broken = Some(error);
        }
        Ok(())
    }

    pub(super) fn done(self, inputs: &[Input]) -> Capture {
        let name = match inputs {
            [one] => one.name(),
            [first, .., last] => format!("{} to {}", first.name(), last.name()),
            [] => String::new(),
        };
        Capture {
            name,
            report: self.analyzer.finish(),
            first_connection: 0,
            broken: self.broken,
            sources: self.sources,
            remarks: self.remarks,
        }
    }
}

/// Returns how many threads can work at once.
pub(super) fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Passes all frames to the analyzer; returns the reason why reading ended early, if it did.
fn read(
    input: &Input,
    plan: &Plan,
    analyzer: &mut Analyzer,
    tell: &mut Tell,
) -> Result<Option<CaptureError>, Failure> {
    let name = input.name();
    let failed = |error| Failure::Io {
        doing: format!("reading {name}"),
        error,
    };
    let silent = |_: &Analyzer| Ok(());
    // A live capture that is stopped may end inside a record.
    let is_no_stop =
        |error: &CaptureError| !(live::stopped() && matches!(error, CaptureError::CutOff { .. }));
    // The progress ends with its arm, before anything is said.
    Ok(match input {
        Input::File(path) => {
            let (file, size) = files::open(path).map_err(failed)?;
            let reading = Reading::of(size, name.clone());
            let source = reading.over(file);
            analyzer.read(source, processors()).err()
        }
        Input::Stdin if plan.format == Format::Text && plan.output.is_none() => {
            frames(live::stdin()?, analyzer, tell)?.filter(is_no_stop)
        }
        Input::Stdin => frames(live::stdin()?, analyzer, silent)?.filter(is_no_stop),
        Input::Given(once) => {
            let reading = Reading::of(None, name.clone());
            let source = reading.over(once.open().map_err(failed)?);
            frames(source, analyzer, silent)?
        }
    })
}

/// The same, in this thread, and calls `tell` after each frame.
fn frames(
    source: impl Read + 'static,
    analyzer: &mut Analyzer,
    mut tell: impl FnMut(&Analyzer) -> Result<(), Failure>,
) -> Result<Option<CaptureError>, Failure> {
    let mut reader = match Reader::new(source) {
        Ok(reader) => reader,
        Err(error) => return Ok(Some(error)),
    };
    loop {
        match reader.next_frame() {
            Ok(Some(frame)) => analyzer.frame(&frame),
            Ok(None) => return Ok(None),
            Err(error) => return Ok(Some(error)),
        }
        tell(analyzer)?;
    }
}
