//! Queue counters, an experimental option, between the stack and a peer.

use tinygram_engine::queues::{QueueCounter, QueueCounters};
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_engine::{Flags, Instant};
use tinygram_tcp::SocketOptions;

use super::{IRS, World, header, syn};

/// Returns a connection whose send policy looks at the peer's counters, with a peer that tells them or not.
fn world(peer_tells: bool) -> World {
    let options = SocketOptions {
        send_policy: SendPolicy::named("toggle-both-ends"),
        ..SocketOptions::default()
    };
    assert!(options.send_policy.is_some());
    let mut syn = syn(1460);
    syn.options.counters_permitted = peer_tells;
    let mut world = World::accepted_with(syn, &options);
    // The last quarter of a slot of five milliseconds.
    world.now = Instant::from_nanos(4_000_000);
    world
}

/// A peer that offered them is told them on a pure ACK; another one is not.
#[test]
fn counters_are_told_to_a_peer_that_offered_them() {
    let mut with = world(true);
    let told = with.ack(0, &[7; 100]);
    let (ack, payload) = &told[0];
    assert!(payload.is_empty() && ack.options.counters.is_some());
    let mut without = world(false);
    let told = without.ack(0, &[7; 100]);
    assert!(told.iter().all(|(it, _)| it.options.counters.is_none()));
}

/// Whatever a peer tells, nothing happens but that it is told.
#[test]
fn counters_of_any_size_do_no_harm() {
    for peer_tells in [true, false] {
        let mut world = world(peer_tells);
        let most = QueueCounter {
            area: u32::MAX,
            left: u32::MAX / 2,
        };
        for number in 0..4 {
            let mut ack = header(IRS + 1, world.iss.wrapping_add(1), Flags::ACK);
            let area = most.area.wrapping_mul(number);
            ack.options.counters = Some(QueueCounters {
                unacknowledged: most,
                unread: QueueCounter { area, ..most },
                delayed: QueueCounter { area, left: number },
            });
            world.exchange(ack, &[]);
        }
        let answer = world.ack(0, b"a request");
        assert!(answer.iter().all(|(it, _)| !it.flags.has(Flags::RST)));
    }
}
