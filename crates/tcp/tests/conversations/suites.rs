//! Errors that other projects' test suites found, each with a conversation of its own.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::task::Poll;

use tinygram_engine::{Duration, Flags, Instant, State, Timestamps};
use tinygram_tcp::{Route, SocketOptions};
use tinygram_wire::encode::{Checksum, Path};

use super::{IRS, OURS, PEER, World, core, header, nobody, syn};

/// An ACK below ISS belongs to an older connection: RFC 9293, section 3.10.7.3, requires a reset.
#[test]
fn an_old_connections_ack_in_syn_sent_draws_a_reset() {
    for below in [1, 100, 1 << 30, (1 << 31) - 2] {
        let mut world = World::opening();
        let ack = world.iss.wrapping_sub(below);
        let answer = world.exchange(header(77, ack, Flags::ACK), &[]);
        assert_eq!(answer.len(), 1, "{below}");
        assert_eq!((answer[0].0.seq, answer[0].0.flags), (ack, Flags::RST));
        assert_eq!(world.core.state(world.key()), State::SynSent);
    }
}

/// RFC 5961, section 4.2: a rebooted peer's SYN is challenged "irrespective of the sequence number".
#[test]
fn a_rebooted_peers_syn_is_challenged_wherever_it_stands() {
    for seq in [1_u32, 50_000, 1 << 31, u32::MAX - 5, 0u32.wrapping_sub(IRS)] {
        let mut world = World::accepted(syn(1460));
        let answer = world.exchange(header(IRS.wrapping_add(seq), 0, Flags::SYN), &[]);
        assert_eq!(answer.len(), 1, "{seq}");
        let (ack, _) = &answer[0];
        assert_eq!((ack.ack, ack.flags), (IRS + 1, Flags::ACK));
    }
}

/// An ACK of a number before our SYN is a guess; data in that segment is not accepted.
#[test]
fn an_ack_below_the_initial_number_is_a_guess() {
    let mut world = World::accepted(syn(1460));
    let answer = world.segment(1, 0u32.wrapping_sub(9), Flags::ACK, b"forged");
    assert_eq!(answer.len(), 1);
    assert_eq!(world.core.info(world.now, world.key()).readable, 0);
}

/// An MSS of one octet would cut every write into as many segments as octets (CVE-2019-11479).
#[test]
fn a_peer_that_offers_an_mss_of_one_gets_no_floods() {
    let mut world = World::accepted(syn(1));
    let sent = world.write(&[7; 480]);
    assert!(sent.len() <= 11, "{} segments", sent.len());
    assert!(sent.iter().all(|(_, payload)| payload.len() >= 36));
}

/// A bare FIN at a listener is dropped (RFC 9293, section 3.10.7.2).
#[test]
fn a_bare_fin_in_listen_draws_nothing() {
    let mut core = core();
    core.listen(OURS, 5, &SocketOptions::default()).unwrap();
    let mut world = World {
        core,
        now: Instant::from_nanos(1),
        ours: OURS,
        listener: None,
        connection: None,
        iss: 0,
    };
    assert_eq!(world.exchange(header(9, 0, Flags::FIN), &[]), []);
    let answer = world.exchange(header(9, 9, Flags::FIN.with(Flags::ACK)), &[]);
    assert_eq!(answer[0].0.flags, Flags::RST, "with an ACK it is answered");
}

/// After close, nobody reads: the RST's number is the segment's ACK number (RFC 9293, section
/// 3.10.7.1).
#[test]
fn data_after_close_draws_a_reset_at_its_acknowledgment() {
    let mut world = World::accepted(syn(1460));
    let sent = world.write(b"bye");
    assert_eq!(sent.len(), 1);
    world.core.release(world.now, world.key());
    assert!(world.sent()[0].0.flags.has(Flags::FIN));
    let header = header(IRS + 1, world.iss.wrapping_add(1), Flags::ACK);
    let path = Path::new(PEER, OURS).unwrap();
    let mut packet = vec![0; path.headers_len(&header.options)];
    packet.extend_from_slice(b"more");
    path.write_headers(&header, Checksum::Full, &mut packet);
    let answer = world.arrives(&packet);
    assert_eq!(answer.len(), 1);
    assert_eq!(answer[0].0.flags, Flags::RST);
    assert_eq!(answer[0].0.seq, world.iss.wrapping_add(1));
}

