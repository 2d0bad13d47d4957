//! A stack's core under arbitrary packets, ICMP errors and calls, with the extensions of a profile or all
//! that there are: it never panics, memory stays bounded, and what it sends is well formed.

#![no_main]

use std::io::IoSlice;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::task::{Context, Poll, Waker};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use tinygram_engine::extensions::{
    Ecn, Extensions, Keepalive, LinuxHabits, PathMtuSearch, PushEndsWrites, SlowStartExit,
};
use tinygram_engine::profile::Profile;
use tinygram_engine::{Duration, Flags, Instant, Timestamps};
use tinygram_tcp::Abilities;
use tinygram_tcp::{Batch, ConnectionKey, Core, ListenerKey};
use tinygram_tcp::{SocketOptions, StackRules};
use tinygram_wire::checksum::Sum;
use tinygram_wire::encode::{Checksum, Path};
use tinygram_wire::options::{Options, SackBlocks};
use tinygram_wire::packet::{self, Header, Verify};

const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 80);
const BUFFER: u64 = 4096;
const BACKLOG: usize = 4;

/// The memory for the buffers of all connections: the least that there may be.
const MEMORY: u64 = 1 << 20;
/// What a piece of 2 KiB counts for.
const COST: u64 = 2048 + 64;

/// What a receive buffer grows to, where it grows.
const LARGEST_BUFFER: u64 = 4 * BUFFER;
/// What a write may take beyond the send buffer where that bounds memory: what a buffer of the kernel's holds, and
/// the window.
const BEYOND: u64 = 1 << 18;

#[derive(Arbitrary, Debug)]
struct Input {
    setup: Setup,
    steps: Vec<Step>,
}

#[derive(Arbitrary, Debug)]
struct Setup {
    linux: bool,
    /// Every extension there is.
    everything: bool,
    /// Large buffers and little memory for all of them.
    scarce: bool,
}

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
    /// An error that quotes a segment of the conversation with that peer.
    Icmp {
        peer: u8,
        kind: u8,
        code: u8,
        mtu: u16,
        seq: i16,
    },
    Connect {
        peer: u8,
    },
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
    Tell {
        stream: u8,
        what: u8,
        number: u16,
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
    listener: ListenerKey,
    peers: [Peer; 4],
    streams: Vec<ConnectionKey>,
    batch: Batch,
    options: SocketOptions,
}

fuzz_target!(|input: Input| {
    let Input { setup, steps } = input;
    let abilities = Abilities {
        mtu: 1500,
        offload: false,
        headroom: 0,
    };
    let profile = match setup.linux {
        true => &Profile::LINUX_6,
        false => &Profile::MODERN,
    };
    let options = SocketOptions {
        profile,
        send_buffer: if setup.scarce { MEMORY } else { BUFFER },
        receive_buffer: if setup.scarce { MEMORY } else { BUFFER },
        extensions: setup.everything.then_some(EVERYTHING),
        rules: setup.everything.then_some(StackRules::LINUX_6),
        ..SocketOptions::default()
    };
    let mut core = Core::with_keys(abilities, &[SERVER.ip()], [[0; 16]; 2]);
    core.set_memory(MEMORY as usize);
    let (listener, _) = core.listen(SERVER, BACKLOG, &options).expect("a listener");
    let mut world = World {
        core,
        now: Instant::from_nanos(1),
        listener,
        peers: [Peer::default(); 4],
        streams: Vec::new(),
        batch: Batch::default(),
        options: options.clone(),
    };
    for step in &steps {
        world.step(step);
        world.drain();
        assert!(world.core.allocated() <= world.core.resident());
        assert!(world.core.resident() as u64 <= MEMORY);
        // Half open, ready and accepted; each with two rings of the limit's size.
        let most = 2 * BACKLOG + world.streams.len() + steps.len();
        assert!(world.core.connections() <= most);
        let for_each = match setup {
            Setup {
                linux: false,
                everything: false,
                ..
            } => 2 * BUFFER,
            _ => BUFFER + LARGEST_BUFFER + BEYOND,
        };
        // Two rings, each of which may begin and end within pieces of 2 KiB.
        let for_each = for_each / 2048 * COST + 4 * COST;
        let all = for_each * world.core.connections() as u64;
        assert!(setup.scarce || world.core.allocated() as u64 <= all);
    }
});

