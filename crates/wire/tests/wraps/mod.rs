//! Puts a frame into every tunnel that is read, as the tunnel's standard has it.

/// Wraps an Ethernet frame that carries IPv4 or IPv6.
pub(crate) type Wrap = fn(&[u8]) -> Vec<u8>;

/// Every tunnel that is read, with its options and around others.
pub(crate) const WRAPS: [(&str, Wrap); 60] = [
    ("802.1Q", |f| tagged(0x8100, f)),
    ("802.1ad (QinQ)", |f| tagged(0x88a8, &tagged(0x8100, f))),
    ("QinQ by its older types", |f| {
        tagged(0x9200, &tagged(0x9100, f))
    }),
    ("802.1ah", |f| ethernet(0x88e7, &[&[0, 0, 0, 5], f])),
    ("Cisco's metadata", |f| {
        ethernet(0x8909, &[&[1, 1, 0, 1, 0, 2], &f[12..]])
    }),
    ("SNAP (RFC 1042)", |f| {
        let header = [0xaa, 0xaa, 3, 0, 0, 0, f[12], f[13]];
        ethernet(length(f.len().min(1_400)), &[&header, packet(f)])
    }),
    ("IP in IP (RFC 2003)", |f| v4(in_ip(f), &[packet(f)])),
    ("IP in IP with options", |f| {
        let mut bytes = v4(in_ip(f), &[&[0x94, 4, 0, 0], packet(f)]);
        bytes[14] = 0x46;
        bytes
    }),
    ("IP in IPv6 (RFC 2473)", |f| v6(in_ip(f), &[packet(f)])),
    ("IP in IPv6 with an encapsulation limit", |f| {
        v6(60, &[&[in_ip(f), 0, 4, 1, 4, 1, 1, 0], packet(f)])
    }),
    ("GRE (RFC 2784)", |f| {
        v4(47, &[&gre(0, ip_type(f)), packet(f)])
    }),
    ("GRE with a key", |f| {
        let header = gre(0x2000, ip_type(f));
        v4(47, &[&header, &[0, 0, 0, 7], packet(f)])
    }),
    ("GRE with checksum, key and sequence (RFC 2890)", |f| {
        let header = gre(0xb000, ip_type(f));
        v4(
            47,
            &[&header, &[1, 2, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1], packet(f)],
        )
    }),
    ("GRE over IPv6", |f| {
        v6(47, &[&gre(0x1000, ip_type(f)), &[0, 0, 0, 1], packet(f)])
    }),
    ("GRE with Ethernet", |f| v4(47, &[&gre(0, 0x6558), f])),
    ("GRE with Ethernet, a key and a VLAN", |f| {
        let header = gre(0x2000, 0x6558);
        v4(47, &[&header, &[0, 0, 0, 7], &tagged(0x8100, f)])
    }),
    ("GRE with MPLS", |f| {
        v4(47, &[&gre(0, 0x8847), &label(true), packet(f)])
    }),
    ("WCCP", |f| {
        v4(47, &[&gre(0, 0x883e), &[1, 0, 0, 0], packet(f)])
    }),
    ("ERSPAN I", |f| v4(47, &[&gre(0, 0x88be), f])),
    ("ERSPAN II", |f| erspan_ii(f)),
    ("ERSPAN II with a VLAN", |f| erspan_ii(&tagged(0x8100, f))),
    ("ERSPAN III", |f| erspan_iii(0, &[], f)),
    ("ERSPAN III with a platform's header", |f| {
        erspan_iii(1, &[0x14, 0, 0, 0, 0, 0, 0, 0], f)
    }),
    ("PPTP (RFC 2637)", |f| {
        let header = [0x30, 1, 0x88, 0x0b, 0, 40, 0, 1, 0, 0, 0, 1];
        v4(47, &[&header, &ppp(f), packet(f)])
    }),
    ("PPTP with an acknowledgment", |f| {
        let header = [0x30, 0x81, 0x88, 0x0b, 0, 40, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1];
        v4(47, &[&header, &[0xff, 3], &ppp(f), packet(f)])
    }),
    ("Teredo (RFC 4380)", |f| udp(3544, &[packet(f)])),
    ("VXLAN (RFC 7348)", |f| udp(4789, &[&vxlan(8, 0), f])),
    ("VXLAN on Linux's older port", |f| {
        udp(8472, &[&vxlan(8, 0), f])
    }),
    ("VXLAN with a group policy", |f| {
        udp(4789, &[&vxlan(0x88, 0), f])
    }),
    ("VXLAN with a VLAN", |f| {
        udp(4789, &[&vxlan(8, 0), &tagged(0x8100, f)])
    }),
    ("VXLAN behind QinQ", |f| {
        tagged(0x88a8, &tagged(0x8100, &udp(4789, &[&vxlan(8, 0), f])))
    }),
    ("VXLAN over IPv6", |f| udp_v6(4789, &[&vxlan(8, 0), f])),
    ("VXLAN-GPE with Ethernet", |f| {
        udp(4790, &[&vxlan(0x0c, 3), f])
    }),
    ("VXLAN-GPE with IP", |f| {
        let next = if ip_type(f) == 0x0800 { 1 } else { 2 };
        udp(4790, &[&vxlan(0x0c, next), packet(f)])
    }),
    ("VXLAN-GPE with a service header (RFC 8300)", |f| {
        udp(4790, &[&vxlan(0x0c, 4), &service(), f])
    }),
    ("A service header", |f| ethernet(0x894f, &[&service(), f])),
    ("Geneve (RFC 8926)", |f| udp(6081, &[&geneve(0, 0x6558), f])),
    ("Geneve with IP", |f| {
        udp(6081, &[&geneve(0, ip_type(f)), packet(f)])
    }),
    ("Geneve with options", |f| {
        let options = [1, 2, 1, 1, 9, 9, 9, 9, 1, 3, 0x80, 0];
        udp(6081, &[&geneve(3, 0x6558), &options, f])
    }),
    ("Geneve over IPv6 with a VLAN", |f| {
        udp_v6(6081, &[&geneve(0, 0x6558), &tagged(0x8100, f)])
    }),
    ("GTP-U (TS 29.281)", |f| {
        udp(2152, &[&gtp(0x30, f), packet(f)])
    }),
    ("GTP-U with a sequence number", |f| {
        udp(2152, &[&gtp(0x32, f), &[0, 9, 0, 0], packet(f)])
    }),
    ("GTP-U of 5G", |f| {
        udp(
            2152,
            &[&gtp(0x34, f), &[0, 0, 0, 0x85, 1, 0, 9, 0], packet(f)],
        )
    }),
    ("GTP-U with two extension headers", |f| {
        let options = [0, 0, 0, 0x85, 1, 0, 9, 0xc0, 2, 0, 1, 0, 0, 0, 0, 0];
        udp(2152, &[&gtp(0x34, f), &options, packet(f)])
    }),
    ("GTP-U over IPv6", |f| {
        udp_v6(2152, &[&gtp(0x30, f), packet(f)])
    }),
    ("LISP (RFC 9300)", |f| {
        udp(4341, &[&[0x80, 0, 0, 1, 0, 0, 0, 0], packet(f)])
    }),
    ("GUE", |f| udp(6080, &[&[0, in_ip(f), 0, 0], packet(f)])),
    ("GUE with a field", |f| {
        udp(6080, &[&[1, in_ip(f), 0, 0, 0, 0, 0, 0], packet(f)])
    }),
    ("GUE without a header", |f| udp(6080, &[packet(f)])),
    ("L2TP (RFC 2661)", |f| {
        let header = [0, 2, 0, 1, 0, 1, 0xff, 3];
        udp(1701, &[&header, &ppp(f), packet(f)])
    }),
    ("L2TP with length, sequence and offset", |f| {
        let header = [0x4a, 2, 0, 99, 0, 1, 0, 1, 0, 0, 0, 0, 0, 2, 9, 9];
        udp(1701, &[&header, &ppp(f), packet(f)])
    }),
    ("PPPoE (RFC 2516)", pppoe),
    ("PPPoE behind QinQ", |f| {
        tagged(0x88a8, &tagged(0x8100, &pppoe(f)))
    }),
    ("MPLS (RFC 3032)", |f| {
        ethernet(0x8847, &[&label(false), &label(true), packet(f)])
    }),
    ("MPLS in UDP (RFC 7510)", |f| {
        udp(6635, &[&label(true), packet(f)])
    }),
    ("Ethernet in MPLS (RFC 4448)", |f| {
        ethernet(0x8847, &[&label(true), &[0; 4], f])
    }),
    ("Ethernet in MPLS without a control word", |f| {
        ethernet(0x8847, &[&label(true), &[0x44, 0x50, 0x56], &f[3..]])
    }),
    ("GRE in VXLAN", |f| {
        let gre = v4(47, &[&gre(0, ip_type(f)), packet(f)]);
        udp(4789, &[&vxlan(8, 0), &gre])
    }),
    ("GTP-U in ERSPAN", |f| {
        erspan_ii(&udp(2152, &[&gtp(0x30, f), packet(f)]))
    }),
    ("PPPoE in MPLS", |f| {
        ethernet(0x8847, &[&label(true), &[0; 4], &pppoe(f)])
    }),
];

