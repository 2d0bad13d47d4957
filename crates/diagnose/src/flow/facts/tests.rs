//! The MSS, the roles and the way, derived from a connection's segments.

use std::net::SocketAddr;
use std::num::NonZeroU16;

use super::super::ends::Ends;
use super::super::mark::Mark;
use super::*;

fn between(one: &str, other: &str) -> Connection {
    let end = |text: &str| text.parse::<SocketAddr>().expect(text).into();
    let ends = Ends {
        ends: [end(one), end(other)],
    };
    Connection::new(ends, 0, Mark::default())
}

const LAN: [&str; 2] = ["10.0.0.1:40000", "10.0.0.2:80"];

#[test]
fn the_mss_is_the_lesser_offer_less_the_timestamps() {
    let mss = |own, peer, timestamps| {
        let mut connection = between(LAN[0], LAN[1]);
        connection.halves[0].path.mss_option = NonZeroU16::new(own);
        connection.halves[1].path.mss_option = NonZeroU16::new(peer);
        connection.halves[0].timestamps = timestamps;
        connection.settle_mss();
        connection.mss(0)
    };
    assert_eq!(mss(1460, 1400, false), 1400);
    assert_eq!(mss(1400, 1460, true), 1388);
    assert_eq!((mss(1300, 0, false), mss(0, 1300, false)), (1300, 1300));
    // No MSS is taken to be smaller than this.
    assert_eq!((mss(100, 100, true), mss(99, 99, true)), (88, 88));
    assert_eq!(mss(101, 101, true), 89);
}

/// The MSS without a handshake: Ethernet's, jumbo frames', the loopback's, or a length that recurs.
#[test]
fn the_mss_is_guessed_by_addresses_and_lengths() {
    let guess = |[one, other]: [&str; 2], max_len, max_seen, timestamps| {
        let mut connection = between(one, other);
        let half = &mut connection.halves[0];
        (half.max_len, half.max_seen, half.timestamps) = (max_len, max_seen, timestamps);
        connection.settle_mss();
        connection.mss(0)
    };
    let v6 = ["[fd00::1]:40000", "[fd00::2]:80"];
    let own = ["127.0.0.1:40000", "127.0.0.1:80"];
    assert_eq!(guess(LAN, 100, 9, false), 1460);
    assert_eq!(guess(LAN, 100, 9, true), 1448);
    assert_eq!(guess(v6, 100, 9, false), 1440);
    // Linux's loopback device has an MTU of 65,536; what timestamps take is taken once.
    assert_eq!(guess(own, 100, 9, false), 65_495);
    assert_eq!(guess(own, 65_483, 9, true), 65_483);
    assert_eq!(guess(["[::1]:40000", "[::1]:80"], 100, 9, false), 65_475);
    for len in [8900, 8960] {
        assert_eq!(guess(LAN, len, 1, false), len);
    }
    assert_eq!(guess(LAN, 8948, 1, true), 8948);
    assert_eq!(
        (guess(LAN, 8899, 1, false), guess(LAN, 8961, 1, false)),
        (1460, 1460)
    );
    // A path with a smaller MTU: four times in a row.
    assert_eq!(
        (guess(LAN, 1380, 4, false), guess(LAN, 1380, 3, false)),
        (1380, 1460)
    );
    assert_eq!(
        (guess(LAN, 500, 4, false), guess(LAN, 499, 4, false)),
        (500, 1460)
    );
    assert_eq!(guess(LAN, 1459, 4, false), 1459);
}

#[test]
fn the_client_is_who_opened_or_who_has_the_higher_port() {
    let client = |one: &str, other: &str| between(one, other).client();
    assert_eq!(client("10.0.0.1:40000", "10.0.0.2:80"), 0);
    assert_eq!(client("10.0.0.1:80", "10.0.0.2:40000"), 1);
    assert_eq!(client("10.0.0.1:1023", "10.0.0.2:1024"), 1);
    // Neither port belongs to a service, or both do.
    assert_eq!(client("10.0.0.1:1024", "10.0.0.2:5000"), 1);
    assert_eq!(client("10.0.0.1:5000", "10.0.0.2:1024"), 0);
    assert_eq!(client("10.0.0.1:80", "10.0.0.2:443"), 1);
    assert_eq!(client("10.0.0.1:7000", "10.0.0.2:7000"), 0);
    let mut opened = between("10.0.0.1:80", "10.0.0.2:40000");
    opened.client = Some(0);
    assert_eq!(
        (opened.client(), opened.side(0), opened.side(1)),
        (0, Side::Client, Side::Server)
    );
}

#[test]
fn the_round_trip_is_the_way_to_both_ends() {
    let mut connection = between(LAN[0], LAN[1]);
    connection.halves[0].path.handshake_ns = 3000;
    assert_eq!(connection.rtt_ns(), None);
    connection.halves[1].path.ack_min_ns = 40;
    assert_eq!(connection.rtt_ns(), Some(3040));
}

/// Both segments were answered on their own before, as whole messages are.
#[test]
fn two_segments_that_were_answered_alone_are_two_messages() {
    let pieces = |answered, last, next| {
        let mut connection = between(LAN[0], "10.0.0.2:5000");
        connection.halves[0].turns.answered_len = answered;
        connection.halves[0].last_len = last;
        connection.pieces(0, &[], next)
    };
    assert_eq!(pieces(40, 40, 40), Pieces::Pipelined);
    assert_eq!(pieces(40, 40, 41), Pieces::Unknown);
    assert_eq!(pieces(40, 41, 40), Pieces::Unknown);
    assert_eq!(pieces(0, 0, 0), Pieces::Unknown);
}

