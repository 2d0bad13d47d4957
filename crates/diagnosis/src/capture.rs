//! A capture, and what is found in it.

use std::io::{self, Read};

use tinygram_diagnose::{Analyzer, ConnectionReport, Parameters, Report};
use tinygram_wire::capture::CaptureError;

/// A capture and its findings.
pub struct Capture {
    /// The name for people.
    pub name: String,
    /// What was found; its connections count on from those of earlier captures.
    pub report: Report,
    /// The number of its first connection in the report.
    pub first_connection: u32,
    /// The reason why reading ended early, if it did.
    pub broken: Option<CaptureError>,
    /// The files that can be read again.
    pub sources: Vec<Source>,
    /// What is said beside the report.
    pub remarks: Vec<String>,
}

/// A file of a capture, which can be read again.
pub struct Source {
    /// The name for people.
    pub name: String,
    /// Opens it at its beginning.
    pub open: Open,
    /// The number of the capture's frames in earlier files.
    pub frames_before: u64,
}

/// Opens a file at its beginning.
pub type Open = Box<dyn Fn() -> io::Result<Box<dyn Read>> + Send>;

impl Capture {
    /// Returns a connection by its number in the report.
    pub fn connection(&self, id: u32) -> Option<&ConnectionReport> {
        let connections = &self.report.connections;
        let at = connections.binary_search_by_key(&id, |c| c.id).ok()?;
        Some(&connections[at])
    }
}

/// A capture on which work has begun.
pub struct Work {
    /// Takes the frames.
    pub analyzer: Analyzer,
    broken: Option<CaptureError>,
    sources: Vec<Source>,
    remarks: Vec<String>,
}

impl Work {
    /// Returns work on a capture of which nothing has been read.
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            analyzer: Analyzer::new(parameters.clone()),
            broken: None,
            sources: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Notes that the frames from here on are those of a file that can be read again.
    pub fn begins(&mut self, name: String, open: Open) {
        self.sources.push(Source {
            name,
            open,
            frames_before: self.analyzer.frames(),
        });
    }

    /// Notes that a file, which began after `before` frames, ended early.
    ///
    /// # Errors
    /// What to say if the file has no frame at all.
    pub fn ends_early(
        &mut self,
        name: &str,
        before: u64,
        error: CaptureError,
    ) -> Result<(), String> {
        let frames = self.analyzer.frames() - before;
        if frames == 0 {
            return Err(format!("{name} {error}"));
        }
        let before = match frames {
            1 => "the frame before is".to_owned(),
            _ => format!("the {frames} frames before are"),
        };
        self.remarks
            .push(format!("tinygram: {name} {error}; {before} reported"));
        self.broken = Some(error);
        Ok(())
    }

    /// Judges what is still open and returns the capture, which was read from files of these names.
    pub fn done(self, names: &[String]) -> Capture {
        let name = match names {
            [one] => one.clone(),
            [first, .., last] => format!("{first} to {last}"),
            [] => String::new(),
        };
        let mut report = self.analyzer.finish();
        report.summary.incomplete = self.broken.is_some();
        Capture {
            name,
            report,
            first_connection: 0,
            broken: self.broken,
            sources: self.sources,
            remarks: self.remarks,
        }
    }
}
