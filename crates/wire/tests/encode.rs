//! Compares our packets with `etherparse`: it reads what we write, we read what it writes, and both
//! compute the same checksums.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use etherparse::{
    LaxSlicedPacket, NetSlice, PacketBuilder, SlicedPacket, TcpHeader, TcpOptionElement,
    TransportSlice,
};
use proptest::prelude::*;
use tinygram_engine::queues::{QueueCounter, QueueCounters};
use tinygram_engine::{Flags, Offset, Segment, Span, Timestamps};
use tinygram_wire::checksum::Sum;
use tinygram_wire::encode::{Checksum, Path, encode};
use tinygram_wire::options::{self, Options, SackBlocks};
use tinygram_wire::packet::{Header, Near, Refused, Verify, is_pushed, read};
use tinygram_wire::sequence::{Numbering, Sequence};

prop_compose! {
    fn addresses()(v6: bool, low: (u8, u8), ports: (u16, u16)) -> (SocketAddr, SocketAddr) {
        let address = |last| match v6 {
            true => IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 1, last)),
            false => IpAddr::V4(Ipv4Addr::new(10, 0, 1, last as u8)),
        };
        let ends = (address(low.0.into()), address(low.1.into()));
        (SocketAddr::new(ends.0, ports.0), SocketAddr::new(ends.1, ports.1))
    }
}

/// Returns options that fit into a header, as one of our segments would have them: only as many
/// SACK blocks as fit.
fn options() -> impl Strategy<Value = Options> {
    let stamps = proptest::option::of(any::<(u32, u32)>());
    let sack = proptest::collection::vec(any::<(u32, u32)>(), 0..=4);
    let of_a_syn = any::<(Option<u16>, Option<u8>, bool)>();
    (of_a_syn, stamps, sack).prop_map(|((mss, window_scale, sack_permitted), stamps, blocks)| {
        let timestamps = stamps.map(|(value, echo)| Timestamps { value, echo });
        let on_a_syn = mss.is_some() || window_scale.is_some() || sack_permitted;
        let fit = if timestamps.is_some() { 3 } else { 4 };
        let mut sack = SackBlocks::default();
        for (left, right) in blocks.into_iter().take(if on_a_syn { 0 } else { fit }) {
            sack.push(left, right);
        }
        Options {
            mss,
            window_scale,
            sack_permitted,
            timestamps,
            sack,
            ..Options::default()
        }
    })
}

fn counters() -> impl Strategy<Value = QueueCounters> {
    any::<[(u32, u32); 3]>().prop_map(|all| {
        let [unacknowledged, unread, delayed] = all.map(|(area, left)| QueueCounter { area, left });
        QueueCounters {
            unacknowledged,
            unread,
            delayed,
        }
    })
}

fn header() -> impl Strategy<Value = Header> {
    let fields = any::<(u32, u32, u8, u16)>();
    (fields, options()).prop_map(|((seq, ack, bits, window), options)| {
        let flags = Flags::from_bits(bits).among(Flags::HEEDED);
        let ack = if flags.has(Flags::ACK) { ack } else { 0 };
        Header {
            seq,
            ack,
            flags,
            window,
            options,
        }
    })
}

fn packet(path: &Path, header: &Header, payload: &[u8], checksum: Checksum) -> Vec<u8> {
    let mut packet = vec![0xee; path.headers_len(&header.options)];
    packet.extend_from_slice(payload);
    path.write_headers(header, checksum, &mut packet);
    packet
}

fn path(from: &str, to: &str) -> Path {
    let address = |text: &str| text.parse::<SocketAddr>().unwrap();
    Path::new(address(from), address(to)).unwrap()
}

fn theirs(packet: &[u8]) -> (SlicedPacket<'_>, TcpHeader) {
    let sliced = SlicedPacket::from_ip(packet).expect("a packet");
    let Some(TransportSlice::Tcp(tcp)) = &sliced.transport else {
        panic!("etherparse sees TCP");
    };
    let header = tcp.to_header();
    (sliced, header)
}

