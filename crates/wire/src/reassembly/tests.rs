use proptest::prelude::*;
use proptest::sample::{Index, subsequence};
use tinygram_engine::{Duration, Flags, Instant};

use super::Reassembler;
use crate::checksum::Sum;
use crate::encode::{Checksum, Path};
use crate::options::Options;
use crate::packet::{self, Header, Refused, Verify};

fn at(secs: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(secs)
}

/// A TCP packet with so many octets of payload.
fn segment(v6: bool, len: usize) -> Vec<u8> {
    let ends = match v6 {
        false => ["10.0.0.2:4000", "10.0.0.1:80"],
        true => ["[fd00::2]:4000", "[fd00::1]:80"],
    };
    let ends = ends.map(|end| end.parse::<std::net::SocketAddr>().unwrap());
    let path = Path::new(ends[0], ends[1]).unwrap();
    let header = Header {
        seq: 1,
        ack: 2,
        flags: Flags::ACK,
        window: 3,
        options: Options::default(),
    };
    let mut packet = vec![0; path.headers_len(&header.options)];
    packet.extend((0..len).map(|n| n as u8));
    path.write_headers(&header, Checksum::Full, &mut packet);
    packet
}

/// The fragment of the packet that begins `start` octets behind its IP header.
fn fragment(packet: &[u8], id: u8, start: usize, end: usize, last: bool) -> Vec<u8> {
    let v6 = packet[0] >> 4 == 6;
    let header = if v6 { 40 } else { 20 };
    let piece = &packet[header + start..header + end];
    let mut fragment = packet[..header].to_vec();
    if v6 {
        fragment[4..6].copy_from_slice(&(8 + piece.len() as u16).to_be_bytes());
        fragment[6] = 44;
        let place = start as u16 | u16::from(!last);
        let [high, low] = place.to_be_bytes();
        fragment.extend([packet[6], 0, high, low, 0, 0, 0, id]);
    } else {
        let place = (start / 8) as u16 | u16::from(!last) << 13;
        fragment[2..4].copy_from_slice(&(20 + piece.len() as u16).to_be_bytes());
        fragment[4..6].copy_from_slice(&[0, id]);
        fragment[6..8].copy_from_slice(&place.to_be_bytes());
        fragment[10..12].fill(0);
        let sum = Sum::default().with(&fragment).checksum();
        fragment[10..12].copy_from_slice(&sum);
    }
    fragment.extend_from_slice(piece);
    fragment
}

/// The packet's fragments, cut at these multiples of eight octets.
fn cut(packet: &[u8], id: u8, cuts: &[usize]) -> Vec<Vec<u8>> {
    let header = if packet[0] >> 4 == 6 { 40 } else { 20 };
    let len = packet.len() - header;
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut * 8).collect();
    places.insert(0, 0);
    places.push(len);
    let pairs = places.windows(2);
    pairs
        .map(|pair| fragment(packet, id, pair[0], pair[1], pair[1] == len))
        .collect()
}

/// The packet that the fragments give, if they do.
fn joined(reassembler: &mut Reassembler, fragments: &[Vec<u8>]) -> Option<Vec<u8>> {
    let mut all = fragments
        .iter()
        .filter_map(|fragment| reassembler.add(at(1), fragment));
    let first = all.next();
    assert!(all.next().is_none(), "one packet at most");
    first
}

/// What TCP sees of a packet.
fn payload(packet: &[u8]) -> Vec<u8> {
    let read = packet::read(packet, Verify::Checksum).expect("a whole packet");
    read.payload.to_vec()
}

fn cuts() -> impl Strategy<Value = Vec<usize>> {
    // The first fragment has the whole TCP header.
    subsequence((3..125_usize).collect::<Vec<_>>(), 1..12)
}

