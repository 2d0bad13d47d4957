//! Compares our header parser with `etherparse`, on frames that `etherparse` builds and on damaged
//! ones.

use etherparse::{PacketBuilder, SlicedPacket, TcpOptionElement, TransportSlice};
use proptest::prelude::*;
use tinygram_engine::Flags;
use tinygram_wire::capture::{Frame, LinkType};
use tinygram_wire::decode::{self, Gist, Segment};
use tinygram_wire::options::Options;

#[derive(Clone, Debug)]
struct Shape {
    v6: bool,
    tags: u8,
    raw: bool,
    ports: (u16, u16),
    seq: u32,
    ack: u32,
    window: u16,
    flags: u8,
    options: Vec<TcpOptionElement>,
    payload: usize,
    snap: usize,
}

fn shape() -> impl Strategy<Value = Shape> {
    let option = prop_oneof![
        Just(TcpOptionElement::Noop),
        any::<u16>().prop_map(TcpOptionElement::MaximumSegmentSize),
        any::<u8>().prop_map(TcpOptionElement::WindowScale),
        Just(TcpOptionElement::SelectiveAcknowledgementPermitted),
        any::<(u32, u32)>().prop_map(|b| TcpOptionElement::SelectiveAcknowledgement(b, [None; 3])),
        any::<(u32, u32)>().prop_map(|(v, e)| TcpOptionElement::Timestamp(v, e)),
    ];
    let options = proptest::collection::vec(option, 0..4);
    (
        any::<(bool, bool)>(),
        0..3_u8,
        any::<(u16, u16)>(),
        any::<(u32, u32, u16, u8)>(),
        options,
        0..1400_usize,
        14..200_usize,
    )
        .prop_map(
            |((v6, raw), tags, ports, (seq, ack, window, flags), options, payload, snap)| Shape {
                v6,
                raw,
                tags: if raw { 0 } else { tags },
                ports,
                seq,
                ack,
                window,
                flags: flags & 0x3f,
                options,
                payload,
                snap,
            },
        )
}

impl Shape {
    fn bytes(&self) -> Vec<u8> {
        let ethernet = PacketBuilder::ethernet2([2; 6], [4; 6]);
        let (mut v6a, mut v6b) = ([0xfd; 16], [0xfd; 16]);
        (v6a[15], v6b[15]) = (1, 2);
        let (v4a, v4b) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        let vlan = |id: u16| etherparse::VlanId::try_new(id).unwrap();
        let ip = match (self.raw, self.tags, self.v6) {
            (true, _, false) => PacketBuilder::ipv4(v4a, v4b, 64),
            (true, _, true) => PacketBuilder::ipv6(v6a, v6b, 64),
            (false, 0, false) => ethernet.ipv4(v4a, v4b, 64),
            (false, 0, true) => ethernet.ipv6(v6a, v6b, 64),
            (false, 1, false) => ethernet.single_vlan(vlan(5)).ipv4(v4a, v4b, 64),
            (false, 1, true) => ethernet.single_vlan(vlan(5)).ipv6(v6a, v6b, 64),
            (false, _, false) => ethernet.double_vlan(vlan(5), vlan(6)).ipv4(v4a, v4b, 64),
            (false, _, true) => ethernet.double_vlan(vlan(5), vlan(6)).ipv6(v6a, v6b, 64),
        };
        let mut tcp = ip.tcp(self.ports.0, self.ports.1, self.seq, self.window);
        let on = |bit: Flags| self.flags & bit.bits() != 0;
        if on(Flags::FIN) {
            tcp = tcp.fin();
        }
        if on(Flags::SYN) {
            tcp = tcp.syn();
        }
        if on(Flags::RST) {
            tcp = tcp.rst();
        }
        if on(Flags::PSH) {
            tcp = tcp.psh();
        }
        if on(Flags::ACK) {
            tcp = tcp.ack(self.ack);
        }
        if on(Flags::URG) {
            tcp = tcp.urg(0);
        }
        let tcp = tcp
            .options(&self.options)
            .expect("at most 40 bytes of options");
        let payload = vec![0; self.payload];
        let mut bytes = Vec::new();
        tcp.write(&mut bytes, &payload).unwrap();
        bytes
    }

