//! Programs that the atlas has rows of, recognised by what the accused ends of a capture say of themselves.

use std::collections::BTreeSet;

use tinygram_stalls::{Program, Side};
use tinygram_wire::capture::Reader;
use tinygram_wire::decode;
use tinygram_wire::endpoint::Endpoint;

use crate::capture::Capture;
use crate::results::Diagnosis;

/// An accused end, and the program that it perhaps is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Perhaps {
    /// The end: a server with its port, a client without.
    pub end: String,
    /// The program.
    pub program: Program,
}

/// Returns who the accused ends perhaps are. What came in while it was read is not read again, so of that nothing is known.
pub fn perhaps(results: &Diagnosis) -> Vec<Perhaps> {
    let mut found = Vec::new();
    for capture in &results.captures {
        let mut ends = accused(capture);
        if !ends.is_empty() {
            recognise(capture, &mut ends, &mut found);
        }
    }
    found
}

/// Returns the ends that are to change something; the port of a client is of no importance.
fn accused(capture: &Capture) -> BTreeSet<(Side, String)> {
    let findings = capture.report.findings.iter();
    findings
        .filter(|finding| finding.tier().accuses())
        .filter_map(|finding| {
            let connection = capture.connection(finding.connection)?;
            Some((
                finding.blame,
                name(finding.blame, connection.end(finding.blame)),
            ))
        })
        .collect()
}

/// Reads the capture's first frames again, until each end is recognised; damage was reported at the first reading.
fn recognise(capture: &Capture, ends: &mut BTreeSet<(Side, String)>, found: &mut Vec<Perhaps>) {
    let mut left = FRAMES;
    for source in &capture.sources {
        let Some(mut reader) = (source.open)().ok().and_then(|it| Reader::new(it).ok()) else {
            continue;
        };
        while let Ok(Some(frame)) = reader.next_frame() {
            if left == 0 || ends.is_empty() {
                return;
            }
            left -= 1;
            let Some(segment) = decode::segment(&frame).filter(|it| it.payload > 0) else {
                continue;
            };
            for side in [Side::Server, Side::Client] {
                let end = (side, name(side, segment.source));
                if ends.contains(&end)
                    && let Some(program) = Program::of_octets(frame.data, side)
                {
                    ends.remove(&end);
                    let end = end.1;
                    found.push(Perhaps { end, program });
                }
            }
        }
    }
}

fn name(side: Side, end: Endpoint) -> String {
    match side {
        Side::Server => end.to_string(),
        Side::Client => end.address().to_string(),
    }
}

/// A program says who it is where a connection begins, or in each message.
const FRAMES: u32 = 100_000;
