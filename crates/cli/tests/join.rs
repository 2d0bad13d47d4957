//! Sends one script through the simulator's world and through two of the stack's cores, and expects
//! equal segments at equal times. So a policy does the same to real octets as in virtual time: the
//! two share the engine, and this test shows that nothing else makes a difference.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::task::{Context, Poll, Waker};

use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_engine::{Duration, Flags, Instant, Offset};
use tinygram_sim::costs::HostCosts;
use tinygram_sim::medium::{Side, Wire};
use tinygram_sim::observer::SentFrames;
use tinygram_sim::program::{Call, CallOutcome, Program};
use tinygram_sim::{Opening, World, WorldConfig};
use tinygram_tcp::Abilities;
use tinygram_tcp::SocketOptions;
use tinygram_tcp::{Batch, ConnectionKey, Core, ListenerKey};
use tinygram_wire::packet::{self, Verify};
use tinygram_wire::sequence::Sequence;

/// What one thread does, call by call; a `Read` of a number of octets is repeated until they have
/// arrived.
type Script = Vec<Call>;

const ONE_WAY: Duration = Duration::from_millis(5);
const END: Instant = Instant::from_nanos(100_000_000_000);
/// Large enough for every write: a blocking kernel and tokio's streams cut a write that does not
/// fit at different places.
const BUFFER: u64 = 200_000;

fn write(len: u64) -> Call {
    let (socket, more) = (0, false);
    Call::Write { socket, len, more }
}

fn read(max: u64) -> Call {
    Call::Read { socket: 0, max }
}

/// Questions and answers of many lengths, in one write and in several, with pauses; a long stream
/// each way; then the end.
fn conversation() -> [Script; 2] {
    let mut client = vec![Call::Sleep(Duration::from_millis(1)), Call::Connect(0)];
    let mut server = vec![Call::Accept(0)];
    for (question, answer) in [
        (vec![1], vec![1]),
        (vec![100, 200], vec![300]),
        (vec![300], vec![100, 1, 700]),
        (vec![1460], vec![1461]),
        (vec![2000, 30], vec![5000, 5000]),
        (vec![50_000], vec![10]),
        (vec![7, 7, 7], vec![70_000]),
    ] {
        let total = |pieces: &[u64]| pieces.iter().sum::<u64>();
        server.push(read(total(&question)));
        client.extend(question.iter().map(|len| write(*len)));
        server.extend(answer.iter().map(|len| write(*len)));
        client.push(read(total(&answer)));
        client.push(Call::Sleep(Duration::from_millis(3)));
    }
    client.push(Call::NoDelay(0, true));
    client.extend([write(10), write(20), Call::Close(0), read(1), Call::Exit]);
    server.extend([
        read(30),
        Call::Cork(0, true),
        write(5),
        write(6),
        Call::Close(0),
        Call::Exit,
    ]);
    [client, server]
}

/// A segment as both report it: who sent it when, and its contents.
#[derive(Debug, PartialEq, Eq)]
struct Sent {
    at: Instant,
    from: usize,
    seq: Offset,
    ack: Option<Offset>,
    len: usize,
    flags: Flags,
    window: u32,
    timestamps: bool,
}

fn sizes() -> Sizes {
    Sizes {
        mss: 1460,
        send_buffer: BUFFER,
        receive_buffer: BUFFER,
    }
}

/// Runs a script in the simulator.
#[derive(Clone, Debug)]
struct Scripted {
    left: VecDeque<Call>,
    /// Octets of the current read that have not arrived.
    wanted: u64,
}

impl Program for Scripted {
    fn next(&mut self, _: Instant, last: CallOutcome) -> Call {
        if let CallOutcome::Read(octets) = last {
            self.wanted -= octets.min(self.wanted);
            if self.wanted > 0 && octets > 0 {
                return read(self.wanted);
            }
        }
        let call = self.left.pop_front().unwrap_or(Call::Exit);
        if let Call::Read { max, .. } = call {
            self.wanted = max;
        }
        call
    }
}

