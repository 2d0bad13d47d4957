//! Programs that the atlas has rows of, recognised by what the accused ends of a capture say of themselves.

use std::collections::BTreeMap;

use memchr::memmem::Finder;
use tinygram_stalls::{Program, Side, is_said};
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
    let banners = Banners::of_all();
    let mut found = Vec::new();
    for capture in &results.captures {
        let mut ends = accused(capture);
        if !ends.is_empty() {
            recognise(capture, &banners, &mut ends, &mut found);
        }
    }
    found
}

/// What all programs say of themselves.
struct Banners(Vec<(Program, &'static str, Finder<'static>)>);

impl Banners {
    fn of_all() -> Self {
        let of_one = |program: Program| {
            let banners = program.banners();
            banners.map(move |banner| (program, banner, Finder::new(banner)))
        };
        Self(Program::all().flat_map(of_one).collect())
    }

    /// Returns the program that says of itself what stands in these octets of this side's.
    fn program(&self, octets: &[u8], side: Side) -> Option<Program> {
        let mut of_the_side = self.0.iter().filter(|(it, ..)| it.side == side);
        let said = of_the_side.find(|(_, banner, finder)| {
            let mut places = finder.find_iter(octets);
            places.any(|at| is_said(banner, octets, at))
        });
        said.map(|(program, ..)| *program)
    }
}

/// The ends that are to change something, and how many segments of each may still be looked at.
type Ends = BTreeMap<(Side, Endpoint), u32>;

fn accused(capture: &Capture) -> Ends {
    let findings = capture.report.findings.iter();
    findings
        .filter(|finding| finding.tier().accuses())
        .filter_map(|finding| {
            let connection = capture.connection(finding.connection)?;
            let end = end(finding.blame, connection.end(finding.blame));
            Some(((finding.blame, end), LOOKS))
        })
        .collect()
}

/// Reads the capture's first frames again, until nothing more is to be looked at; damage was reported at the first reading.
fn recognise(capture: &Capture, banners: &Banners, ends: &mut Ends, found: &mut Vec<Perhaps>) {
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
                let end = end(side, segment.source);
                let Some(looks) = ends.get_mut(&(side, end)) else {
                    continue;
                };
                *looks -= 1;
                let is_last = *looks == 0;
                let begin = &frame.data[..frame.data.len().min(HEAD)];
                let program = banners.program(begin, side);
                found.extend(program.map(|program| Perhaps {
                    end: name(side, end),
                    program,
                }));
                if is_last || program.is_some() {
                    ends.remove(&(side, end));
                }
            }
        }
    }
}

/// Returns an end as it is told apart: the port of a client is of no importance.
fn end(side: Side, end: Endpoint) -> Endpoint {
    match side {
        Side::Server => end,
        Side::Client => Endpoint { port: 0, ..end },
    }
}

fn name(side: Side, end: Endpoint) -> String {
    match side {
        Side::Server => end.to_string(),
        Side::Client => end.address().to_string(),
    }
}

/// How many frames are read again: a program says who it is where a connection begins, or in each message.
const FRAMES: u32 = 100_000;
/// How many segments with data are looked at of one end: who has not said it by then does not say it.
const LOOKS: u32 = 100;
/// The octets of a frame in which a greeting or a head stands.
const HEAD: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;

    /// What is recognised is one program's alone.
    #[test]
    fn no_two_programs_say_the_same() {
        let all = Banners::of_all();
        for (program, banner, _) in &all.0 {
            let said = format!("\r\n{banner}\r\n");
            let found = all.program(said.as_bytes(), program.side);
            assert_eq!(found, Some(*program), "{banner}");
            let mut others = Banners::of_all();
            others.0.retain(|(it, ..)| it != program);
            assert_eq!(
                others.program(said.as_bytes(), program.side),
                None,
                "{banner}"
            );
        }
    }

    #[test]
    fn a_field_begins_a_line_and_is_of_its_side() {
        let all = Banners::of_all();
        let head = b"HTTP/1.1 200 OK\r\nServer: Jetty(12.0.16)\r\n\r\n";
        let found = all.program(head, Side::Server).expect("Jetty");
        assert_eq!((found.id, found.name), ("jetty", "Jetty"));
        assert_eq!(found.page().to_string(), "atlas/pages/jetty.md");
        assert_eq!(all.program(head, Side::Client), None);
        let within = b"X: Server: Jetty(12.0.16)\r\n";
        assert_eq!(all.program(within, Side::Server), None);
    }
}
