//! The work on one capture: each of its files is read to its end, by all processors.

use std::fs::File;
use std::io::Read;
use std::num::NonZero;
use std::thread;

use tinygram_diagnose::Analyzer;
use tinygram_diagnosis::{Capture, Work};
use tinygram_wire::capture::{CaptureError, Reader};

use super::args::Format;
use super::live;
use super::plan::Plan;
use crate::files::{self, Input};
use crate::outcome::Failure;
use crate::stop;
use crate::terminal::Reading;

/// Is called with the state of the analysis.
pub(super) type Tell<'a> = dyn FnMut(&Analyzer) -> Result<(), Failure> + 'a;

/// Analyses one capture, or the files of one ring buffer as one stream.
pub(super) fn analyse(inputs: &[Input], plan: &Plan, tell: &mut Tell) -> Result<Capture, Failure> {
    let mut capture = Work::new(&plan.parameters);
    for input in inputs {
        add(&mut capture, input, |analyzer| {
            read(input, plan, analyzer, tell)
        })?;
    }
    Ok(done(capture, inputs))
}

/// Adds what `read` reads of an input; it returns why the input ended early, if it did.
pub(super) fn add(
    capture: &mut Work,
    input: &Input,
    read: impl FnOnce(&mut Analyzer) -> Result<Option<CaptureError>, Failure>,
) -> Result<(), Failure> {
    let before = capture.analyzer.frames();
    if let Input::File(path) = input {
        let path = path.clone();
        let open = move || Ok(Box::new(File::open(&path)?) as Box<dyn Read>);
        capture.begins(input.name(), Box::new(open));
    }
    if let Some(error) = read(&mut capture.analyzer)? {
        let said = capture.ends_early(&input.name(), before, error);
        said.map_err(Failure::Input)?;
    }
    Ok(())
}

/// Returns the capture that was read from these inputs.
pub(super) fn done(capture: Work, inputs: &[Input]) -> Capture {
    let names: Vec<_> = inputs.iter().map(Input::name).collect();
    capture.done(&names)
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
    let is_no_stop = |error: &CaptureError| !(stop::is_asked() && error.is_cut_off());
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

/// Reads the same in this thread, and calls `tell` after each frame.
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