fn checksum_of(sliced: &SlicedPacket<'_>, tcp: &TcpHeader, payload: &[u8]) -> u16 {
    match sliced.net.as_ref().expect("IP") {
        NetSlice::Ipv4(ip) => {
            let header = ip.header().to_header();
            assert_eq!(header.header_checksum, header.calc_header_checksum());
            tcp.calc_checksum_ipv4(&header, payload).unwrap()
        }
        NetSlice::Ipv6(ip) => tcp
            .calc_checksum_ipv6(&ip.header().to_header(), payload)
            .unwrap(),
        NetSlice::Arp(_) => panic!("no ARP"),
    }
}

proptest! {
    /// An experimental option, of which other readers know the kind and the length.
    #[test]
    fn queue_counters_come_back_as_they_were_written(
        counters in counters(),
        options in options(),
        permitted in any::<bool>(),
    ) {
        let options = Options { counters: Some(counters), counters_permitted: permitted, ..options };
        let mut octets = vec![0xee; options::len(&options)];
        prop_assert!(octets.len() <= options::ROOM && octets.len().is_multiple_of(4));
        options::write(&options, &mut octets);
        let back = options::read_all(&octets);
        let others = options::len(&Options { counters: None, sack: SackBlocks::default(), ..options });
        let fit = others + 28 <= options::ROOM;
        prop_assert_eq!(back.counters, fit.then_some(counters));
        prop_assert_eq!((back.counters_permitted, back.timestamps), (permitted, options.timestamps));
        let place = octets.windows(4).position(|it| it == [253, 28, 0x74, 0x47]);
        prop_assert_eq!(place.is_some(), fit);
    }

    /// Whatever another experiment, or a damaged option, has under the same kind means nothing to us.
    #[test]
    fn no_other_experiment_is_taken_for_counters(value in proptest::collection::vec(any::<u8>(), 0..38)) {
        let octets = [&[253, 2 + value.len() as u8], &value[..]].concat();
        let ours = value.starts_with(&options::COUNTERS_EXID.to_be_bytes());
        let back = options::read_all(&octets);
        prop_assert_eq!(back.counters.is_some(), ours && value.len() == 26);
        prop_assert_eq!(back.counters_permitted, ours && value.len() == 2);
        for cut in 0..octets.len() {
            prop_assert_eq!(options::read_all(&octets[..cut]), Options::default());
        }
    }

    #[test]
    fn what_we_write_etherparse_reads_alike(
        (source, destination) in addresses(),
        header in header(),
        payload in proptest::collection::vec(any::<u8>(), 0..1500),
    ) {
        let path = Path::new(source, destination).unwrap();
        let packet = packet(&path, &header, &payload, Checksum::Full);
        let (sliced, tcp) = theirs(&packet);
        prop_assert_eq!((tcp.source_port, tcp.destination_port), (source.port(), destination.port()));
        prop_assert_eq!((tcp.sequence_number, tcp.acknowledgment_number), (header.seq, header.ack));
        prop_assert_eq!(tcp.window_size, header.window);
        let has = |flag| header.flags.has(flag);
        prop_assert_eq!(
            [tcp.fin, tcp.syn, tcp.rst, tcp.psh, tcp.ack, tcp.urg],
            [has(Flags::FIN), has(Flags::SYN), has(Flags::RST), has(Flags::PSH), has(Flags::ACK), false]
        );
        let mut options = Options::default();
        for option in tcp.options_iterator() {
            match option.expect("no damage") {
                TcpOptionElement::Noop => {}
                TcpOptionElement::MaximumSegmentSize(mss) => options.mss = Some(mss),
                TcpOptionElement::WindowScale(shift) => options.window_scale = Some(shift),
                TcpOptionElement::SelectiveAcknowledgementPermitted => options.sack_permitted = true,
                TcpOptionElement::SelectiveAcknowledgement(first, more) => {
                    options.sack.push(first.0, first.1);
                    for (left, right) in more.into_iter().flatten() {
                        options.sack.push(left, right);
                    }
                }
                TcpOptionElement::Timestamp(value, echo) => {
                    options.timestamps = Some(Timestamps { value, echo });
                }
            }
        }
        prop_assert_eq!(options, header.options);
        prop_assert_eq!(tcp.checksum, checksum_of(&sliced, &tcp, &payload));
    }

    #[test]
    fn what_we_write_we_read(
        (source, destination) in addresses(),
        header in header(),
        payload in proptest::collection::vec(any::<u8>(), 0..1500),
    ) {
        let path = Path::new(source, destination).unwrap();
        let packet = packet(&path, &header, &payload, Checksum::Full);
        let back = read(&packet, Verify::Checksum).expect("what we wrote");
        prop_assert_eq!(SocketAddr::from(back.source), source);
        prop_assert_eq!(SocketAddr::from(back.destination), destination);
        prop_assert_eq!(back.header, header);
        prop_assert_eq!(back.payload, &payload);
    }

    /// A checksum that is left to the device comes out the same.
    #[test]
    fn a_device_can_finish_the_checksum(
        (source, destination) in addresses(),
        header in header(),
        payload in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let path = Path::new(source, destination).unwrap();
        let whole = packet(&path, &header, &payload, Checksum::Full);
        let mut left = packet(&path, &header, &payload, Checksum::PseudoHeader);
        let tcp = path.headers_len(&Options::default()) - 20;
        // As in `skb_checksum_help`: sums everything from the start on and stores the result in the
        // checksum field.
        let sum = Sum::default().with(&left[tcp..]).checksum();
        left[tcp + 16..tcp + 18].copy_from_slice(&sum);
        prop_assert_eq!(left, whole);
    }

    #[test]
    fn one_flipped_bit_is_noticed(
        (source, destination) in addresses(),
        header in header(),
        payload in proptest::collection::vec(any::<u8>(), 0..200),
        at: prop::sample::Index,
        bit in 0..8_u8,
    ) {
        let path = Path::new(source, destination).unwrap();
        let mut packet = packet(&path, &header, &payload, Checksum::Full);
        let at = at.index(packet.len());
        packet[at] ^= 1 << bit;
        // IPv6 has no header checksum, so class, flow label and hop limit may change, as they do on
        // the path.
        let unprotected = source.is_ipv6() && (at < 4 || at == 7);
        prop_assert!(unprotected || read(&packet, Verify::Checksum).is_err());
    }

    #[test]
    fn what_etherparse_writes_we_read(
        (source, destination) in addresses(),
        (seq, ack, window) in any::<(u32, u32, u16)>(),
        payload in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let ip = match (source.ip(), destination.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => PacketBuilder::ipv4(from.octets(), to.octets(), 9),
            (IpAddr::V6(from), IpAddr::V6(to)) => PacketBuilder::ipv6(from.octets(), to.octets(), 9),
            _ => unreachable!("one family"),
        };
        let mut packet = Vec::new();
        ip.tcp(source.port(), destination.port(), seq, window)
            .ack(ack)
            .psh()
            .write(&mut packet, &payload)
            .unwrap();
        // An Ethernet trailer is not payload.
        packet.extend_from_slice(&[0; 7]);
        let back = read(&packet, Verify::Checksum).expect("what etherparse wrote");
        prop_assert_eq!((back.header.seq, back.header.ack, back.header.window), (seq, ack, window));
        prop_assert_eq!(back.payload, &payload);
    }

    #[test]
    fn no_bytes_are_too_strange(mut bytes in proptest::collection::vec(any::<u8>(), 0..120), v6: bool) {
        if let Some(first) = bytes.first_mut() {
            *first = if v6 { 0x60 } else { 0x45 };
        }
        let lax = LaxSlicedPacket::from_ip(&bytes);
        if read(&bytes, Verify::Nothing).is_ok() {
            let tcp = lax.is_ok_and(|packet| matches!(packet.transport, Some(TransportSlice::Tcp(_))));
            prop_assert!(tcp, "etherparse sees TCP, too");
        }
    }

    #[test]
    fn a_segment_comes_back(
        (source, destination) in addresses(),
        isn in any::<(u32, u32)>(),
        (seq, ack) in (1..1_u64 << 40, 1..1_u64 << 40),
        moved in any::<(i16, i16)>(),
        len in 0..100_usize,
        shift in 0..=14_u8,
        window: u16,
    ) {
        let numbering = Numbering {
            data: Sequence::new(isn.0),
            acks: Sequence::new(isn.1),
            window_shift: shift,
        };
        let segment = Segment {
            seq: Offset::new(seq),
            ack: Offset::new(ack),
            len: len as u32,
            window: u32::from(window) << shift,
            flags: Flags::ACK.with(Flags::PSH),
            options: tinygram_engine::Options {
                timestamps: Some(Timestamps { value: isn.1, echo: isn.0 }),
                sack: [(100, 200), (300, 301)]
                    .map(|(left, right)| Span::new(Offset::new(ack + left), Offset::new(ack + right)))
                    .into_iter()
                    .collect(),
                ..Default::default()
            },
        };
        let path = Path::new(source, destination).unwrap();
        let mut packet = Vec::new();
        encode(&path, &numbering, &segment, &vec![7; len], &mut packet);
        let back = read(&packet, Verify::Checksum).expect("what we wrote");
        let near = Near {
            seq: Offset::new(seq.saturating_add_signed(moved.0.into())),
            ack: Offset::new(ack.saturating_add_signed(moved.1.into())),
        };
        prop_assert_eq!(numbering.segment(&back.header, back.payload.len(), near), segment);
    }
}

