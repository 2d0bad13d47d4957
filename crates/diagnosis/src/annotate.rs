//! `--annotate`: the capture with packet comments, for Wireshark.

use std::collections::BTreeMap;
use std::io::{self, Write};

use tinygram_diagnose::{Facts, Finding};
use tinygram_stalls::ms;
use tinygram_wire::capture::{self, CaptureError};

use crate::capture::{Capture, Source};

/// The reason why a copy was not finished.
#[derive(Debug, thiserror::Error)]
pub enum Unfinished {
    /// A file of the capture, by its name, could not be opened again.
    #[error("reading {0}: {1}")]
    Opening(String, io::Error),
    /// A file of the capture, by its name, could not be read again.
    #[error("{0} {1}")]
    Reading(String, CaptureError),
    /// The copy could not be written.
    #[error("writing: {0}")]
    Writing(io::Error),
}

/// Copies the files of the capture one after the other, as sections of one file.
///
/// # Errors
/// [`Unfinished`] if a file cannot be read or the copy cannot be written.
pub fn copy(capture: &Capture, mut into: &mut dyn Write) -> Result<(), Unfinished> {
    let comments = comments(&capture.report.findings);
    for Source {
        name,
        open,
        frames_before,
    } in &capture.sources
    {
        let from = open().map_err(|error| Unfinished::Opening(name.clone(), error))?;
        let comment = |number: u64| comments.get(&(frames_before + number)).cloned();
        match capture::annotate(from, &mut into, comment) {
            Ok(()) => {}
            // What could be read was analysed and is copied; the user has been told why it ends
            // early.
            Err(_) if capture.broken.is_some() => {}
            Err(CaptureError::Io(error)) => return Err(Unfinished::Writing(error)),
            Err(error) => return Err(Unfinished::Reading(name.clone(), error)),
        }
    }
    Ok(())
}

/// Returns one comment per frame; a frame of several findings gets a line for each.
fn comments(findings: &[Finding]) -> BTreeMap<u64, String> {
    let mut comments: BTreeMap<u64, String> = BTreeMap::new();
    for (number, finding) in findings.iter().enumerate() {
        for (frame, said) in marks(finding) {
            let comment = comments.entry(frame).or_default();
            if !comment.is_empty() {
                comment.push('\n');
            }
            *comment += &format!(
                "tinygram finding {} ({}): {said}",
                number + 1,
                finding.kind.name()
            );
        }
    }
    comments
}

fn marks(finding: &Finding) -> Vec<(u64, String)> {
    let Facts::Hold(hold) = &finding.facts else {
        let (first, last) = (finding.frames[0].frame, finding.frames[1].frame);
        return vec![
            (
                first,
                format!("begins; the {} {}", finding.sender, finding.habit()),
            ),
            (last, "ends".to_owned()),
        ];
    };
    let mut marks = vec![(
        hold.trigger.frame,
        format!(
            "the {} {}; what follows this is held",
            finding.sender,
            finding.habit()
        ),
    )];
    if let Some(release) = hold.release {
        marks.push((
            release.frame,
            format!(
                "this ACK came {} late and released it",
                ms(hold.ack_wait_ns)
            ),
        ));
    }
    marks.push((
        hold.held.frame,
        format!("held for {}. {}", ms(finding.cost_ns), finding.advice()),
    ));
    marks
}
