//! Reads a capture (pcap or pcapng, also packed) and prints, for each direction of each connection, how many segments carried
//! how many octets, and how many of these segments were small.
//!
//! ```console
//! $ cargo run -p tinygram-wire --example small_segments -- corpus/flood-server.pcap
//! ```

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;

use tinygram_wire::capture::{CaptureError, Reader};
use tinygram_wire::decode;
use tinygram_wire::endpoint::Endpoint;

/// A segment below this many octets counts as small.
const SMALL: u32 = 200;

/// The segments with data of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) segments: u32,
    pub(crate) small: u32,
    pub(crate) octets: u64,
}

/// Two ends, the sender's first.
type Direction = (Endpoint, Endpoint);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("give a capture")?;
    for ((source, destination), counts) in count(File::open(path)?)? {
        println!(
            "{source} -> {destination}: {} octets in {} segments, {} of them below {SMALL}",
            counts.octets, counts.segments, counts.small
        );
    }
    Ok(())
}

/// Counts what a capture has. Frames that are no TCP are passed over; the end of a capture that is cut is an error.
pub(crate) fn count(
    capture: impl Read + 'static,
) -> Result<BTreeMap<Direction, Counts>, CaptureError> {
    let mut counts: BTreeMap<Direction, Counts> = BTreeMap::new();
    let mut reader = Reader::new(capture)?;
    while let Some(frame) = reader.next_frame()? {
        let Some(segment) = decode::segment(&frame) else {
            continue;
        };
        if segment.payload > 0 {
            let of = counts.entry((segment.source, segment.destination));
            let of = of.or_default();
            of.segments += 1;
            of.small += u32::from(segment.payload < SMALL);
            of.octets += u64::from(segment.payload);
        }
    }
    Ok(counts)
}
