//! Tests every tunnel that is read, around the same segment, and tunnels that are cut, nested or
//! damaged.

mod wraps;

use etherparse::PacketBuilder;
use proptest::prelude::*;
use tinygram_wire::capture::{Frame, LinkType};
use tinygram_wire::decode::{self, Segment, Unread};
use wraps::{WRAPS, udp, v4, v6};

const PAYLOAD: [u8; 9] = *b"123456789";

/// Ethernet, IPv4, TCP.
fn inner() -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2])
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 60)
        .tcp(40_000, 7_001, 1_000, 65_535)
        .ack(77);
    let mut bytes = Vec::new();
    builder
        .write(&mut bytes, &PAYLOAD)
        .expect("memory takes all");
    bytes
}

fn look(data: &[u8]) -> Result<Segment, Unread> {
    let frame = Frame {
        number: 1,
        time_ns: 0,
        link: LinkType::ETHERNET,
        data,
        wire_len: data.len() as u32,
    };
    decode::look(&frame).map(|(segment, _)| segment)
}

#[test]
fn the_innermost_segment_counts() {
    let plain = look(&inner()).expect("a plain frame is read");
    assert_eq!(plain.payload, PAYLOAD.len() as u32);
    for (name, wrap) in WRAPS {
        assert_eq!(look(&wrap(&inner())), Ok(plain), "{name}");
    }
}

#[test]
fn tunnels_in_tunnels_are_read_and_a_joke_is_not() {
    let plain = look(&inner()).expect("a plain frame is read");
    let nested = |times| {
        let mut bytes = inner();
        for _ in 0..times {
            bytes = v4(4, &[&bytes[14..]]);
        }
        look(&bytes)
    };
    assert_eq!(nested(3), Ok(plain));
    assert_eq!(nested(50), Err(Unread::Tunnel));
}

#[test]
fn what_cannot_be_read_says_so() {
    for (name, bytes) in [
        ("ESP", v4(50, &[&[1; 60]])),
        ("WireGuard", udp(51_820, &[&[4; 60]])),
        ("OpenVPN", udp(1_194, &[&[0x38; 60]])),
        (
            "L2TP of version 3",
            udp(1_701, &[&[0, 3, 0, 0, 0, 1], &[0; 60]]),
        ),
    ] {
        assert_eq!(look(&bytes), Err(Unread::Tunnel), "{name}");
    }
}

/// The fragment of an IPv4 packet at an offset, in units of eight octets.
fn fragment(mut frame: Vec<u8>, offset: u16, more: bool) -> Vec<u8> {
    let place = offset | if more { 0x2000 } else { 0 };
    frame[20..22].copy_from_slice(&place.to_be_bytes());
    frame
}

#[test]
fn only_a_fragment_that_may_hold_tcp_is_one() {
    let vxlan = udp(4_789, &[&[8, 0, 0, 0, 0, 0, 0, 0], &inner()]);
    let ping_in_vxlan = udp(4_789, &[&[8, 0, 0, 0, 0, 0, 0, 0], &v4(1, &[&[8; 40]])]);
    let other = Err(Unread::NoTcp);
    let cases = [
        ("TCP", inner(), Err(Unread::Fragment), Err(Unread::Fragment)),
        ("ICMP", v4(1, &[&[8; 60]]), other, other),
        ("SCTP", v4(132, &[&[8; 60]]), other, other),
        ("DNS", udp(53, &[&[8; 60]]), other, other),
        ("QUIC", udp(443, &[&[0xc3; 60]]), Err(Unread::Quic), other),
        ("UDP without its header", v4(17, &[&[7; 4]]), other, other),
        ("VXLAN", vxlan, Err(Unread::Fragment), other),
        ("no TCP in VXLAN", ping_in_vxlan, other, other),
        (
            "WireGuard",
            udp(51_820, &[&[4; 60]]),
            Err(Unread::Tunnel),
            other,
        ),
        (
            "ESP",
            v4(50, &[&[1; 60]]),
            Err(Unread::Tunnel),
            Err(Unread::Tunnel),
        ),
        (
            "IP in IP",
            v4(4, &[&inner()[14..]]),
            Err(Unread::Fragment),
            Err(Unread::Fragment),
        ),
        (
            "GRE",
            v4(47, &[&[0, 0, 8, 0], &inner()[14..]]),
            Err(Unread::Fragment),
            Err(Unread::Fragment),
        ),
        (
            "a tunnel that ends behind its header",
            v4(47, &[&[0, 0, 8, 0]]),
            Err(Unread::Fragment),
            Err(Unread::Fragment),
        ),
    ];
    for (name, whole, first, later) in cases {
        assert_eq!(look(&fragment(whole.clone(), 0, true)), first, "{name}");
        for (offset, more) in [(185, true), (370, false)] {
            let rest = fragment(whole.clone(), offset, more);
            assert_eq!(look(&rest), later, "{name} from {offset}");
        }
    }
}