    fn link(&self) -> LinkType {
        if self.raw {
            LinkType::RAW
        } else {
            LinkType::ETHERNET
        }
    }
}

fn decoded(link: LinkType, data: &[u8], wire_len: usize) -> Option<Segment> {
    decode::segment(&Frame {
        number: 1,
        time_ns: 0,
        link,
        data,
        wire_len: wire_len as u32,
    })
}

proptest! {
    #[test]
    fn agrees_with_etherparse(shape in shape()) {
        let bytes = shape.bytes();
        let ours = decoded(shape.link(), &bytes, bytes.len()).expect("a whole segment");
        let sliced = match shape.raw {
            true => SlicedPacket::from_ip(&bytes),
            false => SlicedPacket::from_ethernet(&bytes),
        }
        .unwrap();
        let Some(TransportSlice::Tcp(theirs)) = sliced.transport else {
            panic!("etherparse sees TCP");
        };
        prop_assert_eq!(ours.source.port, theirs.source_port());
        prop_assert_eq!(ours.destination.port, theirs.destination_port());
        prop_assert_eq!(ours.seq, theirs.sequence_number());
        prop_assert_eq!(ours.ack, theirs.acknowledgment_number());
        prop_assert_eq!(ours.window, theirs.window_size());
        prop_assert_eq!(ours.payload as usize, theirs.payload().len());
        prop_assert_eq!(ours.flags.any(Flags::SYN), theirs.syn());
        prop_assert_eq!(ours.flags.any(Flags::FIN), theirs.fin());
        prop_assert_eq!(ours.flags.any(Flags::RST), theirs.rst());
        prop_assert_eq!(ours.flags.any(Flags::PSH), theirs.psh());
        let (mut mss, mut scale, mut stamps, mut sack) = (None, None, None, false);
        for option in theirs.options_iterator().flatten() {
            match option {
                TcpOptionElement::MaximumSegmentSize(v) => mss = Some(v),
                TcpOptionElement::WindowScale(v) => scale = Some(v),
                TcpOptionElement::Timestamp(v, e) => stamps = Some((v, e)),
                TcpOptionElement::SelectiveAcknowledgement(..) => sack = true,
                _ => {}
            }
        }
        prop_assert_eq!(ours.options.mss, mss);
        prop_assert_eq!(ours.options.window_scale, scale);
        prop_assert_eq!(ours.options.timestamps.map(|t| (t.value, t.echo)), stamps);
        prop_assert_eq!(!ours.options.sack.is_empty(), sack);
    }

    #[test]
    fn a_snapped_frame_says_the_same_or_nothing(shape in shape()) {
        let bytes = shape.bytes();
        let whole = decoded(shape.link(), &bytes, bytes.len()).unwrap();
        let snapped = &bytes[..shape.snap.min(bytes.len())];
        if let Some(part) = decoded(shape.link(), snapped, bytes.len()) {
            let options = part.options;
            prop_assert_eq!(Segment { options, ..whole }, part);
        }
    }

    #[test]
    fn no_bytes_are_too_strange(link in 0..300_u16, bytes in proptest::collection::vec(any::<u8>(), 0..120), wire_len in 0..200_000_usize) {
        let _ = decoded(LinkType(link), &bytes, wire_len);
    }
}

