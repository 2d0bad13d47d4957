//! Tests every tunnel that is read, around the same segment, and tunnels that are cut, nested or
//! damaged.

mod wraps;

use etherparse::PacketBuilder;
use proptest::prelude::*;
use tinygram_wire::capture::{Frame, LinkType};
use tinygram_wire::decode::{self, Segment, Unread};
use wraps::{WRAPS, udp, v4};

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