fn through_the_simulator(profile: &Profile, policy: &SendPolicy) -> Vec<Sent> {
    let programs = conversation().map(|script| {
        vec![Scripted {
            left: script.into(),
            wanted: 0,
        }]
    });
    let config = WorldConfig::over(Wire::new(u64::MAX, 0, 0, ONE_WAY), [HostCosts::NONE; 2], 1);
    let mut world = World::watched(config, programs, SentFrames::default());
    let mut rules = (profile.config)(&sizes());
    rules.sender.policy = policy.clone();
    world.connect(Opening::Handshake, [rules.clone(), rules]);
    world.run(END);
    let sent = world.observer().sent.iter();
    sent.map(|(side, frame)| {
        let segment = &frame.segment;
        Sent {
            at: frame.at,
            from: usize::from(*side == Side::Server),
            seq: segment.seq,
            ack: segment.flags.has(Flags::ACK).then_some(segment.ack),
            len: segment.len as usize,
            flags: segment.flags,
            window: segment.window,
            timestamps: segment.options.timestamps.is_some(),
        }
    })
    .collect()
}

/// One host of the stack, with one thread.
struct Host {
    core: Core,
    script: VecDeque<Call>,
    key: Option<ConnectionKey>,
    listener: ListenerKey,
    /// Octets that the current call has still to read or write.
    left: u64,
    begun: bool,
    sleeps_until: Instant,
    /// This side's initial sequence number, and its window shift.
    numbers: Option<(Sequence, u8)>,
    arriving: VecDeque<(Instant, Vec<u8>)>,
}

const ADDRESSES: [SocketAddr; 2] = [
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 1000),
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 2000),
];

impl Host {
    fn new(number: usize, script: Script, options: &SocketOptions) -> Self {
        let abilities = Abilities {
            mtu: 1500,
            offload: false,
            headroom: 0,
        };
        let address = ADDRESSES[number];
        let mut core = Core::with_keys(abilities, &[address.ip()], [[number as u8; 16]; 2]);
        let (listener, _) = core.listen(address, 1, options).expect("a listener");
        Self {
            core,
            script: script.into(),
            key: None,
            listener,
            left: 0,
            begun: false,
            sleeps_until: Instant::ZERO,
            numbers: None,
            arriving: VecDeque::new(),
        }
    }

    /// Returns when this host next has something to do.
    fn next(&self) -> Instant {
        let arrives = self
            .arriving
            .front()
            .map_or(Instant::FAR_FUTURE, |(at, _)| *at);
        let asleep = match self.script.front() {
            Some(Call::Sleep(_)) if self.begun => self.sleeps_until,
            _ => Instant::FAR_FUTURE,
        };
        arrives.min(asleep).min(self.core.next_alarm())
    }

    /// Arrivals first, then timers, then the thread, in the order of the simulator's host.
    fn work(&mut self, now: Instant, options: &SocketOptions) {
        while self.arriving.front().is_some_and(|(at, _)| *at <= now) {
            let (_, packet) = self.arriving.pop_front().expect("seen");
            self.core.on_packet(now, &packet, Verify::Checksum);
            self.core.on_batch_end(now);
        }
        self.core.on_time(now);
        while self.call(now, options) {
            self.script.pop_front();
            self.begun = false;
        }
    }

    /// Continues the current call; returns whether it is done.
    fn call(&mut self, now: Instant, options: &SocketOptions) -> bool {
        let waits = &Context::from_waker(Waker::noop());
        let Some(call) = self.script.front().copied() else {
            return false;
        };
        let begins = !std::mem::replace(&mut self.begun, true);
        let core = &mut self.core;
        let key = || self.key.expect("a connection");
        match call {
            Call::Sleep(length) => {
                if begins {
                    self.sleeps_until = now + length;
                }
                self.sleeps_until <= now
            }
            Call::Connect(_) => {
                if begins {
                    let [local, remote] = ADDRESSES;
                    let key = core.connect(now, Some(local), remote, options);
                    self.key = Some(key.expect("a socket"));
                }
                let key = self.key.expect("a connection");
                matches!(core.poll_connected(key, waits), Poll::Ready(Ok(())))
            }
            Call::Accept(_) => match core.poll_accept(self.listener, 0, waits) {
                Poll::Ready(key) => self
                    .key
                    .replace(key.expect("the device is there"))
                    .is_none(),
                Poll::Pending => false,
            },
            Call::Write { len, more, .. } => {
                if begins {
                    self.left = len;
                }
                let octets = vec![7; self.left as usize];
                let pieces = [IoSlice::new(&octets)];
                match core.poll_write(now, key(), &pieces, more, waits) {
                    Poll::Ready(written) => {
                        self.left -= written.expect("a write") as u64;
                        // The rest waits, and the policy is told so.
                        self.left == 0 || self.call(now, options)
                    }
                    Poll::Pending => false,
                }
            }
            Call::Read { max, .. } => {
                if begins {
                    self.left = max;
                }
                match core.poll_read(now, key(), self.left as usize, waits, |_| ()) {
                    Poll::Ready(some) => {
                        let some = some.expect("a read") as u64;
                        self.left -= some;
                        some == 0 || self.left == 0 || self.call(now, options)
                    }
                    Poll::Pending => false,
                }
            }
            Call::NoDelay(_, on) => {
                core.set_nodelay(now, key(), on);
                true
            }
            Call::Cork(_, on) => {
                core.set_cork(now, key(), on);
                true
            }
            Call::Close(_) => {
                core.shutdown(now, key());
                true
            }
            Call::Exit => false,
            other => unreachable!("not in this script: {other:?}"),
        }
    }
}

