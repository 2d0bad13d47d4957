//! A simulated run as a capture: what a tap at one host saw, as packets and as tcpdump's text.
//!
//! The payload is zeros, because the simulator has none. Times are virtual and start at
//! [`EPOCH_S`]. Nothing is added: a run that starts with an open connection shows no opening.

mod kept;

pub(crate) use kept::{Kept, placed, print};

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use clap::ValueEnum;
use tinygram_engine::{Flags, Instant};
use tinygram_sim::medium::{MediumFrame, Side};
use tinygram_wire::capture::{Frame, LinkType, PcapngWriter};
use tinygram_wire::encode::{Path, encode};
use tinygram_wire::sequence::{Numbering, Sequence};
use tinygram_wire::tcpdump::Line;

/// Where the tap is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CaptureAt {
    /// Where the data comes from: frames as they leave, ACKs as they arrive
    Sender,
    /// Where the data goes
    Receiver,
}

impl CaptureAt {
    /// Returns the host, if `sender` sends the data.
    pub(crate) fn side(self, sender: Side) -> Side {
        match self {
            Self::Sender => sender,
            Self::Receiver => sender.other(),
        }
    }
}

/// Writes the frames with their senders as pcapng: raw IP, with nanoseconds. The first frame
/// carries `comment`.
pub(crate) fn write_pcapng(
    seen: &[(Side, MediumFrame)],
    comment: &str,
    into: &mut dyn Write,
) -> io::Result<()> {
    let mut writer = PcapngWriter::new(into)?;
    let mut scales = Scales::default();
    let zeros = [0; u16::MAX as usize];
    let mut packet = Vec::new();
    for (number, (from, frame)) in seen.iter().enumerate() {
        let ends = ends(frame).map(SocketAddr::from);
        let [source, destination] = [*from, from.other()].map(|side| ends[side.index()]);
        let path = Path::new(source, destination).expect("both are of IPv4");
        let numbering = Numbering {
            data: NUMBERS[from.index()],
            acks: NUMBERS[from.other().index()],
            window_shift: scales.shift(*from, frame),
        };
        let payload = &zeros[..frame.segment.len as usize];
        encode(&path, &numbering, &frame.segment, payload, &mut packet);
        let captured = Frame {
            number: number as u64 + 1,
            time_ns: time_ns(frame.at),
            link: LinkType::RAW,
            data: &packet,
            wire_len: packet.len() as u32,
        };
        writer.frame(&captured, if number == 0 { comment } else { "" })?;
    }
    Ok(())
}

/// Writes the frames as `tcpdump -n` would print them, a line per segment.
pub(crate) fn write_text(seen: &[(Side, MediumFrame)], into: &mut dyn Write) -> io::Result<()> {
    for (from, frame) in seen {
        let ends = ends(frame);
        let line = Line {
            time_ns: time_ns(frame.at),
            source: ends[from.index()].into(),
            destination: ends[from.other().index()].into(),
            segment: &frame.segment,
        };
        writeln!(into, "{line}")?;
    }
    Ok(())
}

fn time_ns(at: Instant) -> i64 {
    EPOCH_S * 1_000_000_000 + at.as_nanos() as i64
}

/// Returns client and server of the frame's connection. Each socket has its own server port, and
/// each generation of a socket its own client port.
fn ends(frame: &MediumFrame) -> [SocketAddr; 2] {
    let (port, host) = (frame.generation % PORTS, frame.generation / PORTS % HOSTS);
    let client = Ipv4Addr::new(198, 51, 100, 1 + host as u8);
    let server = Ipv4Addr::new(192, 0, 2, 1);
    [
        SocketAddr::new(IpAddr::V4(client), FIRST_CLIENT_PORT + port as u16),
        SocketAddr::new(IpAddr::V4(server), FIRST_SERVER_PORT + frame.socket as u16),
    ]
}

/// The window scales that connections agreed on, as far as their SYNs were seen (RFC 7323, section
/// 2.2).
#[derive(Default)]
struct Scales(BTreeMap<(u32, u32), [Option<u8>; 2]>);

impl Scales {
    /// Returns the window shift of this frame's sender.
    fn shift(&mut self, from: Side, frame: &MediumFrame) -> u8 {
        let key = (frame.socket, frame.generation);
        if frame.segment.flags.has(Flags::SYN) {
            let announced = self.0.entry(key).or_default();
            announced[from.index()] = frame.segment.options.window_scale;
        }
        match self.0.get(&key) {
            Some([Some(client), Some(server)]) => [*client, *server][from.index()],
            _ => 0,
        }
    }
}

/// 2000-01-01T00:00:00Z, the start of virtual time, so that the time of day is the time of the run.
const EPOCH_S: i64 = 946_684_800;
/// The initial sequence numbers of client and server.
const NUMBERS: [Sequence; 2] = [Sequence::new(1_000_000_000), Sequence::new(2_000_000_000)];
/// The clients' ports, which are the dynamic ones (RFC 6335, section 6), and the number of client
/// addresses, which are for documentation (RFC 5737).
const FIRST_CLIENT_PORT: u16 = 49_152;
const PORTS: u32 = 16_384;
const HOSTS: u32 = 254;
/// From this port on Wireshark assumes no protocol, so it does not try to parse the zeros.
const FIRST_SERVER_PORT: u16 = 5001;
