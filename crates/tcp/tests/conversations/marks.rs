//! The time to live and the class of service of what leaves, and the time to live of what came.

use tinygram_engine::extensions::{Ecn, Extensions};

use super::*;

/// The time to live and the octet of DSCP and ECN of each packet that leaves. Notes the initial
/// sequence number of a SYN.
fn marks(world: &mut World) -> Vec<(u8, u8)> {
    let (mut batch, mut all) = (Batch::default(), Vec::new());
    while world.core.has_packets() {
        world.core.fill(&mut batch);
        batch.drain(0, |octets, _| {
            all.push((octets[8], octets[1]));
            let header = packet::read(octets, Verify::Checksum).unwrap().header;
            if header.flags.has(Flags::SYN) {
                world.iss = header.seq;
            }
        });
    }
    all
}

/// Sends a segment of the peer's with this time to live, without taking the answer.
fn arrives(world: &mut World, header: &Header, ttl: u8) {
    let mut path = Path::new(PEER, OURS).unwrap();
    path.set_ttl(ttl);
    let mut packet = vec![0; path.headers_len(&header.options)];
    path.write_headers(header, Checksum::Full, &mut packet);
    world.core.on_packet(world.now, &packet, Verify::Checksum);
    world.core.on_batch_end(world.now);
}

fn marked(ttl: u8, dscp: u8) -> SocketOptions {
    SocketOptions {
        ttl,
        dscp,
        extensions: Some(Extensions {
            ecn: Some(Ecn::IfAsked),
            ..Extensions::MODERN
        }),
        ..SocketOptions::default()
    }
}

const EXPEDITED: u8 = 46;
const ECT_0: u8 = 0b10;

/// A SYN that offers ECN.
fn syn_with_ecn() -> Header {
    Header {
        flags: Flags::SYN.with(Flags::ECE).with(Flags::CWR),
        ..syn(1460)
    }
}

#[test]
fn a_connection_s_packets_are_marked_from_the_syn_ack_on_and_ecn_keeps_its_bits() {
    let mut world = World::listening(&marked(3, EXPEDITED));
    let listener = world.listener();
    arrives(&mut world, &syn_with_ecn(), 57);
    assert_eq!(marks(&mut world), [(3, EXPEDITED << 2)], "the SYN-ACK");
    // Changed for those that begin later.
    world.core.listener_options(listener).ttl = 99;
    let ack = header(IRS + 1, world.iss.wrapping_add(1), Flags::ACK);
    arrives(&mut world, &ack, 58);
    let Poll::Ready(Ok(key)) = world.core.poll_accept(listener, 1, &nobody()) else {
        panic!("a connection waits");
    };
    world.connection = Some(key);
    assert_eq!(world.core.ttl(key), 3);
    assert_eq!(world.core.class(key), EXPEDITED << 2);
    let write = |world: &mut World| {
        let pieces = [IoSlice::new(b"data")];
        let wrote = world
            .core
            .poll_write(world.now, key, &pieces, false, &nobody());
        assert!(matches!(wrote, Poll::Ready(Ok(4))));
        world.core.flush(world.now, key);
        marks(world)
    };
    assert_eq!(write(&mut world), [(3, EXPEDITED << 2 | ECT_0)]);
    world.core.set_nodelay(world.now, key, true);
    world.core.set_ttl(key, 200);
    // The bits of ECN are not the application's.
    world.core.set_class(key, 0b1010_1011);
    assert_eq!(world.core.class(key), 0b1010_1000);
    assert_eq!(write(&mut world), [(200, 0b1010_1000 | ECT_0)]);
    assert_eq!(world.core.info(world.now, key).peer_ttl, Some(58));
    world.core.abort(key);
    assert_eq!(
        marks(&mut world),
        [(200, 0b1010_1000)],
        "a RST is not ECN-capable"
    );
}

#[test]
fn a_syn_and_a_cookie_are_marked_too() {
    let mut core = core();
    let options = marked(5, 10);
    let key = core
        .connect(Instant::from_nanos(1), None, PEER, &options)
        .unwrap();
    let mut world = World {
        core,
        now: Instant::from_nanos(1),
        ours: OURS,
        listener: None,
        connection: Some(key),
        iss: 0,
    };
    assert_eq!(marks(&mut world), [(5, 10 << 2)]);
    assert_eq!(world.core.info(world.now, key).peer_ttl, None);

    // A backlog of one, which is full.
    let (listener, _) = world.core.listen(OURS, 1, &options).unwrap();
    let other = SocketAddr::new(PEER.ip(), 9);
    for from in [PEER, other] {
        let path = Path::new(from, OURS).unwrap();
        let syn = syn(1460);
        let mut packet = vec![0; path.headers_len(&syn.options)];
        path.write_headers(&syn, Checksum::Full, &mut packet);
        world.core.on_packet(world.now, &packet, Verify::Checksum);
        assert_eq!(marks(&mut world), [(5, 10 << 2)]);
    }
    assert_eq!(world.core.counters().cookies_sent, 1);
    assert!(!world.core.has_ready(listener));
}
