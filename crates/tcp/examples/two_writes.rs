//! Two byte stacks talk over a line that carries a packet in 5 ms, without a device, a clock or a thread. The server answers
//! in two small writes: under Nagle's algorithm the second one waits for the acknowledgment of the first, which the client
//! delays. Prints when the answer was there under each policy, and how many packets it took.
//!
//! ```console
//! $ cargo run -p tinygram-tcp --example two_writes
//! ```

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::task::{Context, Poll, Waker};

use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_engine::{Duration, Instant};
use tinygram_tcp::{Abilities, Batch, Core, SocketOptions};
use tinygram_wire::packet::Verify;

/// How long a packet is on its way.
const DELAY: Duration = Duration::from_millis(5);

const ANSWER: [&[u8]; 2] = [b"a header, ", b"and a body"];

fn main() -> io::Result<()> {
    for policy in [SendPolicy::Nagle, SendPolicy::Off] {
        let name = policy.to_string();
        let (took, packets) = exchange(policy)?;
        println!("{name:>6}: the answer took {took} and {packets} packets");
    }
    Ok(())
}

/// Returns how long the client waits for the answer, and how many packets both sides send meanwhile.
pub(crate) fn exchange(policy: SendPolicy) -> io::Result<(Duration, usize)> {
    let mut net = Net::new();
    let options = SocketOptions::default();
    let (listener, address) = net.server.core.listen(net.server.address, 1, &options)?;
    // A key names the connection, or the listener, until it is given back.
    let ours = net.client.core.connect(net.now, None, address, &options)?;
    let theirs = net.until(|net| net.server.core.poll_accept(listener, 0, &nobody()))?;
    net.server.core.set_send_policy(net.now, theirs, policy);

    let (began, packets) = (net.now, net.packets);
    for piece in ANSWER {
        let pieces = [IoSlice::new(piece)];
        let core = &mut net.server.core;
        let Poll::Ready(wrote) = core.poll_write(net.now, theirs, &pieces, false, &nobody()) else {
            panic!("the send buffer takes a few octets");
        };
        assert_eq!(wrote?, piece.len());
    }
    // The writer goes on to something else.
    net.server.core.on_idle(net.now);
    let mut answer = Vec::new();
    while answer.len() < ANSWER.concat().len() {
        net.until(|net| {
            let take = |piece: &[u8]| answer.extend_from_slice(piece);
            let core = &mut net.client.core;
            core.poll_read(net.now, ours, 100, &nobody(), take)
        })?;
    }
    assert_eq!(answer, ANSWER.concat());
    let result = (net.now.since(began), net.packets - packets);
    net.client.core.release(net.now, ours);
    net.server.core.release(net.now, theirs);
    net.server.core.stop_listening(listener);
    Ok(result)
}

/// Two hosts and the time.
struct Net {
    now: Instant,
    client: Host,
    server: Host,
    packets: usize,
}

/// A stack, and what is on its way to it.
struct Host {
    core: Core,
    address: SocketAddr,
    line: VecDeque<(Instant, Vec<u8>)>,
}

impl Net {
    fn new() -> Self {
        Self {
            now: Instant::from_nanos(1),
            client: Host::new(1, 1),
            server: Host::new(2, 80),
            packets: 0,
        }
    }

    /// Lets the time pass until `ready` is, and returns its result.
    fn until<T>(&mut self, mut ready: impl FnMut(&mut Self) -> Poll<T>) -> T {
        loop {
            if let Poll::Ready(done) = ready(self) {
                return done;
            }
            self.packets += send(self.now, &mut self.client.core, &mut self.server.line);
            self.packets += send(self.now, &mut self.server.core, &mut self.client.line);
            let next = self.client.next().min(self.server.next());
            self.now = self.now.max(next);
            self.client.go_on(self.now);
            self.server.go_on(self.now);
        }
    }
}

/// Puts what a stack sends on the line. Returns how many packets it was.
fn send(now: Instant, core: &mut Core, line: &mut VecDeque<(Instant, Vec<u8>)>) -> usize {
    let before = line.len();
    let mut batch = Batch::default();
    while core.has_packets() {
        core.fill(&mut batch);
        batch.drain(0, |octets, _| {
            line.push_back((now + DELAY, octets.to_vec()));
        });
    }
    line.len() - before
}

impl Host {
    fn new(number: u8, port: u16) -> Self {
        let address = IpAddr::V4(Ipv4Addr::new(10, 0, 0, number));
        let abilities = Abilities {
            mtu: 1500,
            offload: false,
            headroom: 0,
        };
        Self {
            // `Core::new` takes its keys from the system; these make the run repeatable.
            core: Core::with_keys(abilities, &[address], [[1; 16], [2; 16]]),
            address: SocketAddr::new(address, port),
            line: VecDeque::new(),
        }
    }

    /// Returns when something happens here next.
    fn next(&self) -> Instant {
        let arrival = self.line.front().map(|(at, _)| *at);
        arrival.map_or(self.core.next_alarm(), |at| at.min(self.core.next_alarm()))
    }

    /// Takes in what has arrived, and does what is due.
    fn go_on(&mut self, now: Instant) {
        while let Some((_, packet)) = self.line.pop_front_if(|(at, _)| *at <= now) {
            self.core.on_packet(now, &packet, Verify::Checksum);
        }
        self.core.on_batch_end(now);
        self.core.on_time(now);
    }
}

fn nobody() -> Context<'static> {
    Context::from_waker(Waker::noop())
}