#[test]
fn private_addresses_are_those_of_no_way_out() {
    let private = |text: &str| is_private(text.parse().expect(text));
    for address in [
        "10.0.0.1",
        "172.16.3.4",
        "192.168.1.1",
        "127.0.0.1",
        "169.254.1.1",
        "100.64.0.1",
        "100.127.255.255",
        "198.18.0.1",
        "198.19.255.255",
        "::1",
        "fd00::1",
        "fe80::1",
    ] {
        assert!(private(address), "{address}");
    }
    for address in [
        "8.8.8.8",
        "172.32.0.1",
        "100.63.255.255",
        "100.128.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "101.64.0.1",
        "2001:db8::1",
    ] {
        assert!(!private(address), "{address}");
    }
}

/// A public address nearer than any route out of a private network allows, in a tunnel or made up.
#[test]
fn a_relay_answers_for_a_public_host() {
    let relayed = |one: &str, change: fn(&mut Connection)| {
        let mut connection = between("10.0.0.1:40000", one);
        connection.halves[0].path.handshake_ns = 2_499_999;
        connection.raw_ip = true;
        change(&mut connection);
        connection.is_relayed()
    };
    assert!(relayed("8.8.8.8:443", |_| {}));
    assert!(!relayed("10.0.0.9:443", |_| {}));
    assert!(!relayed("8.8.8.8:443", |c| c.halves[0].path.handshake_ns = 2_500_000));
    assert!(!relayed("8.8.8.8:443", |c| c.halves[0].path.handshake_ns = u32::MAX));
    assert!(!relayed("8.8.8.8:443", |c| c.raw_ip = false));
    let made_up = |c: &mut Connection| {
        c.raw_ip = false;
        c.halves[1].path.ttl = 2;
    };
    assert!(relayed("8.8.8.8:443", made_up));
    let not_the_public_one = |c: &mut Connection| {
        c.raw_ip = false;
        c.halves[0].path.ttl = 2;
    };
    assert!(!relayed("8.8.8.8:443", not_the_public_one));
}

/// A private and a public address without a router between: both times to live are as systems set them, however long
/// the relay took to answer.
#[test]
fn no_public_host_is_reached_without_a_router() {
    let relayed = |client: &str, server: &str, ttls: [u8; 2]| {
        let mut connection = between(client, server);
        for (half, ttl) in connection.halves.iter_mut().zip(ttls) {
            (half.path.ttl, half.path.handshake_ns) = (ttl, 44_000_000);
        }
        connection.is_relayed()
    };
    let through = |ttls| relayed("10.0.0.1:40000", "8.8.8.8:443", ttls);
    for ttl in [64, 128, 255] {
        assert!(through([64, ttl]), "{ttl}");
        assert!(!relayed("10.0.0.1:40000", "10.0.0.2:443", [64, ttl]));
        assert!(!relayed("9.9.9.9:40000", "8.8.8.8:443", [64, ttl]));
    }
    for ttls in [[64, 63], [63, 64], [0, 64], [64, 254], [127, 128]] {
        assert!(!through(ttls), "{ttls:?}");
    }
}

/// Between two private addresses, or two public ones, the server's MSS tells, or an address for tests on a TUN device.
#[test]
fn a_link_that_only_a_relay_makes() {
    let relayed = |[one, other]: [&str; 2], mss, raw_ip| {
        let mut connection = between(one, other);
        connection.client = Some(0);
        connection.halves[1].path.mss_option = NonZeroU16::new(mss);
        connection.halves[0].path.handshake_ns = 2_499_999;
        connection.raw_ip = raw_ip;
        connection.is_relayed()
    };
    let public = ["9.9.9.9:40000", "8.8.8.8:443"];
    for ends in [LAN, public] {
        assert!(relayed(ends, 16_397, false) && relayed(ends, 65_494, false));
        assert!(!relayed(ends, 16_396, false) && !relayed(ends, 65_495, false));
        assert!(!relayed(ends, 1460, true));
    }
    let v6 = ["[fd00::1]:40000", "[fd00::2]:80"];
    assert!(relayed(v6, 65_474, false) && !relayed(v6, 65_475, false));
    assert!(!relayed(["10.0.0.1:40000", "10.0.0.1:80"], 30_000, false));
    assert!(!relayed(["127.0.0.1:40000", "127.0.0.2:80"], 30_000, false));
    let tun = ["198.18.0.1:40000", "10.0.0.2:80"];
    assert!(relayed(tun, 1460, true) && !relayed(tun, 1460, false));
    // What the client says of itself tells nothing of the server.
    let mut client = between(LAN[0], LAN[1]);
    client.client = Some(0);
    client.halves[0].path.mss_option = NonZeroU16::new(30_000);
    client.halves[0].path.handshake_ns = 1;
    assert!(!client.is_relayed());
    // A slow way is no relay's.
    let mut slow = between(LAN[0], LAN[1]);
    slow.client = Some(0);
    slow.halves[1].path.mss_option = NonZeroU16::new(30_000);
    slow.halves[0].path.handshake_ns = 2_500_000;
    assert!(!slow.is_relayed());
}