proptest! {
    #[test]
    fn any_order_of_any_cutting_gives_the_packet(
        v6: bool, cuts in cuts(), copies in proptest::collection::vec(any::<Index>(), 0..4), seed: u64,
    ) {
        let packet = segment(v6, 1000);
        let mut fragments = cut(&packet, 7, &cuts);
        let mut order: Vec<usize> = (0..fragments.len()).collect();
        let mut state = seed;
        for at in (1..order.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            order.swap(at, (state >> 33) as usize % (at + 1));
        }
        fragments = order.into_iter().map(|at| fragments[at].clone()).collect();
        // Copies of fragments that have come change nothing.
        let last = fragments.pop().unwrap();
        for copy in copies {
            if !fragments.is_empty() {
                fragments.push(fragments[copy.index(fragments.len())].clone());
            }
        }
        fragments.push(last);
        let mut reassembler = Reassembler::default();
        let whole = joined(&mut reassembler, &fragments).expect("all of it came");
        prop_assert_eq!(payload(&whole), payload(&packet));
        prop_assert_eq!(reassembler.held(), 0);
    }

    #[test]
    fn overlapping_fragments_give_nothing(v6: bool, cuts in cuts(), which: Index) {
        let packet = segment(v6, 1000);
        let mut fragments = cut(&packet, 7, &cuts);
        // The first fragment that comes has octets of two neighbours.
        let edge = cuts[which.index(cuts.len())] * 8;
        fragments.insert(0, fragment(&packet, 7, edge - 8, edge + 8, false));
        let alone = |cut: usize| cuts.contains(&cut) || cut == 0;
        prop_assume!(!alone(edge / 8 - 1) || !alone(edge / 8 + 1));
        prop_assert_eq!(joined(&mut Reassembler::default(), &fragments), None);
    }

    /// Linux: `IPFRAG_DUP`. What came first stays.
    #[test]
    fn fragments_of_what_has_come_change_nothing(v6: bool, cuts in cuts(), from in 3..100_usize, len in 1..20_usize) {
        let packet = segment(v6, 1000);
        let mut fragments = cut(&packet, 7, &cuts);
        let last = cuts.last().unwrap() * 8;
        let end = ((from + len) * 8).min(last);
        prop_assume!(from * 8 < end);
        let mut forged = fragment(&packet, 7, from * 8, end, false);
        *forged.last_mut().unwrap() ^= 1;
        fragments.insert(fragments.len() - 1, forged);
        let whole = joined(&mut Reassembler::default(), &fragments).expect("all of it came");
        prop_assert_eq!(payload(&whole), payload(&packet));
    }

    #[test]
    fn octets_of_any_kind_do_no_harm(mut octets in proptest::collection::vec(any::<u8>(), 0..100), v6: bool) {
        if let Some(first) = octets.first_mut() {
            *first = *first & 0x0f | if v6 { 0x60 } else { 0x40 };
        }
        let mut reassembler = Reassembler::default();
        reassembler.add(at(1), &octets);
    }
}

#[test]
fn every_fragment_is_refused_by_the_reader() {
    for v6 in [false, true] {
        for fragment in cut(&segment(v6, 100), 1, &[4, 9]) {
            let read = packet::read(&fragment, Verify::Checksum);
            assert_eq!(read, Err(Refused::Fragment));
        }
    }
}

/// 30 seconds for IPv4, as Linux waits, and 60 for IPv6 (RFC 8200, section 4.5).
#[test]
fn late_fragments_come_in_vain() {
    for (v6, life) in [(false, 30), (true, 60)] {
        for (late, expected) in [(life - 1, true), (life, false)] {
            let packet = segment(v6, 100);
            let fragments = cut(&packet, 1, &[4]);
            let mut reassembler = Reassembler::default();
            assert_eq!(reassembler.add(at(0), &fragments[0]), None);
            assert_eq!(reassembler.next_expiry(), Some(at(life)));
            // What is too late is returned as it came, so that its sender can be told.
            let told = if expected {
                vec![]
            } else {
                vec![fragments[0].clone()]
            };
            assert_eq!(reassembler.expire(at(late)), told);
            let whole = reassembler.add(at(late), &fragments[1]);
            assert_eq!(whole.is_some(), expected, "after {late} s");
            assert_eq!(reassembler.expire(at(late + life)), [] as [Vec<u8>; 0]);
            assert_eq!((reassembler.held(), reassembler.next_expiry()), (0, None));
        }
    }
}

