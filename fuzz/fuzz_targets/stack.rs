//! A stack's core under arbitrary packets and calls: it never panics, memory stays bounded, and what
//! it sends is well formed.

#![no_main]

use std::io::IoSlice;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::task::{Context, Poll, Waker};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use tinygram_engine::{Duration, Flags, Instant, Timestamps};
use tinygram_tcp::Abilities;
use tinygram_tcp::SocketOptions;
use tinygram_tcp::{Batch, Core};
use tinygram_wire::encode::{Checksum, Path};
use tinygram_wire::options::{Options, SackBlocks};
use tinygram_wire::packet::{self, Header, Verify};

const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 80);
const BUFFER: u64 = 4096;
const BACKLOG: usize = 4;

#[derive(Arbitrary, Debug)]
enum Step {
    /// From one of four peers; numbers count from where the conversation stands.
    Packet {
        peer: u8,
        seq: i16,
        ack: i16,
        len: u16,
        flags: u8,
        window: u16,
        sack: Option<(i16, u8)>,
        timestamps: Option<(u32, u32)>,
    },
    Raw(Vec<u8>),
    Accept,
    Read {
        stream: u8,
    },
    Write {
        stream: u8,
        len: u16,
        more: bool,
    },
    Flush {
        stream: u8,
    },
    Shutdown {
        stream: u8,
    },
    Abort {
        stream: u8,
    },
    Release {
        stream: u8,
    },
    Wait {
        millis: u16,
    },
    Idle,
}

/// Where a peer's numbers stand: what it sends next, and what it has had.
#[derive(Clone, Copy, Default)]
struct Peer {
    seq: u32,
    ack: u32,
}

struct World {
    core: Core,
    now: Instant,
    listener: usize,
    peers: [Peer; 4],
    streams: Vec<usize>,
    batch: Batch,
}

fuzz_target!(|steps: Vec<Step>| {
    let abilities = Abilities {
        mtu: 1500,
        offload: false,
        headroom: 0,
    };
    let options = SocketOptions {
        send_buffer: BUFFER,
        receive_buffer: BUFFER,
        ..SocketOptions::default()
    };
    let mut core = Core::with_keys(abilities, &[SERVER.ip()], [[0; 16]; 2]);
    let (listener, _) = core.listen(SERVER, BACKLOG, &options).expect("a listener");
    let mut world = World {
        core,
        now: Instant::from_nanos(1),
        listener,
        peers: [Peer::default(); 4],
        streams: Vec::new(),
        batch: Batch::default(),
    };
    for step in &steps {
        world.step(step);
        world.drain();
        // Half open, ready and accepted; each with two rings of the limit's size.
        let most = 2 * BACKLOG + world.streams.len() + steps.len();
        assert!(world.core.connections() <= most);
        assert!(world.core.allocated() as u64 <= 2 * BUFFER * world.core.connections() as u64);
    }
});

impl World {
    fn step(&mut self, step: &Step) {
        let waits = &Context::from_waker(Waker::noop());
        let stream = |number: u8| {
            let number = usize::from(number).checked_rem(self.streams.len())?;
            self.streams.get(number).copied()
        };
        match *step {
            Step::Packet { .. } => self.arrive(step),
            Step::Raw(ref octets) => {
                self.core.on_packet(self.now, octets, Verify::Nothing);
                self.core.on_batch_end(self.now);
            }
            Step::Accept => {
                if let Poll::Ready(Ok(key)) = self.core.poll_accept(self.listener, 0, waits) {
                    self.streams.push(key);
                }
            }
            Step::Read { stream: number } => {
                if let Some(key) = stream(number) {
                    let _ = self.core.poll_read(self.now, key, 1000, waits, |_, _| ());
                }
            }
            Step::Write {
                stream: number,
                len,
                more,
            } => {
                if let Some(key) = stream(number) {
                    let octets = vec![1; len.into()];
                    let pieces = [IoSlice::new(&octets)];
                    let _ = self.core.poll_write(self.now, key, &pieces, more, waits);
                }
            }
            Step::Flush { stream: number } => {
                stream(number)
                    .map(|key| self.core.flush(self.now, key))
                    .unwrap_or_default();
            }
            Step::Shutdown { stream: number } => {
                stream(number)
                    .map(|key| self.core.shutdown(self.now, key))
                    .unwrap_or_default();
            }
            Step::Abort { stream: number } => {
                stream(number)
                    .map(|key| self.core.abort(key))
                    .unwrap_or_default();
            }
            Step::Release { stream: number } => {
                if let Some(key) = stream(number) {
                    self.streams.retain(|one| *one != key);
                    self.core.release(self.now, key);
                }
            }
            Step::Wait { millis } => {
                self.now += Duration::from_millis(millis.into());
                self.core.on_time(self.now);
            }
            Step::Idle => self.core.on_idle(self.now),
        }
    }

    fn arrive(&mut self, step: &Step) {
        let Step::Packet {
            peer,
            seq,
            ack,
            len,
            flags,
            window,
            sack,
            timestamps,
        } = *step
        else {
            return;
        };
        let stands = &mut self.peers[usize::from(peer % 4)];
        let near = |number: u32, by: i16| number.wrapping_add_signed(by.into());
        let mut blocks = SackBlocks::default();
        if let Some((by, len)) = sack {
            let left = near(stands.ack, by);
            blocks.push(left, left.wrapping_add(len.into()));
        }
        let header = Header {
            seq: near(stands.seq, seq),
            ack: near(stands.ack, ack),
            flags: Flags::from_bits(flags),
            window,
            options: Options {
                timestamps: timestamps.map(|(value, echo)| Timestamps { value, echo }),
                sack: blocks,
                ..Options::default()
            },
        };
        let len = usize::from(len % 1460);
        if seq == 0 {
            stands.seq = stands
                .seq
                .wrapping_add(len as u32 + u32::from(header.flags.any(Flags::SYN)));
        }
        let remote = SocketAddr::new(
            Ipv4Addr::new(10, 0, 0, 2).into(),
            1000 + u16::from(peer % 4),
        );
        let path = Path::new(remote, SERVER).expect("one family");
        let mut packet = vec![0; path.headers_len(&header.options) + len];
        path.write_headers(&header, Checksum::Full, &mut packet);
        self.core.on_packet(self.now, &packet, Verify::Checksum);
        self.core.on_batch_end(self.now);
    }

    /// What is sent is well formed, and peers know of it.
    fn drain(&mut self) {
        while self.core.has_packets() {
            self.core.fill(&mut self.batch);
            let peers = &mut self.peers;
            self.batch.drain(0, |octets, _| {
                assert!(octets.len() <= 1500);
                let Ok(packet) = packet::read(octets, Verify::Checksum) else {
                    // An echo's answer.
                    return;
                };
                let to = SocketAddr::from(packet.destination).port();
                if let Some(peer) = peers.get_mut(usize::from(to.wrapping_sub(1000))) {
                    let syn = u32::from(packet.header.flags.has(Flags::SYN));
                    let end = packet
                        .header
                        .seq
                        .wrapping_add(packet.payload.len() as u32 + syn);
                    peer.ack = end;
                }
            });
        }
    }
}