/// RFC 7323, section 3.2: a RST carries timestamps if they were negotiated.
#[test]
fn a_reset_carries_timestamps() {
    let mut syn = syn(1460);
    syn.options.timestamps = Some(Timestamps {
        value: 700,
        echo: 0,
    });
    let mut world = World::accepted(syn);
    world.now += Duration::from_secs(1);
    world.core.set_abort_on_drop(world.key(), true);
    world.core.release(world.now, world.key());
    let sent = world.sent();
    assert!(sent[0].0.flags.has(Flags::RST));
    let timestamps = sent[0].0.options.timestamps.expect("agreed on");
    assert_eq!(timestamps.echo, 700);
}

/// RFC 2018: a FIN beyond a hole takes a sequence number, and is reported.
#[test]
fn a_lone_fin_out_of_order_is_sacked() {
    let mut world = World::accepted(syn(1460));
    let answer = world.segment(101, 1, Flags::ACK.with(Flags::FIN), &[]);
    let blocks: Vec<_> = answer[0].0.options.sack.iter().collect();
    assert_eq!(blocks, [(IRS + 101, IRS + 102)]);
}

/// RFC 2883: octets that arrive twice are reported wherever they lie in the segment.
#[test]
fn a_duplicate_in_the_middle_of_a_segment_is_reported() {
    let mut world = World::accepted(syn(1460));
    world.segment(201, 1, Flags::ACK, &[1; 100]);
    let answer = world.segment(151, 1, Flags::ACK, &[1; 200]);
    let blocks: Vec<_> = answer[0].0.options.sack.iter().collect();
    assert_eq!(blocks, [(IRS + 201, IRS + 301), (IRS + 151, IRS + 351)]);
}

/// RFC 9293, section 3.9.2.2: a hard error ends a connection that is being opened, if it quotes a
/// segment in flight.
#[test]
fn a_port_that_is_unreachable_refuses_the_connection() {
    let mut world = World::opening();
    let iss = world.iss;
    world.icmp(3, 3, 0, iss.wrapping_add(1));
    assert_eq!(world.error(), None, "a guess");
    world.icmp(3, 3, 0, iss);
    assert_eq!(world.error(), Some(ErrorKind::ConnectionRefused));
    assert_eq!(world.error(), None, "it is taken once");
}

/// An established connection survives every error (RFC 5461, section 4), and one being opened
/// survives a soft error.
#[test]
fn a_soft_error_is_kept_and_ends_nothing() {
    let mut world = World::opening();
    let iss = world.iss;
    world.icmp(11, 0, 0, iss);
    assert_eq!(world.error(), None);
    assert_eq!(world.core.state(world.key()), State::SynSent);
    // Nobody answers; the error kept is the reason given.
    while world.core.state(world.key()) != State::Closed {
        world.now = world.core.next_alarm();
        world.core.on_time(world.now);
    }
    assert_eq!(world.error(), Some(ErrorKind::HostUnreachable));

    let mut world = World::accepted(syn(1460));
    world.write(b"on its way");
    let first = world.iss.wrapping_add(1);
    world.icmp(3, 3, 0, first);
    assert_eq!(world.core.state(world.key()), State::Established);
    assert_eq!(world.error(), None);
}

/// RFC 1191, RFC 5927, section 7: a segment that was too big is resent at once in smaller ones. A
/// guess changes nothing, and an MTU below 552 octets is not believed.
#[test]
fn a_packet_that_was_too_big_is_sent_again_in_smaller_ones() {
    let mut world = World::accepted(syn(1460));
    let sent = world.write(&[3; 2920]);
    assert_eq!(sent[0].1.len(), 1460);
    let first = sent[0].0.seq;
    assert_eq!(world.icmp(3, 4, 576, first.wrapping_sub(10_000)), []);
    let again = world.icmp(3, 4, 1000, first);
    assert!(!again.is_empty());
    assert!(again.iter().all(|(_, payload)| payload.len() <= 960));
    assert_eq!(again[0].0.seq, first);
    world.icmp(3, 4, 68, first);
    assert_eq!(world.core.info(world.now, world.key()).mss, 512);
    // A new connection to the same peer uses the limit from the start.
    let options = SocketOptions::default();
    let local = Some(SocketAddr::new(OURS.ip(), 0));
    let other = world
        .core
        .connect(world.now, local, SocketAddr::new(PEER.ip(), 9), &options);
    assert_eq!(world.core.info(world.now, other.unwrap()).mss, 512);
}