#[test]
fn cooked_loopback_and_offload_frames_are_read() {
    let mut ip = Vec::new();
    PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(1, 2, 3, 4)
        .write(&mut ip, &[0; 10])
        .unwrap();
    let sll = [&[0; 14][..], &[8, 0], &ip].concat();
    let sll2 = [&[8, 0][..], &[0; 18], &ip].concat();
    let null = [&[2, 0, 0, 0][..], &ip].concat();
    let pppoe = [
        &[0; 12][..],
        &[0x88, 0x64, 0x11, 0, 0, 1, 0, 52, 0, 0x21],
        &ip,
    ]
    .concat();
    for (link, bytes) in [
        (LinkType::LINUX_SLL, sll),
        (LinkType::LINUX_SLL2, sll2),
        (LinkType::NULL, null.clone()),
        (LinkType::LOOP, null),
        (LinkType::ETHERNET, pppoe),
    ] {
        let segment = decoded(link, &bytes, bytes.len()).unwrap_or_else(|| panic!("{link:?}"));
        assert_eq!((segment.seq, segment.payload), (3, 10), "{link:?}");
    }
    // Segmentation offload makes frames whose total length is not filled in.
    let mut offloaded = ip.clone();
    offloaded[2..4].fill(0);
    let segment = decoded(LinkType::RAW, &offloaded, 20 + 20 + 64_000).unwrap();
    assert_eq!(segment.payload, 64_000);
    // A fragment's header does not describe the segment.
    let mut fragment = ip;
    fragment[6] = 0x20;
    assert_eq!(decoded(LinkType::RAW, &fragment, fragment.len()), None);
}

proptest! {
    /// Whatever bytes a plain frame has, it says what the decoder for all frames finds in it.
    #[test]
    fn a_plain_frame_says_what_the_decoder_finds(
        shape in shape(),
        damage in proptest::collection::vec((0..90_usize, any::<u8>()), 0..4),
        wire_len in 0..3000_u32,
    ) {
        let mut data = shape.bytes();
        data.truncate(shape.snap);
        for (at, octet) in damage {
            if let Some(damaged) = data.get_mut(at) {
                *damaged = octet;
            }
        }
        let frame = Frame {
            number: 1,
            time_ns: 0,
            link: if shape.raw { LinkType::RAW } else { LinkType::ETHERNET },
            data: &data,
            wire_len,
        };
        if let Some(plain) = decode::plain(&frame) {
            let (segment, around) = decode::look(&frame).expect("a segment");
            prop_assert_eq!(plain.ends(), [segment.source, segment.destination]);
            prop_assert_eq!(*plain.gist(), Gist::of(&segment, &around));
            let timestamps = segment.options.timestamps;
            prop_assert_eq!(segment.options, Options { timestamps, ..Options::default() });
            prop_assert_eq!(plain.gist().timestamps(), timestamps);
            prop_assert_eq!(plain.gist().flags(), segment.flags);
        }
    }
}

/// The property above would be worthless if hardly any frame were plain.
#[test]
fn the_usual_frame_is_plain() {
    let shape = Shape {
        v6: false,
        tags: 0,
        raw: false,
        ports: (40_000, 80),
        seq: 1,
        ack: 1,
        window: 1,
        flags: 0x10,
        options: Vec::new(),
        payload: 100,
        snap: 96,
    };
    let data = shape.bytes();
    let frame = |data| Frame {
        number: 1,
        time_ns: 0,
        link: LinkType::ETHERNET,
        data,
        wire_len: 154,
    };
    let plain = decode::plain(&frame(&data)).expect("plain");
    let [source, destination] = plain.ends();
    assert_eq!((source.port, destination.port), (40_000, 80));
    assert_eq!(plain.gist().head.len(), 8);
    let stamped = Shape {
        options: vec![
            TcpOptionElement::Noop,
            TcpOptionElement::Noop,
            TcpOptionElement::Timestamp(7, 9),
        ],
        ..shape.clone()
    };
    let data = stamped.bytes();
    let plain = decode::plain(&frame(&data)).expect("plain");
    let stamps = plain.gist().timestamps().expect("timestamps");
    assert_eq!((stamps.value, stamps.echo), (7, 9));
    let tagged = Shape { tags: 1, ..shape };
    assert_eq!(decode::plain(&frame(&tagged.bytes())), None);
}