fn through_the_stack(profile: &'static Profile, policy: &SendPolicy) -> Vec<Sent> {
    let options = SocketOptions {
        profile,
        send_buffer: BUFFER,
        receive_buffer: BUFFER,
        send_policy: Some(policy.clone()),
        ..SocketOptions::default()
    };
    let scripts = conversation();
    let mut number = 0..;
    let mut hosts = scripts.map(|script| Host::new(number.next().expect("two"), script, &options));
    let mut sent = Vec::new();
    let mut now = Instant::ZERO;
    while now <= END {
        for from in [0, 1] {
            hosts[from].work(now, &options);
            for packet in packets(&mut hosts[from].core) {
                sent.push(look(now, from, &packet, &mut hosts));
                hosts[1 - from].arriving.push_back((now + ONE_WAY, packet));
            }
        }
        now = hosts[0]
            .next()
            .min(hosts[1].next())
            .max(now + Duration::from_nanos(1));
    }
    sent
}

fn packets(core: &mut Core) -> Vec<Vec<u8>> {
    let (mut batch, mut packets) = (Batch::default(), Vec::new());
    while core.has_packets() {
        core.fill(&mut batch);
        batch.drain(0, |octets, _| packets.push(octets.to_vec()));
    }
    packets
}

/// Returns a packet's contents, in offsets and octets.
fn look(at: Instant, from: usize, packet: &[u8], hosts: &mut [Host; 2]) -> Sent {
    let packet = packet::read(packet, Verify::Checksum).expect("a packet of ours");
    let header = packet.header;
    let syn = header.flags.has(Flags::SYN);
    if syn {
        let shift = header.options.window_scale.unwrap_or(0);
        hosts[from].numbers = Some((Sequence::new(header.seq), shift));
    }
    let (ours, shift) = hosts[from].numbers.expect("the SYN comes first");
    // Fewer than 2^31 octets are sent in all.
    let near = Offset::new(1 << 20);
    let theirs = hosts[1 - from]
        .numbers
        .filter(|_| header.flags.has(Flags::ACK));
    Sent {
        at,
        from,
        seq: ours.offset(header.seq, near),
        ack: theirs.map(|(theirs, _)| theirs.offset(header.ack, near)),
        len: packet.payload.len(),
        flags: header.flags,
        window: u32::from(header.window) << if syn { 0 } else { shift },
        timestamps: header.options.timestamps.is_some(),
    }
}

#[test]
fn one_script_gives_equal_segments_in_simulator_and_stack() {
    for profile in Profile::LIST {
        for policy in SendPolicy::LIST {
            let fresh = (policy.make)();
            let simulated = through_the_simulator(profile, &fresh);
            let stacked = through_the_stack(profile, &fresh);
            let what = format!("{}, {}", profile.name, policy.name);
            assert!(simulated.len() > 100, "{what}: a conversation takes place");
            for (number, (one, other)) in simulated.iter().zip(&stacked).enumerate() {
                assert_eq!(
                    one, other,
                    "{what}: segment {number}, simulated and stacked"
                );
            }
            assert_eq!(simulated.len(), stacked.len(), "{what}");
        }
    }
}
