//! The bound on the memory of all buffers: what connections take, what happens when it is scarce, and
//! that what the stack says it takes is what the allocator gave.

mod pressure;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::IoSlice;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::task::{Context, Poll, Waker};

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tinygram_engine::{Duration, Instant};
use tinygram_tcp::{Abilities, Batch, ConnectionKey, Core, ListenerKey, SocketOptions};
use tinygram_wire::packet::Verify;

/// Counts the octets that a thread has allocated and not freed. Every test has a thread of its own.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
}

// SAFETY: it only counts; the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps to the same rules.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller keeps to the same rules.
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn count(octets: isize) {
    // A thread that ends may free what it has after its variables are gone.
    let _ = HELD.try_with(|held| held.set(held.get() + octets));
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn held() -> usize {
    HELD.with(Cell::get).max(0) as usize
}

const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 80);
const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const MIB: usize = 1 << 20;

fn nobody() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// Two stacks and what carries their packets.
struct Net {
    now: Instant,
    client: Core,
    server: Core,
    listener: ListenerKey,
    batch: Batch,
    dice: SplitMix64,
    /// How many of 256 packets are lost.
    lost: u64,
    /// The highest right edge that the server announced to each port.
    edges: std::collections::HashMap<u16, u32>,
}

impl Net {
    /// Two stacks, the server's with this bound.
    fn new(memory: usize) -> Self {
        let abilities = Abilities {
            mtu: 1500,
            offload: false,
            headroom: 0,
        };
        let core = |ip| Core::with_keys(abilities, &[ip], [[1; 16], [2; 16]]);
        let mut server = core(SERVER.ip());
        server.set_memory(memory);
        let (listener, _) = server
            .listen(SERVER, 10_000, &SocketOptions::default())
            .expect("a free port");
        Self {
            now: Instant::from_nanos(1),
            client: core(CLIENT),
            server,
            listener,
            batch: Batch::default(),
            dice: SplitMix64::seed_from_u64(7),
            lost: 0,
            edges: std::collections::HashMap::new(),
        }
    }

    /// Opens a connection; returns the client's key and the server's.
    fn connect(&mut self) -> (ConnectionKey, ConnectionKey) {
        let options = SocketOptions::default();
        let ours = self.client.connect(self.now, None, SERVER, &options);
        let lost = std::mem::take(&mut self.lost);
        self.carry();
        self.lost = lost;
        let theirs = self.server.poll_accept(self.listener, 0, &nobody());
        let Poll::Ready(Ok(theirs)) = theirs else {
            panic!("a connection waits");
        };
        (ours.expect("a port"), theirs)
    }

    /// Carries all packets until none is left, and lets a millisecond pass.
    fn carry(&mut self) {
        while self.client.has_packets() || self.server.has_packets() {
            self.carry_to(true);
            self.carry_to(false);
        }
        self.now += Duration::from_millis(1);
        self.client.on_time(self.now);
        self.server.on_time(self.now);
    }

    fn carry_to(&mut self, to_server: bool) {
        let (from, to) = match to_server {
            true => (&mut self.client, &mut self.server),
            false => (&mut self.server, &mut self.client),
        };
        while from.has_packets() {
            from.fill(&mut self.batch);
            self.batch.drain(0, |octets, _| {
                if !to_server {
                    note_right_edge(&mut self.edges, octets);
                }
                if self.dice.next_u64() % 256 >= self.lost {
                    to.on_packet(self.now, octets, Verify::Nothing);
                }
            });
        }
        to.on_batch_end(self.now);
        if to_server {
            self.check_the_bound();
        }
    }

    fn check_the_bound(&self) {
        let resident = self.server.resident();
        assert!(self.server.allocated() <= resident);
        assert!(resident <= MIB, "{resident} octets");
    }

    /// Waits, and lets all timers run.
    fn wait(&mut self, length: Duration) {
        let end = self.now + length;
        loop {
            let next = self.client.next_alarm().min(self.server.next_alarm());
            if next > end {
                break;
            }
            self.now = self.now.max(next);
            self.client.on_time(self.now);
            self.server.on_time(self.now);
            self.carry();
        }
        self.now = self.now.max(end);
    }
}

/// Checks that a window's right edge does not move back (RFC 9293, section 3.8.6).
fn note_right_edge(edges: &mut std::collections::HashMap<u16, u32>, octets: &[u8]) {
    let packet = tinygram_wire::packet::read(octets, Verify::Checksum).expect("a packet of ours");
    let syn = tinygram_engine::Flags::SYN;
    if packet.header.flags.has(syn) || packet.header.flags.has(tinygram_engine::Flags::RST) {
        return;
    }
    // Buffers of a megabyte are announced with a shift of 5.
    let edge = packet
        .header
        .ack
        .wrapping_add(u32::from(packet.header.window) << 5);
    let highest = edges.entry(packet.destination.port).or_insert(edge);
    let moved = edge.wrapping_sub(*highest).cast_signed();
    // What the shift cuts off is still accepted (RFC 7323, section 2.4).
    assert!(moved > -32, "the right edge moved by {moved}");
    if moved > 0 {
        *highest = edge;
    }
}

fn write(core: &mut Core, now: Instant, key: ConnectionKey, octets: &[u8]) -> usize {
    let pieces = [IoSlice::new(octets)];
    match core.poll_write(now, key, &pieces, false, &nobody()) {
        Poll::Ready(wrote) => wrote.expect("a connection"),
        Poll::Pending => 0,
    }
}

fn read(core: &mut Core, now: Instant, key: ConnectionKey, most: usize) -> Vec<u8> {
    let mut octets = Vec::new();
    let took = core.poll_read(now, key, most, &nobody(), |piece| {
        octets.extend_from_slice(piece);
    });
    if let Poll::Ready(took) = took {
        assert_eq!(took.expect("a connection"), octets.len());
    }
    octets
}

/// The octets of a stream from `start` on.
fn stream(seed: usize, start: usize, len: usize) -> Vec<u8> {
    let octet = |at: usize| {
        (at ^ (at >> 8) ^ (at >> 16))
            .wrapping_mul(31)
            .wrapping_add(seed) as u8
    };
    (start..start + len).map(octet).collect()
}
