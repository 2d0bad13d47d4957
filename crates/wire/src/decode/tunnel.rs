//! Reads the protocols that carry IP besides Ethernet and IP itself. It looks for a segment inside
//! them and returns the innermost one, as if nothing were around it.
//!
//! Nothing here runs for a plain frame. Every step goes forward in the frame, and the depth is
//! bounded, so no frame can make the reader loop.

use super::{Bytes, IPV4, IPV6, Look, SERVICE_VLAN, Unread, VLAN, be16, ether_type, ip};

/// How many tunnels may be nested; no real network has more.
const DEPTH: u8 = 6;

/// Reads link types that wrap IP in a few bytes of their own.
#[cold]
pub(super) fn link(bytes: Bytes<'_>, link: u16) -> Look {
    match link {
        PPP_LINK | PPP_HDLC => framed_ppp(bytes, 0),
        C_HDLC => ether_type(bytes, 2, 0),
        PPP_ETHER => pppoe(bytes, 0),
        _ => Err(Unread::LinkType),
    }
}

/// Reads the payload of an EtherType other than IP's and VLANs'.
#[cold]
pub(super) fn ether(bytes: Bytes<'_>, kind: u16, depth: u8) -> Look {
    match kind {
        PPPOE_SESSION => pppoe(bytes, depth),
        MPLS | MPLS_MULTICAST => mpls(bytes, depth + 1),
        NSH => nsh(bytes, depth + 1),
        // IEEE 802.1ah: a service tag, then the customer's frame.
        0x88e7 if depth < DEPTH => ether_type(bytes.behind(4)?, 12, depth + 1),
        // A length in place of a type (IEEE 802.3); SNAP (RFC 1042) names the type.
        ..=1_500 if depth < DEPTH => match bytes.data.get(..6) {
            Some([0xaa, 0xaa, 3, 0, 0, 0]) => ether_type(bytes, 6, depth + 1),
            _ => Err(Unread::NoTcp),
        },
        // Cisco's metadata, with a group's tag: version, length in units of four octets less one, options.
        0x8909 if depth < DEPTH => {
            let words = usize::from(*bytes.data.get(1).ok_or(Unread::Cut)?);
            ether_type(bytes, 2 + words * 4, depth + 1)
        }
        // MACsec.
        0x88e5 => Err(Unread::Tunnel),
        _ => Err(Unread::NoTcp),
    }
}

/// Reads the payload of an IP protocol other than TCP.
#[cold]
pub(super) fn protocol(bytes: Bytes<'_>, protocol: u8, depth: u8) -> Look {
    if depth >= DEPTH {
        return Err(Unread::Tunnel);
    }
    bytes.unless_whole(carried(bytes, protocol, depth + 1))
}

fn carried(bytes: Bytes<'_>, protocol: u8, depth: u8) -> Look {
    match protocol {
        // RFC 2003 and RFC 4213.
        4 | 41 => ip(bytes, depth),
        17 => udp(bytes, depth),
        47 => gre(bytes, depth),
        50 => Err(Unread::Tunnel),
        51 => authentication(bytes, depth),
        // EtherIP (RFC 3378).
        97 => ether_type(bytes.behind(2)?, 12, depth),
        // MPLS in IP (RFC 4023).
        137 => mpls(bytes, depth),
        // L2TP version 3: the packet does not say how long its cookie is.
        115 => Err(Unread::Tunnel),
        _ => Err(Unread::NoTcp),
    }
}

/// Returns why a fragment gives no segment. Each fragment names the protocol of the whole packet; the first one
/// also shows what is in a tunnel, or that it is none. What follows the first one of UDP may be anything, and is
/// counted with the first one.
#[cold]
pub(super) fn fragment(bytes: Bytes<'_>, protocol: u8, first: bool, depth: u8) -> Unread {
    match protocol {
        super::TCP => Unread::Fragment,
        // What an option header announces is known only behind it.
        0 | 43 | 60 => Unread::Fragment,
        17 if !first || bytes.data.len() < 8 => Unread::NoTcp,
        4 | 41 | 47 | 51 | 97 | 137 if !first => Unread::Fragment,
        _ if depth >= DEPTH => Unread::Tunnel,
        _ => match carried(bytes, protocol, depth + 1) {
            Ok(_) | Err(Unread::Cut) => Unread::Fragment,
            Err(reason) => reason,
        },
    }
}