/// A packet of IPv6 that waits for 60 seconds does not keep one of IPv4 for longer than 30.
#[test]
fn each_version_has_its_own_time() {
    let first = |v6| cut(&segment(v6, 100), 1, &[4])[0].clone();
    let mut reassembler = Reassembler::default();
    reassembler.add(at(0), &first(true));
    let one = reassembler.held();
    reassembler.add(at(1), &first(false));
    assert!(reassembler.held() > one);
    reassembler.expire(at(31));
    assert_eq!(reassembler.held(), one);
    reassembler.expire(at(60));
    assert_eq!(reassembler.held(), 0);
}

/// RFC 8200, section 4.5: a first fragment has all headers, up to that of the upper layer.
#[test]
fn a_first_fragment_without_all_headers_is_ignored() {
    let plain = segment(true, 100);
    // Destination options in front of the TCP header.
    let mut long = plain.clone();
    long[6] = 60;
    long[5] += 8;
    long.splice(40..40, [6, 0, 1, 4, 0, 0, 0, 0]);
    for (packet, cut_at, taken) in [(&plain, 2, false), (&plain, 3, true)].into_iter().chain([
        (&long, 1, false),
        (&long, 3, false),
        (&long, 4, true),
    ]) {
        let fragments = cut(packet, 1, &[cut_at]);
        let mut reassembler = Reassembler::default();
        reassembler.add(at(0), &fragments[0]);
        assert_eq!(reassembler.held() > 0, taken, "{cut_at}");
        let whole = reassembler.add(at(0), &fragments[1]);
        assert_eq!(whole.is_some(), taken, "{cut_at}");
    }
}

#[test]
fn packets_with_different_identifications_do_not_mix() {
    let packet = segment(false, 100);
    let (one, other) = (cut(&packet, 1, &[4]), cut(&packet, 2, &[4]));
    let mut reassembler = Reassembler::default();
    let mixed = [one[0].clone(), other[1].clone()];
    assert_eq!(joined(&mut reassembler, &mixed), None);
}

/// RFC 6946: a fragment that is the whole packet is that packet, whatever waits.
#[test]
fn an_atomic_fragment_is_a_packet() {
    let packet = segment(true, 100);
    let mut reassembler = Reassembler::default();
    reassembler.add(at(0), &cut(&packet, 1, &[4])[0]);
    let whole = reassembler.add(at(0), &cut(&packet, 1, &[])[0]);
    assert_eq!(whole.unwrap(), packet);
}

/// RFC 3168, section 5.3.
#[test]
fn one_marked_fragment_marks_the_packet() {
    let packet = segment(true, 100);
    let mark = |fragments: &mut [Vec<u8>], codepoints: [u8; 2]| {
        for (fragment, ecn) in fragments.iter_mut().zip(codepoints) {
            fragment[1] |= ecn << 4;
        }
    };
    for (codepoints, expected) in [([2, 3], Some(true)), ([2, 2], Some(false)), ([0, 3], None)] {
        let mut fragments = cut(&packet, 1, &[4]);
        mark(&mut fragments, codepoints);
        let whole = joined(&mut Reassembler::default(), &fragments);
        let marked = whole.map(|whole| {
            let read = packet::read(&whole, Verify::Checksum).unwrap();
            read.header.flags.has(Flags::CE)
        });
        assert_eq!(marked, expected);
    }
}

#[test]
fn a_flood_of_fragments_takes_bounded_memory() {
    let packet = segment(true, 1400);
    let mut reassembler = Reassembler::default();
    for number in 0..20_000_u32 {
        let mut fragment = fragment(&packet, 0, 8, 1400, false);
        fragment[44..48].copy_from_slice(&number.to_be_bytes());
        assert_eq!(reassembler.add(at(1), &fragment), None);
        assert!(reassembler.held() <= super::MOST);
    }
    // Small fragments cost more than their octets: nodes of trees.
    for number in 0..20_000_u32 {
        let mut fragment = fragment(&packet, 0, 8, 16, false);
        fragment[44..48].copy_from_slice(&number.to_be_bytes());
        assert_eq!(reassembler.add(at(1), &fragment), None);
        assert!(reassembler.packets.len() <= super::MOST / 768);
    }
    let honest = cut(&packet, 9, &[80]);
    assert!(joined(&mut reassembler, &honest).is_some());
    reassembler.expire(at(61));
    assert_eq!(reassembler.held(), 0);
}
