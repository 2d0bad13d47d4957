//! Tests every tunnel that is read, around the same segment, and tunnels that are cut, nested or
//! damaged.

use etherparse::PacketBuilder;
use proptest::prelude::*;
use tinygram_wire::capture::{Frame, LinkType};
use tinygram_wire::decode::{self, Segment, Unread};

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

fn outer(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let len = (20 + payload.len()) as u16;
    let mut bytes = vec![2, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 4, 8, 0];
    bytes.extend([0x45, 0]);
    bytes.extend(len.to_be_bytes());
    bytes.extend([0, 0, 0, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    bytes.extend(payload);
    bytes
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = 50_000_u16.to_be_bytes().to_vec();
    bytes.extend(port.to_be_bytes());
    bytes.extend(((8 + payload.len()) as u16).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(payload);
    outer(17, &bytes)
}

fn ethernet(kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 4];
    bytes.extend(kind.to_be_bytes());
    bytes.extend(payload);
    bytes
}

fn behind(header: &[u8], payload: &[u8]) -> Vec<u8> {
    [header, payload].concat()
}

/// Returns each tunnel's name and the bytes that its standard puts around the inner packet.
fn tunnels() -> Vec<(&'static str, Vec<u8>)> {
    let frame = inner();
    let ip = &frame[14..];
    let ppp = behind(&[0x00, 0x21], ip);
    vec![
        ("IP in IP (RFC 2003)", outer(4, ip)),
        ("GRE (RFC 2784)", outer(47, &behind(&[0, 0, 8, 0], ip))),
        (
            "GRE with checksum, key and sequence (RFC 2890)",
            outer(
                47,
                &behind(&[0xb0, 0, 8, 0, 1, 2, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1], ip),
            ),
        ),
        (
            "GRE with Ethernet",
            outer(47, &behind(&[0, 0, 0x65, 0x58], &frame)),
        ),
        ("ERSPAN I", outer(47, &behind(&[0, 0, 0x88, 0xbe], &frame))),
        (
            "ERSPAN II",
            outer(
                47,
                &behind(
                    &[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 1, 0, 1, 0, 0, 0, 0],
                    &frame,
                ),
            ),
        ),
        (
            "ERSPAN III",
            outer(
                47,
                &behind(
                    &[
                        0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,
                    ],
                    &frame,
                ),
            ),
        ),
        (
            "PPTP (RFC 2637)",
            outer(
                47,
                &behind(&[0x30, 1, 0x88, 0x0b, 0, 40, 0, 1, 0, 0, 0, 1], &ppp),
            ),
        ),
        (
            "VXLAN (RFC 7348)",
            udp(4789, &behind(&[8, 0, 0, 0, 0, 0, 5, 0], &frame)),
        ),
        (
            "Geneve (RFC 8926)",
            udp(
                6081,
                &behind(&[1, 0, 0x65, 0x58, 0, 0, 5, 0, 0, 0, 0, 0], &frame),
            ),
        ),
        (
            "GTP-U (TS 29.281)",
            udp(2152, &behind(&[0x30, 0xff, 0, 49, 0, 0, 0, 1], ip)),
        ),
        (
            "GTP-U with an extension header",
            udp(
                2152,
                &behind(
                    &[0x34, 0xff, 0, 57, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 9, 0],
                    ip,
                ),
            ),
        ),
        (
            "PPPoE (RFC 2516)",
            ethernet(0x8864, &behind(&[0x11, 0, 0, 1, 0, 51], &ppp)),
        ),
        (
            "MPLS (RFC 3032)",
            ethernet(0x8847, &behind(&[0, 1, 0, 64, 0, 2, 1, 64], ip)),
        ),
        (
            "Ethernet in MPLS (RFC 4448)",
            ethernet(0x8847, &[&[0, 2, 1, 64, 0, 0, 0, 0][..], &frame].concat()),
        ),
    ]
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
    for (name, bytes) in tunnels() {
        assert_eq!(look(&bytes), Ok(plain), "{name}");
    }
}

#[test]
fn tunnels_in_tunnels_are_read_and_a_joke_is_not() {
    let plain = look(&inner()).expect("a plain frame is read");
    let nested = |times| {
        let mut bytes = inner();
        for _ in 0..times {
            bytes = outer(4, &bytes[14..]);
        }
        look(&bytes)
    };
    assert_eq!(nested(3), Ok(plain));
    assert_eq!(nested(50), Err(Unread::Tunnel));
}

#[test]
fn what_cannot_be_read_says_so() {
    for (name, bytes) in [
        ("ESP", outer(50, &[1; 60])),
        ("WireGuard", udp(51_820, &[4; 60])),
        ("OpenVPN", udp(1_194, &[0x38; 60])),
        ("L2TP", udp(1_701, &[0; 60])),
    ] {
        assert_eq!(look(&bytes), Err(Unread::Tunnel), "{name}");
    }
}

#[test]
fn a_cut_frame_is_cut_and_nothing_else() {
    let plain = look(&inner()).expect("a plain frame is read");
    for (name, bytes) in tunnels() {
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
        which in 0..15_usize,
        flips in proptest::collection::vec((0..160_usize, any::<u8>()), 1..12),
        cut in 0..200_usize,
    ) {
        let (_, mut bytes) = tunnels().swap_remove(which);
        for (at, value) in flips {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        bytes.truncate(cut.max(1));
        let _ = look(&bytes);
    }
}
