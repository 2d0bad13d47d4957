//! The second reading of a capture: the segments around a finding, for plots.

use tinygram_diagnose::{Finding, Side};
use tinygram_engine::Flags;
use tinygram_wire::capture::Reader;
use tinygram_wire::decode;
use tinygram_wire::endpoint::Endpoint;

use crate::capture::Capture;

/// The segments of one connection in a span of time.
pub struct Excerpt<'a> {
    /// The finding.
    pub finding: &'a Finding,
    /// The beginning, in nanoseconds since the epoch.
    pub from_ns: i64,
    /// The end, in nanoseconds since the epoch.
    pub to_ns: i64,
    sender: Endpoint,
    receiver: Endpoint,
    /// The segments, in the order of the capture.
    pub dots: Vec<Dot>,
}

/// One segment.
pub struct Dot {
    /// The number of its frame.
    pub frame: u64,
    /// When it was captured, in nanoseconds since the epoch.
    pub time_ns: i64,
    /// Whether the finding's sender sent it, instead of its peer.
    pub by_sender: bool,
    /// The sequence number of its first byte.
    pub seq: u32,
    /// Its payload, in bytes.
    pub len: u32,
    /// The acknowledgment number, if it has one.
    pub ack: Option<u32>,
}

impl<'a> Excerpt<'a> {
    /// Returns an empty trace around a stall, with a third of its length before and after it.
    pub fn around(capture: &Capture, finding: &'a Finding) -> Option<Self> {
        let connection = capture.connection(finding.connection)?;
        let end_ns = finding.frames.last()?.time_ns;
        let margin_ns = ((end_ns - finding.start_ns) / 3).max(1_000_000);
        Some(Self {
            finding,
            from_ns: finding.start_ns - margin_ns,
            to_ns: end_ns + margin_ns,
            sender: connection.end(finding.sender),
            receiver: connection.end(finding.sender.other()),
            dots: Vec::new(),
        })
    }

    /// Returns an empty trace for the whole of a direction of a connection.
    pub fn whole(capture: &Capture, finding: &'a Finding) -> Option<Self> {
        let connection = capture.connection(finding.connection)?;
        Some(Self {
            finding,
            from_ns: connection.first_ns,
            to_ns: connection.last_ns,
            sender: connection.end(finding.sender),
            receiver: connection.end(finding.sender.other()),
            dots: Vec::new(),
        })
    }

    /// Returns the side that sent what was held.
    pub fn sender_side(&self) -> Side {
        self.finding.sender
    }

    fn takes(&self, source: Endpoint, destination: Endpoint, time_ns: i64) -> Option<bool> {
        if !(self.from_ns..=self.to_ns).contains(&time_ns) || self.dots.len() >= DOTS {
            return None;
        }
        match (source, destination) {
            ends if ends == (self.sender, self.receiver) => Some(true),
            ends if ends == (self.receiver, self.sender) => Some(false),
            _ => None,
        }
    }
}

/// Fills the traces from the capture. Damage ends the reading; it was reported at the first
/// reading.
///
/// # Errors
/// Those of opening the capture again.
pub fn fill(capture: &Capture, traces: &mut [Excerpt<'_>]) -> std::io::Result<()> {
    for source in &capture.sources {
        let Ok(mut reader) = Reader::new((source.open)()?) else {
            continue;
        };
        while let Ok(Some(frame)) = reader.next_frame() {
            let Some(segment) = decode::segment(&frame) else {
                continue;
            };
            for trace in &mut *traces {
                let taken = trace.takes(segment.source, segment.destination, frame.time_ns);
                if let Some(by_sender) = taken {
                    trace.dots.push(Dot {
                        frame: source.frames_before + frame.number,
                        time_ns: frame.time_ns,
                        by_sender,
                        seq: segment.seq,
                        len: segment.payload,
                        ack: segment.flags.any(Flags::ACK).then_some(segment.ack),
                    });
                }
            }
        }
    }
    Ok(())
}

/// The most segments in a plot; with more, it would be black.
const DOTS: usize = 20_000;