/// What a frame carries behind its Ethernet header.
fn packet(frame: &[u8]) -> &[u8] {
    &frame[14..]
}

fn ip_type(frame: &[u8]) -> u16 {
    u16::from_be_bytes([frame[12], frame[13]])
}

/// The IP protocol that names IPv4 or IPv6 inside.
fn in_ip(frame: &[u8]) -> u8 {
    if ip_type(frame) == 0x0800 { 4 } else { 41 }
}

fn ppp(frame: &[u8]) -> [u8; 2] {
    [0, if ip_type(frame) == 0x0800 { 0x21 } else { 0x57 }]
}

/// As much of a length as its field takes; offload makes packets that are longer.
fn length(octets: usize) -> u16 {
    u16::try_from(octets).unwrap_or(0)
}

fn ethernet(kind: u16, parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 4];
    bytes.extend(kind.to_be_bytes());
    bytes.extend(parts.concat());
    bytes
}

fn tagged(kind: u16, frame: &[u8]) -> Vec<u8> {
    [&frame[..12], &kind.to_be_bytes(), &[0, 7], &frame[12..]].concat()
}

/// An Ethernet frame with an IPv4 packet of these parts.
pub(crate) fn v4(protocol: u8, parts: &[&[u8]]) -> Vec<u8> {
    let payload = parts.concat();
    let [high, low] = length(20 + payload.len()).to_be_bytes();
    let mut header = vec![0x45, 0, high, low, 0, 0, 0, 0, 64, protocol, 0, 0];
    header.extend([192, 0, 2, 1, 192, 0, 2, 2]);
    ethernet(0x0800, &[&header, &payload])
}