/// RFC 8201, section 4: ten minutes after a report, larger segments are tried again, on this
/// connection and on new ones to the same peer; a new report ends that at once.
#[test]
fn what_a_router_reported_is_forgotten_after_ten_minutes() {
    let mut world = World::accepted(syn(1460));
    let first = world.write(&[3; 2920])[0].0.seq;
    world.icmp(3, 4, 1000, first);
    world.segment(1, 2921, Flags::ACK, &[]);
    let local = Some(SocketAddr::new(OURS.ip(), 0));
    let remote = SocketAddr::new(PEER.ip(), 9);
    let options = SocketOptions::default();
    let now = world.now;
    let another_begins_with = |world: &mut World| {
        let (now, core) = (world.now, &mut world.core);
        let other = core.connect(now, local, remote, &options).unwrap();
        let mss = core.info(now, other).mss;
        core.set_abort_on_drop(other, true);
        core.release(now, other);
        world.sent();
        mss
    };
    assert_eq!(another_begins_with(&mut world), 960);
    let longest = |sent: Vec<(tinygram_wire::packet::Header, Vec<u8>)>| {
        sent.iter().map(|(_, payload)| payload.len()).max()
    };
    world.now = now + Duration::from_secs(599);
    assert_eq!(longest(world.write(&[3; 1460])), Some(960));
    world.segment(1, 4381, Flags::ACK, &[]);
    assert_eq!(another_begins_with(&mut world), 960);
    world.now = now + Duration::from_secs(601);
    assert_eq!(another_begins_with(&mut world), 1460);
    let sent = world.write(&[3; 1460]);
    assert_eq!(longest(sent.clone()), Some(1460));
    let again = world.icmp(3, 4, 1000, sent[0].0.seq);
    assert_eq!(longest(again), Some(960));
    assert_eq!(another_begins_with(&mut world), 960);
}

/// What is known of a route bounds what is sent, what is announced, and the initial window.
#[test]
fn a_route_says_what_its_path_takes() {
    let options = SocketOptions {
        route: Route {
            mtu: Some(640),
            advertised_mss: Some(900),
            initial_cwnd: Some(3),
        },
        ..SocketOptions::default()
    };
    let mut world = World::listening(&options);
    let listener = world.listener();
    let answer = world.exchange(syn(1460), &[]);
    assert_eq!(answer[0].0.options.mss, Some(900));
    world.iss = answer[0].0.seq;
    world.ack(0, &[]);
    let Poll::Ready(Ok(key)) = world.core.poll_accept(listener, 1, &nobody()) else {
        panic!("a connection waits");
    };
    world.connection = Some(key);
    let sent = world.write(&[3; 2400]);
    let lens: Vec<_> = sent.iter().map(|(_, payload)| payload.len()).collect();
    assert_eq!(lens, [600; 3], "a window of three segments");
    let last = world.segment(1, 1801, Flags::ACK, &[]);
    assert_eq!(last[0].1.len(), 600);
    // A router's report holds for ten minutes, and the route for ever.
    world.icmp(3, 4, 576, world.iss.wrapping_add(1801));
    world.segment(1, 2401, Flags::ACK, &[]);
    assert_eq!(world.core.info(world.now, world.key()).mss, 536);
    world.now += Duration::from_secs(601);
    assert_eq!(world.write(&[3; 1000])[0].1.len(), 600);
}

/// A window that a route states is not bounded as the profile's own is (RFC 6928, section 2).
#[test]
fn a_route_may_state_a_large_window() {
    for (stated, segments) in [(None, 10), (Some(30), 30)] {
        let mut options = SocketOptions::default();
        options.route.initial_cwnd = stated;
        let mut world = World::accepted_with(syn(1460), &options);
        let sent = world.write(&[3; 50_000]);
        let lens: Vec<_> = sent.iter().map(|(_, payload)| payload.len()).collect();
        assert_eq!(lens, vec![1460; segments]);
    }
}

/// Readiness as poll(2) reports it, without any waiting task.
#[test]
fn readiness_follows_what_can_be_done() {
    let mut world = World::accepted(syn(1460));
    let ready = world.core.readiness(world.key());
    assert!(ready.writable && !ready.readable && !ready.peer_closed);
    world.segment(1, 1, Flags::ACK, b"hello");
    assert!(world.core.readiness(world.key()).readable);
    let peek = |world: &World, most| {
        let there: Vec<&[u8]> = world.core.peek(world.key(), most).collect();
        there.concat()
    };
    assert_eq!(peek(&world, 3), b"hel", "it is still there");
    assert_eq!(peek(&world, 9), b"hello");
    world.segment(6, 1, Flags::ACK.with(Flags::FIN), &[]);
    let ready = world.core.readiness(world.key());
    assert!(ready.readable && ready.peer_closed && !ready.hung_up);
    world.segment(7, 1, Flags::RST, &[]);
    let ready = world.core.readiness(world.key());
    assert!(ready.failed && ready.hung_up);
    assert_eq!(world.error(), Some(ErrorKind::ConnectionReset));
    assert!(!world.core.readiness(world.key()).failed, "it was taken");
}