/// Reads version, type and code, session, length (RFC 2516, section 4), then PPP.
fn pppoe(bytes: Bytes<'_>, depth: u8) -> Look {
    ppp(bytes.behind(6)?, depth)
}

/// Reads PPP behind its address and control field, if that is not left out (RFC 1662).
fn framed_ppp(bytes: Bytes<'_>, depth: u8) -> Look {
    match bytes.data.get(..2) {
        Some([0xff, 0x03]) => ppp(bytes.behind(2)?, depth),
        _ => ppp(bytes, depth),
    }
}

fn ppp(bytes: Bytes<'_>, depth: u8) -> Look {
    let first = *bytes.data.first().ok_or(Unread::Cut)?;
    // A compressed protocol field has one byte, which is odd (RFC 1661, section 6.5).
    let (protocol, header) = match first & 1 {
        1 => (u16::from(first), 1),
        _ => (be16(bytes.data, 0).ok_or(Unread::Cut)?, 2),
    };
    match protocol {
        0x0021 | 0x0057 => ip(bytes.behind(header)?, depth),
        0x0281 => mpls(bytes.behind(header)?, depth),
        0x00fd | 0x0053 => Err(Unread::Tunnel),
        _ => Err(Unread::NoTcp),
    }
}

/// Steps over a stack of labels (RFC 3032). Nothing says what follows: Ethernet by its type, behind a
/// control word or without one (RFC 4448), else IP by its version.
fn mpls(mut bytes: Bytes<'_>, depth: u8) -> Look {
    if depth >= DEPTH {
        return Err(Unread::Tunnel);
    }
    for _ in 0..16 {
        let bottom = bytes.data.get(2).ok_or(Unread::Cut)? & 1 == 1;
        bytes = bytes.behind(4)?;
        if !bottom {
            continue;
        }
        return match bytes.data.first().ok_or(Unread::Cut)? >> 4 {
            _ if is_ethernet(bytes) => ether_type(bytes, 12, depth),
            4 | 6 => ip(bytes, depth),
            0 => ether_type(bytes.behind(4)?, 12, depth),
            _ => Err(Unread::Tunnel),
        };
    }
    Err(Unread::Tunnel)
}

/// Returns whether a frame begins here: a type that carries IP, with an IP header of that version behind it.
fn is_ethernet(bytes: Bytes<'_>) -> bool {
    let mut at = 12;
    while let Some(VLAN | SERVICE_VLAN) = be16(bytes.data, at) {
        at += 4;
    }
    let version = bytes.data.get(at + 2).map(|first| first >> 4);
    matches!(
        (be16(bytes.data, at), version),
        (Some(IPV4), Some(4)) | (Some(IPV6), Some(6))
    )
}

/// Steps over a network service header (RFC 8300, section 2.2).
fn nsh(bytes: Bytes<'_>, depth: u8) -> Look {
    let words = usize::from(*bytes.data.get(1).ok_or(Unread::Cut)? & 0x3f);
    let next = *bytes.data.get(3).ok_or(Unread::Cut)?;
    match words {
        2.. if depth < DEPTH => next_protocol(bytes.behind(words * 4)?, next, depth),
        _ => Err(Unread::Tunnel),
    }
}

/// Says what the network service header and VXLAN-GPE call the next protocol (RFC 8300, section 2.2).
fn next_protocol(bytes: Bytes<'_>, next: u8, depth: u8) -> Look {
    match next {
        1 | 2 => ip(bytes, depth),
        3 => ether_type(bytes, 12, depth),
        4 => nsh(bytes, depth + 1),
        5 => mpls(bytes, depth + 1),
        _ => Err(Unread::Tunnel),
    }
}