/// All that there is at once.
const EVERYTHING: Extensions = Extensions {
    pacing: true,
    ecn: Some(Ecn::Ask { again: 1 }),
    slow_start_exit: Some(SlowStartExit::HystartPlusPlus),
    keepalive: Some(Keepalive::LINUX),
    user_timeout: Some(Duration::from_secs(30)),
    receive_buffer_most: Some(LARGEST_BUFFER),
    send_buffer_most: Some(BUFFER),
    path_mtu_search: Some(PathMtuSearch {
        from_the_start: true,
        // So small that probes fit into the buffers.
        base_mss: 64,
    }),
    linux: LinuxHabits {
        reduces_the_window: true,
        silent_to_unsent_acks: true,
        empty_window_probes: true,
        push_ends_writes: Some(PushEndsWrites {
            least_burst: 2,
            buffer_overhead: Some(832),
        }),
    },
    ..Extensions::MODERN
};

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
            Step::Icmp { .. } => self.hear_of_an_error(step),
            Step::Connect { peer } => {
                let local = Some(SERVER);
                let opened = self
                    .core
                    .connect(self.now, local, remote(peer), &self.options);
                self.streams.extend(opened);
            }
            Step::Accept => {
                if let Poll::Ready(Ok(key)) = self.core.poll_accept(self.listener, 0, waits) {
                    self.streams.push(key);
                }
            }
            Step::Read { stream: number } => {
                if let Some(key) = stream(number) {
                    let _ = self.core.poll_read(self.now, key, 1000, waits, |_| ());
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
            Step::Tell {
                stream: number,
                what,
                number: value,
            } => {
                if let Some(key) = stream(number) {
                    self.tell(key, what, value);
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
        let path = Path::new(remote(peer), SERVER).expect("one family");
        let mut packet = vec![0; path.headers_len(&header.options) + len];
        path.write_headers(&header, Checksum::Full, &mut packet);
        self.core.on_packet(self.now, &packet, Verify::Checksum);
        self.core.on_batch_end(self.now);
    }

    /// A router's packet: the IP header, the message, and of ours the IP header and eight octets.
    fn hear_of_an_error(&mut self, step: &Step) {
        let Step::Icmp {
            peer,
            kind,
            code,
            mtu,
            seq,
        } = *step
        else {
            return;
        };
        let ip = |protocol: u8, from: [u8; 4], to: [u8; 4], len: u8| {
            let mut header = vec![0x45, 0, 0, len, 0, 0, 0x40, 0, 64, protocol, 0, 0];
            header.extend(from.into_iter().chain(to));
            header
        };
        let (us, them) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        let mut message = vec![kind % 16, code % 16, 0, 0, 0, 0];
        message.extend(mtu.to_be_bytes());
        message.extend(ip(6, us, them, 60));
        message.extend(80_u16.to_be_bytes());
        message.extend(remote(peer).port().to_be_bytes());
        let stands = self.peers[usize::from(peer % 4)].ack;
        message.extend(stands.wrapping_add_signed(seq.into()).to_be_bytes());
        let sum = Sum::default().with(&message).checksum();
        message[2..4].copy_from_slice(&sum);
        let mut packet = ip(1, [10, 0, 0, 9], us, 20 + message.len() as u8);
        packet.extend(message);
        self.core.on_packet(self.now, &packet, Verify::Nothing);
        self.core.on_batch_end(self.now);
    }

    /// An option of a socket.
    fn tell(&mut self, key: ConnectionKey, what: u8, number: u16) {
        let (now, on) = (self.now, number % 2 == 1);
        let octets = u64::from(number).clamp(1, BUFFER);
        match what % 8 {
            0 => self.core.set_nodelay(now, key, on),
            1 => self.core.set_cork(now, key, on),
            2 => self.core.set_quick_ack(now, key, on),
            3 => self.core.set_send_buffer(key, octets),
            4 => self.core.set_receive_buffer(key, octets),
            5 => {
                let limit = on.then(|| Duration::from_millis(number.into()));
                self.core.set_user_timeout(key, limit);
            }
            6 => self.core.set_notsent_low_water(key, on.then_some(octets)),
            _ => self.core.shutdown_read(key),
        }
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

fn remote(peer: u8) -> SocketAddr {
    let address = Ipv4Addr::new(10, 0, 0, 2);
    SocketAddr::new(address.into(), 1000 + u16::from(peer % 4))
}
