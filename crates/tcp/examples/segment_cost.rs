//! Transfers megabytes between two byte stacks in one thread, without a device, to count the
//! instructions that a segment costs:
//!
//!     cargo build -p tinygram-tcp --example segment_cost
//!     valgrind --tool=callgrind --callgrind-out-file=/dev/null target/debug/examples/segment_cost 10
//!
//! It prints how many packets went both ways. The difference of two runs of different length, over
//! the difference of their packets, leaves the set-up out.

use std::io::IoSlice;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::task::{Context, Poll, Waker};

use tinygram_engine::{Duration, Instant};
use tinygram_tcp::{Abilities, Batch, Core, SocketOptions};
use tinygram_wire::packet::Verify;

/// Carries what one stack sends to the other; returns how many packets.
fn carry(now: Instant, from: &mut Core, to: &mut Core, batch: &mut Batch) -> u64 {
    let mut count = 0;
    while from.has_packets() {
        from.fill(batch);
        batch.drain(0, |octets, _| {
            to.on_packet(now, octets, Verify::Nothing);
            count += 1;
        });
    }
    to.on_batch_end(now);
    count
}

fn main() {
    let megabytes: usize = std::env::args()
        .nth(1)
        .and_then(|arg| arg.parse().ok())
        .expect("a number of megabytes");
    let address = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
    let abilities = Abilities {
        mtu: 1500,
        offload: false,
        headroom: 0,
    };
    let core = |last| Core::with_keys(abilities, &[address(last)], [[1; 16], [2; 16]]);
    let (mut client, mut server) = (core(1), core(2));
    let (mut batch, mut now) = (Batch::default(), Instant::from_nanos(1));
    let context = Context::from_waker(Waker::noop());
    let options = SocketOptions::default();
    let at = SocketAddr::new(address(2), 80);
    let (listener, _) = server.listen(at, 1, &options).expect("a free port");
    let ours = client.connect(now, None, at, &options).expect("a port");
    let (octets, mut written, mut read, mut packets) = (vec![7; 64 * 1024], 0, 0, 0);
    let mut theirs = None;
    while read < megabytes << 20 {
        packets += carry(now, &mut client, &mut server, &mut batch);
        if theirs.is_none()
            && let Poll::Ready(key) = server.poll_accept(listener, 0, &context)
        {
            theirs = Some(key.expect("a connection"));
        }
        if let Some(key) = theirs {
            while let Poll::Ready(some) = server.poll_read(now, key, 1 << 16, &context, |_| {}) {
                read += some.expect("no error");
            }
        }
        packets += carry(now, &mut server, &mut client, &mut batch);
        now += Duration::from_micros(100);
        client.on_time(now);
        server.on_time(now);
        if theirs.is_some() && written < megabytes << 20 {
            let pieces = [IoSlice::new(&octets)];
            if let Poll::Ready(some) = client.poll_write(now, ours, &pieces, false, &context) {
                written += some.expect("no error");
            }
        }
    }
    println!("{packets} packets");
}