/// The fragment header of IPv6 (RFC 8200, section 4.5).
#[test]
fn ipv6_names_what_is_fragmented_behind_its_header() {
    let tcp = &inner()[34..];
    let with = |next: u8, place: u16, rest: &[u8]| {
        let [high, low] = place.to_be_bytes();
        look(&v6(44, &[&[next, 0, high, low, 0, 0, 0, 1], rest]))
    };
    let datagram = [0x9c, 0x40, 0, 53, 0, 60, 0, 0, 1, 2, 3, 4];
    let options = [6, 0, 1, 4, 0, 0, 0, 0];
    for place in [1, 185 << 3 | 1, 370 << 3] {
        assert_eq!(with(6, place, tcp), Err(Unread::Fragment));
        assert_eq!(with(60, place, &options), Err(Unread::Fragment));
        assert_eq!(with(17, place, &datagram), Err(Unread::NoTcp));
        assert_eq!(with(58, place, &[128; 40]), Err(Unread::NoTcp));
    }
    // A header, but no fragment (RFC 6946).
    let whole = with(6, 0, tcp).expect("nothing is missing");
    assert_eq!(whole.payload, PAYLOAD.len() as u32);
    assert_eq!(with(17, 0, &datagram), Err(Unread::NoTcp));
}

#[test]
fn what_was_captured_as_a_whole_has_not_been_cut() {
    for (name, bytes) in [
        ("TCP", v4(6, &[&[0; 15]])),
        ("TCP over IPv6", v6(6, &[&[0; 15]])),
        ("options of IPv6", v6(60, &[&[6, 9, 0, 0, 0, 0, 0, 0]])),
        ("UDP", v4(17, &[&[0; 7]])),
        ("GRE", v4(47, &[&[0; 3]])),
        ("VXLAN", udp(4_789, &[&[8, 0, 0, 0]])),
        ("IP in IP", v4(4, &[&inner()[14..30]])),
    ] {
        assert_eq!(look(&bytes), Err(Unread::NoTcp), "{name}");
        let frame = Frame {
            number: 1,
            time_ns: 0,
            link: LinkType::ETHERNET,
            data: &bytes[..bytes.len() - 1],
            wire_len: bytes.len() as u32,
        };
        let cut = decode::look(&frame).map(|(segment, _)| segment);
        assert!(
            name == "options of IPv6" || cut == Err(Unread::Cut),
            "{name}"
        );
    }
}

#[test]
fn keys_of_a_tunnel_are_no_tunnel() {
    let on_its_port = |payload: &[u8]| look(&udp(4_500, &[payload]));
    assert_eq!(on_its_port(&[1; 60]), Err(Unread::Tunnel));
    assert_eq!(on_its_port(&[0xff]), Err(Unread::NoTcp));
    let keys = [[0; 4].as_slice(), &[7; 60]].concat();
    assert_eq!(on_its_port(&keys), Err(Unread::NoTcp));
}

#[test]
fn a_cut_frame_is_cut_and_nothing_else() {
    let plain = look(&inner()).expect("a plain frame is read");
    for (name, wrap) in WRAPS {
        let bytes = wrap(&inner());
        // The fields after the window (checksum and urgent pointer) are not needed.
        let headers = bytes.len() - PAYLOAD.len() - 4;
        for cut in 0..bytes.len() {
            let frame = Frame {
                number: 1,
                time_ns: 0,
                link: LinkType::ETHERNET,
                data: &bytes[..cut],
                wire_len: bytes.len() as u32,
            };
            let seen = decode::look(&frame).map(|(segment, _)| segment);
            match cut >= headers {
                true => assert_eq!(seen, Ok(plain), "{name} cut at {cut}"),
                false => assert!(seen.is_err(), "{name} cut at {cut}: {seen:?}"),
            }
        }
    }
}

proptest! {
    #[test]
    fn damage_is_no_panic(
        which in 0..WRAPS.len(),
        flips in proptest::collection::vec((0..160_usize, any::<u8>()), 1..12),
        cut in 0..200_usize,
    ) {
        let (_, wrap) = WRAPS[which];
        let mut bytes = wrap(&inner());
        for (at, value) in flips {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        bytes.truncate(cut.max(1));
        let _ = look(&bytes);
    }
}
