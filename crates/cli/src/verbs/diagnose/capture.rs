//! A capture, and what is found in it.

use std::path::PathBuf;

use tinygram_diagnose::{Analyzer, ConnectionReport, Report};
use tinygram_wire::capture::CaptureError;

use crate::exit::Failure;

/// Is called with the state of the analysis.
pub(super) type Tell<'a> = dyn FnMut(&Analyzer) -> Result<(), Failure> + 'a;

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
    /// What is said beside the report.
    pub(super) remarks: Vec<String>,
}

/// A file of a capture.
pub(super) struct Source {
    pub(super) path: PathBuf,
    /// The number of the capture's frames in earlier files.
    pub(super) frames_before: u64,
}

impl Capture {
    pub(super) fn connection(&self, id: u32) -> Option<&ConnectionReport> {
        let connections = &self.report.connections;
        let at = connections.binary_search_by_key(&id, |c| c.id).ok()?;
        Some(&connections[at])
    }
}
