//! Hostile peers, packet by packet against the core: memory stays bounded, nothing panics, and
//! honest connections continue.

mod floods;
mod fragments;
mod martians;
mod segments;

use std::io::IoSlice;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::task::{Context, Poll, Waker};

use tinygram_engine::extensions::Extensions;
use tinygram_engine::{Duration, Flags, Instant};
use tinygram_tcp::{Abilities, Batch, ConnectionKey, Core, ListenerKey, SocketOptions};
use tinygram_wire::encode::{Checksum, Path};
use tinygram_wire::options::Options;
use tinygram_wire::packet::{self, Header, Verify};

const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 80);

/// The octets of a piece of memory, and what it counts for with its place in the index.
const PIECE: usize = 2048;
const COST: usize = PIECE + 64;

/// The core under attack, and its clock.
struct Victim {
    core: Core,
    now: Instant,
    listener: ListenerKey,
    batch: Batch,
    /// The most that a connection's buffers may take, in octets.
    most: usize,
}

impl Victim {
    fn new(backlog: usize, options: &SocketOptions) -> Self {
        let abilities = Abilities {
            mtu: 1500,
            offload: false,
            headroom: 0,
        };
        let mut core = Core::with_keys(abilities, &[SERVER.ip()], [[1; 16], [2; 16]]);
        let (listener, _) = core.listen(SERVER, backlog, options).unwrap();
        Self {
            core,
            now: Instant::from_nanos(1),
            listener,
            batch: Batch::default(),
            // A ring may begin and end within pieces.
            most: [options.send_buffer, options.receive_buffer]
                .map(|octets| (octets as usize / PIECE + 2) * COST)
                .iter()
                .sum(),
        }
    }

    fn arrives(&mut self, packet: &[u8]) {
        self.core.on_packet(self.now, packet, Verify::Checksum);
        self.core.on_batch_end(self.now);
        let (connections, memory) = (self.core.connections(), self.core.allocated());
        assert!(
            memory <= connections * self.most,
            "{memory} octets for {connections}"
        );
        assert!(self.core.alarms() <= 8 * connections + 8);
    }

    /// Returns what the core sends now.
    fn answers(&mut self) -> Vec<Answer> {
        let mut all = Vec::new();
        while self.core.has_packets() {
            self.core.fill(&mut self.batch);
            self.batch.drain(0, |octets, _| {
                let packet = packet::read(octets, Verify::Checksum).expect("a packet of ours");
                all.push(Answer {
                    to: packet.destination.into(),
                    header: packet.header,
                    payload: packet.payload.to_vec(),
                });
            });
        }
        all
    }

    /// Advances the time, running every timer that expires.
    fn wait(&mut self, length: Duration) {
        let end = self.now + length;
        while self.core.next_alarm() <= end {
            self.now = self.now.max(self.core.next_alarm());
            self.core.on_time(self.now);
        }
        self.now = end;
    }

    fn accept(&mut self) -> Option<ConnectionKey> {
        match self.core.poll_accept(self.listener, 0, &waits()) {
            Poll::Ready(key) => Some(key.expect("the device is there")),
            Poll::Pending => None,
        }
    }

    /// Reads all that is available.
    fn read(&mut self, key: ConnectionKey) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            let take = |piece: &[u8]| all.extend_from_slice(piece);
            let read = self.core.poll_read(self.now, key, 1 << 20, &waits(), take);
            match read {
                Poll::Ready(Ok(some)) if some > 0 => {}
                _ => return all,
            }
        }
    }

    fn write(&mut self, key: ConnectionKey, octets: &[u8]) -> usize {
        let pieces = [IoSlice::new(octets)];
        match self
            .core
            .poll_write(self.now, key, &pieces, false, &waits())
        {
            Poll::Ready(written) => written.unwrap(),
            Poll::Pending => 0,
        }
    }
}

struct Answer {
    to: SocketAddr,
    header: Header,
    payload: Vec<u8>,
}

/// `modern` with changed extensions.
fn with_extensions(change: impl FnOnce(&mut Extensions)) -> SocketOptions {
    let mut extensions = Extensions::MODERN;
    change(&mut extensions);
    SocketOptions {
        extensions: Some(extensions),
        ..SocketOptions::default()
    }
}

fn waits() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// A peer that may send anything.
#[derive(Clone, Copy)]
struct Peer {
    address: SocketAddr,
    seq: u32,
    ack: u32,
    window: u16,
}

impl Peer {
    fn at(number: u32) -> Self {
        let [_, a, b, c] = number.to_be_bytes();
        Self {
            // Not of the network of the server, whose own address is no peer's.
            address: SocketAddr::new(Ipv4Addr::new(11, a, b, c).into(), 4000 + c as u16),
            seq: number.wrapping_mul(7919),
            ack: 0,
            window: 60_000,
        }
    }

    fn packet(&self, seq: u32, flags: Flags, payload: &[u8]) -> Vec<u8> {
        self.packet_with(seq, flags, payload, Options::default())
    }

    fn packet_with(&self, seq: u32, flags: Flags, payload: &[u8], options: Options) -> Vec<u8> {
        let header = Header {
            seq,
            ack: self.ack,
            flags,
            window: self.window,
            options,
        };
        let path = Path::new(self.address, SERVER).unwrap();
        let mut packet = vec![0; path.headers_len(&options)];
        packet.extend_from_slice(payload);
        path.write_headers(&header, Checksum::Full, &mut packet);
        packet
    }

    fn syn(&self) -> Vec<u8> {
        let options = Options {
            mss: Some(1460),
            ..Options::default()
        };
        Self { ack: 0, ..*self }.packet_with(self.seq, Flags::SYN, b"", options)
    }

    /// Completes the handshake; returns the socket at the other end.
    fn connect(&mut self, victim: &mut Victim) -> ConnectionKey {
        victim.arrives(&self.syn());
        self.complete(victim);
        victim.accept().expect("a connection")
    }

    /// The rest of the handshake, once the SYN has been sent.
    fn complete(&mut self, victim: &mut Victim) {
        let answers = victim.answers();
        let ours = answers.iter().find(|answer| answer.to == self.address);
        let synack = ours.expect("a SYN-ACK").header;
        assert!(synack.flags.has(Flags::SYN.with(Flags::ACK)));
        self.seq = self.seq.wrapping_add(1);
        self.ack = synack.seq.wrapping_add(1);
        victim.arrives(&self.packet(self.seq, Flags::ACK, b""));
    }

    /// Sends octets in order and checks that they are acknowledged.
    fn talks(&mut self, victim: &mut Victim, key: ConnectionKey, octets: &[u8]) {
        victim.arrives(&self.packet(self.seq, Flags::ACK.with(Flags::PSH), octets));
        self.seq = self.seq.wrapping_add(octets.len() as u32);
        assert_eq!(victim.read(key), octets);
        victim.wait(Duration::from_millis(50));
        let answers = victim.answers();
        let last = answers.iter().rfind(|answer| answer.to == self.address);
        assert_eq!(last.expect("an ACK").header.ack, self.seq);
    }
}
