//! `--annotate`: the capture with packet comments, for Wireshark.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use tinygram_diagnose::{Facts, Finding};
use tinygram_report::Destination;
use tinygram_stalls::ms;
use tinygram_wire::capture;

use super::super::results::{Capture, Source};
use crate::exit::Failure;
use crate::files::failed;
use crate::interrupt;

/// Writes the files of the capture one after the other, as sections of one file.
pub(super) fn write(capture: &Capture, path: &Path, out: Destination) -> Result<(), Failure> {
    // The failure of the copy, which is more specific than the write error.
    let mut ended = None;
    let written = interrupt::shielded(|| {
        out.fill(|into| {
            copy(capture, path, into).map_err(|failure| {
                ended = Some(failure);
                io::ErrorKind::Other.into()
            })
        })
    });
    match ended {
        Some(failure) => Err(failure),
        None => written.map_err(|error| failed(path, error)),
    }
}

fn copy(capture: &Capture, out: &Path, mut into: &mut dyn Write) -> Result<(), Failure> {
    let comments = comments(&capture.report.findings);
    for Source {
        path,
        frames_before,
    } in &capture.sources
    {
        let from = File::open(path).map_err(|error| Failure::Io {
            doing: format!("reading {}", path.display()),
            error,
        })?;
        let comment = |number: u64| comments.get(&(frames_before + number)).cloned();
        match capture::annotate(from, &mut into, comment) {
            Ok(()) => {}
            // What could be read was analysed and is copied; the user has been told why it ends
            // early.
            Err(_) if capture.broken.is_some() => {}
            Err(capture::CaptureError::Io(error)) => return Err(failed(out, error)),
            Err(error) => return Err(Failure::Input(format!("{} {error}", path.display()))),
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
