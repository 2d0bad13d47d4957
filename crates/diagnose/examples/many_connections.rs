//! Writes a capture of many connections for the benchmark: requests and answers of several
//! segments, here and there a write-write-read that stalls, 96 bytes of each frame.
//!
//!     many_connections OUT.pcap PACKETS CONNECTIONS [ALIVE]
//!
//! ALIVE connections are open at once (default 2000).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufWriter, Write};

use tinygram_wire::capture::{Frame, LinkType, PcapWriter};

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| {
        args.get(at)
            .map_or(default, |a| a.parse().expect("a number"))
    };
    let out = args.first().expect("OUT.pcap PACKETS CONNECTIONS [ALIVE]");
    let (packets, connections, alive) = (number(1, 4_000_000), number(2, 25_000), number(3, 2_000));
    let mut into = BufWriter::with_capacity(1 << 20, File::create(out)?);
    let mut writer = PcapWriter::new(&mut into, LinkType::ETHERNET, 96)?;
    let each = packets / connections;
    let mut due = BinaryHeap::new();
    let mut talks: Vec<Talk> = Vec::new();
    let start_ns = 1_700_000_000_000_000_000;
    for id in 0..alive.min(connections) {
        talks.push(Talk::new(id, each));
        due.push(Reverse((start_ns + id as i64 * 10_000, id as usize)));
    }
    while let Some(Reverse((now_ns, at))) = due.pop() {
        let wait_ns = talks[at].step(&mut writer, now_ns)?;
        if let Some(wait_ns) = wait_ns {
            due.push(Reverse((now_ns + wait_ns, at)));
        } else if (talks.len() as u64) < connections {
            let id = talks.len() as u64;
            talks.push(Talk::new(id, each));
            due.push(Reverse((now_ns + 50_000, id as usize)));
        }
    }
    into.flush()
}

/// One connection: what it has sent, and which packet of its script is next.
struct Talk {
    id: u64,
    left: u64,
    step: usize,
    seq: [u32; 2],
}

const SYN: u8 = 2;
const ACK: u8 = 16;
const PUSH: u8 = 24;
const FIN: u8 = 17;

/// The sender, the flags, the payload, and the pause after it in microseconds.
type Packet = (usize, u8, u32, i64);

const OPEN: [Packet; 3] = [(0, SYN, 0, 200), (1, SYN | ACK, 0, 40), (0, ACK, 0, 60)];
const ASK: [Packet; 7] = [
    (0, PUSH, 200, 150),
    (1, ACK, 0, 400),
    (1, ACK, 1448, 10),
    (1, ACK, 1448, 40),
    (0, ACK, 0, 10),
    (1, PUSH, 700, 30),
    (0, ACK, 0, 3_000),
];
const STALL: [Packet; 7] = [
    (0, PUSH, 46, 41_000),
    (1, ACK, 0, 40),
    (0, PUSH, 50, 150),
    (1, ACK, 0, 20),
    (1, PUSH, 300, 40),
    (0, ACK, 0, 3_000),
    (0, ACK, 0, 3_000),
];
const CLOSE: [Packet; 3] = [(0, FIN, 0, 150), (1, FIN, 0, 40), (0, ACK, 0, 0)];

impl Talk {
    fn new(id: u64, packets: u64) -> Self {
        Self {
            id,
            left: packets.max(6),
            step: 0,
            seq: [7919, 104_729].map(|step| (id as u32).wrapping_mul(step)),
        }
    }

    /// Writes the next packet; returns the time until the one after it.
    fn step(
        &mut self,
        into: &mut PcapWriter<impl Write>,
        now_ns: i64,
    ) -> std::io::Result<Option<i64>> {
        let (from, flags, payload, pause_us) = match (self.left, self.step) {
            (1..=3, _) => CLOSE[3 - self.left as usize],
            (_, step @ 0..3) => OPEN[step],
            (_, step) => {
                let round = (step - 3) / 7;
                let stalls = self.id.is_multiple_of(10) && round % 5 == 3;
                let script = if stalls { STALL } else { ASK };
                script[(step - 3) % 7]
            }
        };
        self.step += 1;
        self.left -= 1;
        let bytes = self.bytes(from, flags, payload, now_ns);
        into.frame(&Frame {
            number: 0,
            time_ns: now_ns,
            link: LinkType::ETHERNET,
            data: &bytes,
            wire_len: 66 + payload,
        })?;
        self.seq[from] = self.seq[from].wrapping_add(payload + u32::from(flags & 3 != 0));
        Ok((self.left > 0).then_some(pause_us * 1_000))
    }

    fn bytes(&self, from: usize, flags: u8, payload: u32, now_ns: i64) -> Vec<u8> {
        let mut b = vec![0_u8; (66 + payload as usize).min(96)];
        b[12..14].copy_from_slice(&[8, 0]);
        b[14] = 0x45;
        b[16..18].copy_from_slice(&(52 + payload as u16).to_be_bytes());
        (b[22], b[23]) = (64, 6);
        let hosts = [
            0x0a00_0001 | ((self.id as u32 / 50_000) << 8),
            0xc0a8_0000 | (self.id as u32 % 200),
        ];
        let ports = [10_000 + (self.id % 50_000) as u16, 80];
        b[26..30].copy_from_slice(&hosts[from].to_be_bytes());
        b[30..34].copy_from_slice(&hosts[1 - from].to_be_bytes());
        b[34..36].copy_from_slice(&ports[from].to_be_bytes());
        b[36..38].copy_from_slice(&ports[1 - from].to_be_bytes());
        b[38..42].copy_from_slice(&self.seq[from].to_be_bytes());
        b[42..46].copy_from_slice(&self.seq[1 - from].to_be_bytes());
        (b[46], b[47]) = (0x80, flags);
        b[48..50].copy_from_slice(&60_000_u16.to_be_bytes());
        b[54..58].copy_from_slice(&[1, 1, 8, 10]);
        b[58..62].copy_from_slice(&((now_ns / 1_000_000) as u32).to_be_bytes());
        b
    }
}