pub(crate) fn v6(protocol: u8, parts: &[&[u8]]) -> Vec<u8> {
    let payload = parts.concat();
    let [high, low] = length(payload.len()).to_be_bytes();
    let mut header = vec![0x60, 0, 0, 0, high, low, protocol, 64];
    for last in [1, 2] {
        header.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    ethernet(0x86dd, &[&header, &payload])
}

fn datagram(port: u16, parts: &[&[u8]]) -> Vec<u8> {
    let payload = parts.concat();
    let fields = [50_000, port, length(8 + payload.len()), 0];
    let header: Vec<u8> = fields.into_iter().flat_map(u16::to_be_bytes).collect();
    [header, payload].concat()
}

/// An Ethernet frame with a UDP datagram over IPv4.
pub(crate) fn udp(port: u16, parts: &[&[u8]]) -> Vec<u8> {
    v4(17, &[&datagram(port, parts)])
}

fn udp_v6(port: u16, parts: &[&[u8]]) -> Vec<u8> {
    v6(17, &[&datagram(port, parts)])
}

fn gre(flags: u16, kind: u16) -> Vec<u8> {
    [flags, kind]
        .into_iter()
        .flat_map(u16::to_be_bytes)
        .collect()
}

fn erspan_ii(frame: &[u8]) -> Vec<u8> {
    let header = [0, 0, 0, 1, 0x10, 1, 0, 1, 0, 0, 0, 0];
    v4(47, &[&gre(0x1000, 0x88be), &header, frame])
}

fn erspan_iii(more: u8, platform: &[u8], frame: &[u8]) -> Vec<u8> {
    let header = [0, 0, 0, 1, 0x20, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, more];
    v4(47, &[&gre(0x1000, 0x22eb), &header, platform, frame])
}

fn vxlan(flags: u8, next: u8) -> [u8; 8] {
    [flags, 0, 0, next, 0, 0, 5, 0]
}

/// Type 1 with its four contexts, around Ethernet.
fn service() -> Vec<u8> {
    [&[0x0f, 0xc6, 1, 3][..], &[0; 20]].concat()
}

fn geneve(words: u8, kind: u16) -> Vec<u8> {
    [&[words, 0][..], &kind.to_be_bytes(), &[0, 0, 5, 0]].concat()
}

fn gtp(flags: u8, frame: &[u8]) -> Vec<u8> {
    let octets = length(packet(frame).len()).to_be_bytes();
    [&[flags, 0xff][..], &octets, &[0, 0, 0, 5]].concat()
}

fn label(bottom: bool) -> [u8; 4] {
    [0, 1, u8::from(bottom), 64]
}

fn pppoe(frame: &[u8]) -> Vec<u8> {
    let [high, low] = length(2 + packet(frame).len()).to_be_bytes();
    let header = [0x11, 0, 0, 1, high, low];
    ethernet(0x8864, &[&header, &ppp(frame), packet(frame)])
}