/// RFC 2784 and 2890; version 1 is PPTP's (RFC 2637).
fn gre(bytes: Bytes<'_>, depth: u8) -> Look {
    let flags = be16(bytes.data, 0).ok_or(Unread::Cut)?;
    let kind = be16(bytes.data, 2).ok_or(Unread::Cut)?;
    let has = |bit: u16| usize::from(flags & bit != 0) * 4;
    let (checksum, key, sequence) = (has(0x8000), has(0x2000), has(0x1000));
    match flags & 7 {
        // Source routes were withdrawn with RFC 2784.
        0 if flags & 0x4000 != 0 => Err(Unread::Tunnel),
        0 => {
            let inner = bytes.behind(4 + checksum + key + sequence)?;
            match kind {
                0x0800 | 0x86dd => ip(inner, depth),
                BRIDGED => ether_type(inner, 12, depth),
                // ERSPAN: type I has no header of its own, type II eight bytes, type III twelve, and
                // eight more where its last bit says so.
                0x88be if sequence == 0 => ether_type(inner, 12, depth),
                0x88be => ether_type(inner.behind(8)?, 12, depth),
                0x22eb => {
                    let more = inner.data.get(11).ok_or(Unread::Cut)? & 1;
                    ether_type(inner.behind(12 + usize::from(more) * 8)?, 12, depth)
                }
                // WCCP redirects with a header of four bytes, or none in its first version.
                0x883e => match inner.data.first().ok_or(Unread::Cut)? >> 4 {
                    4 => ip(inner, depth),
                    _ => ip(inner.behind(4)?, depth),
                },
                other => ether(inner, other, depth),
            }
        }
        1 => {
            let inner = bytes.behind(4 + key + sequence + has(0x0080))?;
            match inner.data.get(..2) {
                // A pure acknowledgment has no payload.
                None if sequence == 0 => Err(Unread::NoTcp),
                _ => framed_ppp(inner, depth),
            }
        }
        _ => Err(Unread::Tunnel),
    }
}

/// RFC 4302, section 2: the data after the header is not encrypted.
fn authentication(bytes: Bytes<'_>, depth: u8) -> Look {
    let next = *bytes.data.first().ok_or(Unread::Cut)?;
    let words = usize::from(*bytes.data.get(1).ok_or(Unread::Cut)?) + 2;
    let inner = bytes.behind(words * 4)?;
    match next {
        // Transport mode authenticates TCP itself. The addresses are in the IP header around it,
        // which is not available here.
        6 => Err(Unread::Tunnel),
        next => protocol(inner, next, depth),
    }
}

fn udp(bytes: Bytes<'_>, depth: u8) -> Look {
    let source = be16(bytes.data, 0).ok_or(Unread::Cut)?;
    let destination = be16(bytes.data, 2).ok_or(Unread::Cut)?;
    let Ok(inner) = bytes.behind(8) else {
        return Err(Unread::Cut);
    };
    match destination {
        // VXLAN (RFC 7348); 8472 is Linux's older default.
        4789 | 8472 if inner.data.first().is_some_and(|f| f & 0x08 != 0) => {
            ether_type(inner.behind(8)?, 12, depth)
        }
        // VXLAN-GPE, with a next protocol where the flag P is set.
        4790 => match inner.data.get(..4).ok_or(Unread::Cut)? {
            [flags, .., next] if flags & 0x04 != 0 => next_protocol(inner.behind(8)?, *next, depth),
            _ => ether_type(inner.behind(8)?, 12, depth),
        },
        6081 => geneve(inner, depth),
        2152 => gtp(inner, depth),
        // MPLS in UDP (RFC 7510) and LISP (RFC 9300, section 5.1).
        6635 => mpls(inner, depth),
        // Teredo (RFC 4380); its other messages begin with a zero.
        3544 => ip(inner, depth),
        _ if source == 3544 => ip(inner, depth),
        4341 => ip(inner.behind(8)?, depth),
        6080 => gue(inner, depth),
        1701 => l2tp(inner, depth),
        _ if source == 1701 => l2tp(inner, depth),
        // What keeps ESP in UDP alive, and the exchange of its keys, carry nothing (RFC 3948, section 2).
        4500 if !is_esp(inner) => Err(Unread::NoTcp),
        _ if source == 4500 && !is_esp(inner) => Err(Unread::NoTcp),
        // ESP in UDP, WireGuard, OpenVPN.
        4500 | 51820 | 1194 => Err(Unread::Tunnel),
        _ if matches!(source, 4500 | 51820 | 1194) => Err(Unread::Tunnel),
        443 | 8443 => quic(inner),
        _ if matches!(source, 443 | 8443) => quic(inner),
        _ => Err(Unread::NoTcp),
    }
}

