//! The work: sends each capture through its own analyzer.

use std::io::Read;
use std::path::PathBuf;
use std::thread;

use tinygram_diagnose::{
    Analyzer, ConnectionReport, Finding, Obstacles, Parameters, Report, Summary, Verdict,
};
use tinygram_wire::ahead;
use tinygram_wire::capture::{CaptureError, Reader};

use super::args::Format;
use super::fail_on::Condition;
use super::live;
use super::plan::Plan;
use crate::exit::Failure;
use crate::files::{self, Input};
use crate::terminal::{self, Reading};

/// Is called with the state of the analysis.
pub(super) type Tell<'a> = dyn FnMut(&Analyzer) -> Result<(), Failure> + 'a;

pub(super) struct Results {
    pub(super) captures: Vec<Capture>,
    /// Why captures that were to be read are not among them.
    pub(super) unread: Vec<Failure>,
}

/// A capture and its findings.
pub(super) struct Capture {
    pub(super) name: String,
    pub(super) report: Report,
    /// The number of its first connection in the report.
    pub(super) first_connection: u32,
    /// The reason why reading ended early, if it did.
    pub(super) broken: Option<CaptureError>,
    /// The files that can be read again.
    pub(super) sources: Vec<Source>,
}

/// A file of a capture.
pub(super) struct Source {
    pub(super) path: PathBuf,
    /// The number of the capture's frames in earlier files.
    pub(super) frames_before: u64,
}

impl Results {
    /// Analyses the captures that the plan names. If a capture comes in while it is read, `tell` is
    /// called after each frame.
    pub(super) fn of(plan: &Plan, tell: &mut Tell) -> Result<Self, Failure> {
        let mut captures: Vec<Capture> = Vec::new();
        let mut unread = Vec::new();
        let streams = super::ring::streams(&plan.inputs, Input::name);
        let several = streams.len() + plan.unread.len() > 1;
        for inputs in streams {
            let seen = captures.iter().map(|c| c.report.summary.connections).sum();
            match analyse(inputs, plan, seen, tell) {
                Ok(capture) => captures.push(capture),
                // Files are read to the end of the list; what comes in while it is read is told meanwhile,
                // and then a failure may be that nobody hears.
                Err(failure) if several && !matches!(inputs, [Input::Stdin]) => {
                    unread.push(failure);
                }
                Err(failure) => return Err(failure),
            }
        }
        match unread.pop() {
            Some(last) if captures.is_empty() => {
                unread.iter().for_each(Failure::say);
                Err(last)
            }
            last => {
                unread.extend(last);
                Ok(Self { captures, unread })
            }
        }
    }

    pub(super) fn total(&self) -> Summary {
        let mut total = Summary::default();
        for Capture { report, .. } in &self.captures {
            total += &report.summary;
        }
        total
    }

    /// Returns the captures for which no verdict is possible, and why.
    pub(super) fn untold(&self) -> impl Iterator<Item = (&Capture, Obstacles)> {
        self.captures
            .iter()
            .filter_map(|capture| match capture.report.summary.verdict() {
                Verdict::CannotTell(obstacles) => Some((capture, obstacles)),
                Verdict::Stalls { .. } | Verdict::None => None,
            })
    }

    /// Returns whether one of the plan's conditions holds.
    pub(super) fn meets(&self, condition: &Condition) -> bool {
        let of_kind = |kind| self.findings().filter(|(_, it)| it.kind == kind).count();
        condition.holds(&self.total(), of_kind)
    }

    pub(super) fn findings(&self) -> impl Iterator<Item = (&Capture, &Finding)> {
        self.captures
            .iter()
            .flat_map(|c| c.report.findings.iter().map(move |f| (c, f)))
    }
}

impl Capture {
    pub(super) fn connection(&self, id: u32) -> Option<&ConnectionReport> {
        let connections = &self.report.connections;
        let at = connections.binary_search_by_key(&id, |c| c.id).ok()?;
        Some(&connections[at])
    }
}

/// Analyses one capture, or the files of one ring buffer as one stream.
fn analyse(
    inputs: &[Input],
    plan: &Plan,
    first_connection: u32,
    tell: &mut Tell,
) -> Result<Capture, Failure> {
    let mut analyzer = Analyzer::new(Parameters {
        first_connection,
        ..plan.parameters.clone()
    });
    let mut broken = None;
    let mut sources = Vec::new();
    for input in inputs {
        if let Input::File(path) = input {
            sources.push(Source {
                path: path.clone(),
                frames_before: analyzer.frames(),
            });
        }
        broken = read(input, plan, &mut analyzer, tell)?.or(broken);
    }
    let name = match inputs {
        [one] => one.name(),
        [first, .., last] => format!("{} to {}", first.name(), last.name()),
        [] => String::new(),
    };
    Ok(Capture {
        name,
        report: analyzer.finish(),
        first_connection,
        broken,
        sources,
    })
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
    let before = analyzer.frames();
    // The progress ends with its arm, before anything is said.
    let broken = match input {
        Input::File(path) => {
            let (file, size) = files::open(path).map_err(failed)?;
            let reading = Reading::of(size, name.clone());
            let source = reading.over(file);
            match thread::available_parallelism() {
                Ok(processors) if processors.get() > 1 => {
                    ahead::each(source, |frame| analyzer.decoded(frame)).err()
                }
                _ => frames(source, analyzer, silent)?,
            }
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
    };
    if let Some(error) = &broken {
        let frames = analyzer.frames() - before;
        if frames == 0 {
            return Err(Failure::Input(format!("{name} {error}")));
        }
        terminal::remark(&format!(
            "tinygram: {name} {error}; the {frames} frames before are reported"
        ));
    }
    Ok(broken)
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
