//! A tunnel around a capture changes nothing: what is found inside every tunnel that is read is what is found
//! without it, to the nanosecond.

#[path = "../../wire/tests/wraps/mod.rs"]
mod wraps;

use std::fs::File;
use std::path::Path;

use tinygram_diagnose::{Analyzer, Parameters, Report};
use tinygram_wire::capture::{Frame, LinkType, Reader};
use wraps::{WRAPS, Wrap};

/// Stalls and floods of all kinds, both families, a path, loss, and what only seems to be a stall.
const CAPTURES: [&str; 16] = [
    "buffer-tearing",
    "cork-held",
    "flood-server",
    "idle-restart",
    "loss",
    "odd-full-short-final-far",
    "periodic-41ms-nodelay",
    "short-initial-segment",
    "slow-start-delayed-ack",
    "small-receive-buffer",
    "vpn-late-acks",
    "wwr-client-v6",
    "wwr-jumbo",
    "wwr-port-reuse",
    "wwr-rtt20-far",
    "zero-window",
];

/// A frame of a capture: its time, what was captured of it, and its length on the wire.
struct Kept {
    time_ns: i64,
    bytes: Vec<u8>,
    wire_len: usize,
}

fn frames(name: &str) -> Vec<Kept> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let file = File::open(folder.join(name).with_extension("pcap")).expect(name);
    let mut reader = Reader::new(file).expect(name);
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().expect(name) {
        frames.push(Kept {
            time_ns: frame.time_ns,
            bytes: frame.data.to_vec(),
            wire_len: frame.wire_len as usize,
        });
    }
    frames
}

impl Kept {
    /// The frame in a tunnel, captured as far as the frame alone was.
    fn within(&self, wrap: Wrap) -> Self {
        let mut whole = self.bytes.clone();
        whole.resize(self.wire_len, 0);
        let mut bytes = wrap(&whole);
        let wire_len = bytes.len();
        bytes.truncate(self.bytes.len() + wire_len - self.wire_len);
        Self {
            time_ns: self.time_ns,
            bytes,
            wire_len,
        }
    }
}

fn diagnose(frames: impl Iterator<Item = Kept>) -> Report {
    let mut analyzer = Analyzer::new(Parameters::default());
    for (number, frame) in frames.enumerate() {
        analyzer.frame(&Frame {
            number: number as u64 + 1,
            time_ns: frame.time_ns,
            link: LinkType::ETHERNET,
            data: &frame.bytes,
            wire_len: frame.wire_len as u32,
        });
    }
    analyzer.finish()
}

fn as_it_is(frame: &[u8]) -> Vec<u8> {
    frame.to_vec()
}

#[test]
fn what_is_found_in_a_tunnel_is_what_is_found_without_it() {
    let mut stalls = 0;
    for name in CAPTURES {
        let frames = frames(name);
        let found = |wrap: Wrap| {
            let report = diagnose(frames.iter().map(|frame| frame.within(wrap)));
            (format!("{report:#?}"), report.summary.stalls)
        };
        let (plain, of_these) = found(as_it_is);
        stalls += of_these;
        for (tunnel, wrap) in WRAPS {
            let (wrapped, _) = found(wrap);
            let differs = plain.lines().zip(wrapped.lines()).find(|(a, b)| a != b);
            assert!(plain == wrapped, "{name} in {tunnel}: {differs:?}");
        }
    }
    assert!(stalls >= 60, "{stalls} stalls are too few to tell");
}