/// Tells ESP apart: four octets of zero are in the place of its number in an exchange of keys, and one octet is nothing.
fn is_esp(bytes: Bytes<'_>) -> bool {
    bytes.data.len() > 1 && !bytes.data.starts_with(&[0; 4])
}

/// Reads generic UDP encapsulation (draft-ietf-intarea-gue): variant 0 names an IP protocol, variant 1 is IP.
fn gue(bytes: Bytes<'_>, depth: u8) -> Look {
    let first = *bytes.data.first().ok_or(Unread::Cut)?;
    let inner = *bytes.data.get(1).ok_or(Unread::Cut)?;
    match first >> 5 {
        0 => protocol(
            bytes.behind(4 + usize::from(first & 0x1f) * 4)?,
            inner,
            depth,
        ),
        2 | 3 => ip(bytes, depth),
        // A control message.
        _ => Err(Unread::NoTcp),
    }
}

/// Reads L2TP: a data message of version 2 (RFC 2661, section 3.1) carries PPP. Of version 3 the packet does not say how
/// long its cookie is.
fn l2tp(bytes: Bytes<'_>, depth: u8) -> Look {
    let flags = be16(bytes.data, 0).ok_or(Unread::Cut)?;
    let has = |bit: u16, octets: usize| if flags & bit == 0 { 0 } else { octets };
    match flags & 0x800f {
        0x0002 => {
            let offset = 6 + has(0x4000, 2) + has(0x0800, 4);
            let padding = match flags & 0x0200 {
                0 => 0,
                _ => 2 + usize::from(be16(bytes.data, offset).ok_or(Unread::Cut)?),
            };
            framed_ppp(bytes.behind(offset + padding)?, depth)
        }
        0x8002 => Err(Unread::NoTcp),
        _ => Err(Unread::Tunnel),
    }
}

/// RFC 8926, section 3.4.
fn geneve(bytes: Bytes<'_>, depth: u8) -> Look {
    let options = usize::from(*bytes.data.first().ok_or(Unread::Cut)? & 0x3f) * 4;
    let kind = be16(bytes.data, 2).ok_or(Unread::Cut)?;
    let inner = bytes.behind(8 + options)?;
    match kind {
        BRIDGED => ether_type(inner, 12, depth),
        0x0800 | 0x86dd => ip(inner, depth),
        other => ether(inner, other, depth),
    }
}

/// Reads GTP (3GPP TS 29.281, section 5.1): a G-PDU of version 1.
fn gtp(bytes: Bytes<'_>, depth: u8) -> Look {
    let flags = *bytes.data.first().ok_or(Unread::Cut)?;
    if flags >> 4 != 3 || bytes.data.get(1) != Some(&0xff) {
        return Err(Unread::NoTcp);
    }
    let mut header = 8;
    if flags & 0x07 != 0 {
        header += 4;
        let mut next = *bytes.data.get(11).ok_or(Unread::Cut)?;
        // Extension headers, each as long as its first byte says in units of four.
        for _ in 0..8 {
            if flags & 0x04 == 0 || next == 0 {
                break;
            }
            let length = usize::from(*bytes.data.get(header).ok_or(Unread::Cut)?) * 4;
            if length == 0 {
                return Err(Unread::Tunnel);
            }
            next = *bytes.data.get(header + length - 1).ok_or(Unread::Cut)?;
            header += length;
        }
    }
    ip(bytes.behind(header)?, depth)
}

/// Looks for QUIC: a long header with a version (RFC 9000, section 17.2), or the fixed bit of a short one.
fn quic(bytes: Bytes<'_>) -> Look {
    match bytes.data.first() {
        Some(first) if first & 0x40 != 0 => Err(Unread::Quic),
        _ => Err(Unread::NoTcp),
    }
}

/// Transparent Ethernet bridging.
const BRIDGED: u16 = 0x6558;
const PPPOE_SESSION: u16 = 0x8864;
const MPLS: u16 = 0x8847;
const MPLS_MULTICAST: u16 = 0x8848;
const NSH: u16 = 0x894f;
/// Link types of the registry of the pcap formats.
const PPP_LINK: u16 = 9;
const PPP_HDLC: u16 = 50;
const PPP_ETHER: u16 = 51;
const C_HDLC: u16 = 104;