#[test]
fn a_window_that_does_not_fit_says_the_most_that_does() {
    let numbering = Numbering {
        data: Sequence::new(0),
        acks: Sequence::new(0),
        window_shift: 2,
    };
    let segment = |flags| Segment {
        seq: Offset::SYN,
        ack: Offset::SYN,
        len: 0,
        window: 1 << 20,
        flags,
        options: tinygram_engine::Options {
            mss: Some(1460),
            ..Default::default()
        },
    };
    assert_eq!(numbering.header(&segment(Flags::ACK)).window, u16::MAX);
    // The window of a SYN is not scaled.
    let syn = numbering.header(&Segment {
        window: 1000,
        ..segment(Flags::SYN)
    });
    assert_eq!((syn.window, syn.options.mss), (1000, Some(1460)));
}

#[test]
fn packets_that_are_not_to_be_believed() {
    let header = Header {
        seq: 1,
        ack: 0,
        flags: Flags::SYN,
        window: 1,
        options: Options::default(),
    };
    let v4 = packet(
        &path("10.0.0.1:1", "10.0.0.2:2"),
        &header,
        b"",
        Checksum::Full,
    );
    let refused = |packet: &[u8]| read(packet, Verify::Nothing).unwrap_err();
    let with = |at: usize, octet: u8| {
        let mut packet = v4.clone();
        packet[at] = octet;
        packet[10..12].fill(0);
        let sum = Sum::default().with(&packet[..20]).checksum();
        packet[10..12].copy_from_slice(&sum);
        packet
    };
    assert_eq!(refused(&[]), Refused::Malformed);
    assert_eq!(refused(&v4[..39]), Refused::Malformed);
    assert_eq!(refused(&with(0, 0x44)), Refused::Malformed);
    assert_eq!(refused(&with(32, 0x40)), Refused::Malformed);
    assert_eq!(refused(&with(32, 0x60)), Refused::Malformed);
    assert_eq!(refused(&with(6, 0x20)), Refused::Fragment);
    assert_eq!(refused(&with(9, 17)), Refused::Protocol(17));
    assert_eq!(refused(&with(16, 224)), Refused::Address);
    let v6 = |from, to| packet(&path(from, to), &header, b"", Checksum::Full);
    assert_eq!(refused(&v6("[fd00::1]:1", "[ff02::1]:2")), Refused::Address);
    // An IPv4-mapped address in an IPv6 header would be taken for a packet of another connection.
    let mut mapped = v6("[fd00::1]:1", "[fd00::2]:2");
    mapped[8..24].copy_from_slice(&Ipv4Addr::new(10, 0, 0, 1).to_ipv6_mapped().octets());
    assert_eq!(refused(&mapped), Refused::Address);
    assert!(
        Path::new(
            "10.0.0.1:1".parse::<SocketAddr>().unwrap(),
            "[fd00::1]:1".parse::<SocketAddr>().unwrap()
        )
        .is_err()
    );
}

#[test]
fn a_pushed_packet_is_seen_without_reading_it() {
    let pushed = |flags, from, to| {
        let header = Header {
            seq: 1,
            ack: 1,
            flags,
            window: 1,
            options: Options::default(),
        };
        is_pushed(&packet(&path(from, to), &header, b"x", Checksum::Full))
    };
    for (from, to) in [("10.0.0.1:1", "10.0.0.2:2"), ("[fd00::1]:1", "[fd00::2]:2")] {
        assert!(pushed(Flags::ACK.with(Flags::PSH), from, to));
        assert!(!pushed(Flags::ACK, from, to));
    }
    assert!(!is_pushed(&[]));
    assert!(!is_pushed(&[0x45; 33]), "UDP or whatever, and cut short");
}
