//! Fragments of packets, and echo requests.

use tinygram_engine::{Duration, Flags};
use tinygram_tcp::SocketOptions;
use tinygram_wire::checksum::Sum;

use super::{Peer, Victim};

/// Cuts an IPv4 packet in two behind `len` octets of its payload.
fn in_two(packet: &[u8], id: u16, len: usize) -> [Vec<u8>; 2] {
    [(0, len, true), (len, packet.len() - 20, false)].map(|(start, end, more)| {
        let mut fragment = packet[..20].to_vec();
        fragment.extend_from_slice(&packet[20 + start..20 + end]);
        let total = (20 + end - start) as u16;
        let place = (start / 8) as u16 | u16::from(more) << 13;
        fragment[2..4].copy_from_slice(&total.to_be_bytes());
        fragment[4..6].copy_from_slice(&id.to_be_bytes());
        fragment[6..8].copy_from_slice(&place.to_be_bytes());
        fragment[10..12].fill(0);
        let sum = Sum::default().with(&fragment[..20]).checksum();
        fragment[10..12].copy_from_slice(&sum);
        fragment
    })
}

/// Fragments that never become packets take bounded memory for bounded time, and packets that are
/// cut on their way still arrive, in any order.
#[test]
fn fragments_that_lack_others_do_no_harm() {
    let mut victim = Victim::new(8, &SocketOptions::default());
    let mut peer = Peer::at(0xff_fffe);
    let key = peer.connect(&mut victim);
    let payload = [7; 1400];
    for number in 0..20_000 {
        let stranger = Peer::at(number);
        let packet = stranger.packet(1, Flags::ACK, &payload);
        let [first, second] = in_two(&packet, number as u16, 800);
        victim.arrives(if number % 2 == 0 { &first } else { &second });
        assert!(victim.core.held_in_fragments() <= 4 << 20);
        if number % 1000 == 0 {
            let data = [number.to_be_bytes(); 300].concat();
            let flags = Flags::ACK.with(Flags::PSH);
            let [first, second] = in_two(&peer.packet(peer.seq, flags, &data), 9, 640);
            let order = if number % 2000 == 0 {
                [&first, &second]
            } else {
                [&second, &first]
            };
            order.into_iter().for_each(|one| victim.arrives(one));
            peer.seq = peer.seq.wrapping_add(data.len() as u32);
            assert_eq!(victim.read(key), data);
        }
    }
    assert_eq!(victim.core.counters().reassembled, 20);
    victim.wait(Duration::from_secs(31));
    // One more fragment, and the late ones are forgotten.
    victim.arrives(&in_two(&peer.packet(1, Flags::ACK, &payload), 1, 800)[0]);
    assert!(victim.core.held_in_fragments() < 2000);
    victim.core.set_reassembly(false);
    assert_eq!(victim.core.held_in_fragments(), 0);
    let refused = victim.core.counters().refused;
    victim.arrives(&in_two(&peer.packet(1, Flags::ACK, &payload), 1, 800)[0]);
    assert_eq!(victim.core.counters().refused, refused + 1);
}

/// Returns the packets that leave, whatever they are.
fn packets(victim: &mut Victim) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    while victim.core.has_packets() {
        victim.core.fill(&mut victim.batch);
        victim.batch.drain(0, |octets, _| all.push(octets.to_vec()));
    }
    all
}

/// The sender of a packet whose first fragment has come is told when the time for the rest is over
/// (RFC 1122, section 3.3.2).
#[test]
fn senders_learn_that_the_rest_did_not_come_in_time() {
    let mut victim = Victim::new(8, &SocketOptions::default());
    let [first, _] = in_two(&echo_request(1000), 1, 800);
    let fragments = |id| in_two(&echo_request(1000), id, 800);
    let told_after = |victim: &mut Victim, secs| {
        victim.wait(Duration::from_secs(secs));
        packets(victim)
    };
    victim.arrives(&first);
    assert_eq!(told_after(&mut victim, 29), [] as [Vec<u8>; 0]);
    let told = told_after(&mut victim, 1);
    assert_eq!(told.len(), 1);
    let (header, message) = told[0].split_at(20);
    assert_eq!(
        (header[9], &header[12..]),
        (1, &[10, 0, 0, 1, 10, 0, 0, 2][..])
    );
    assert_eq!(message[..2], [11, 1], "time exceeded in reassembly");
    assert!(Sum::default().with(header).is_right() && Sum::default().with(message).is_right());
    assert_eq!(message[8..], first[..548], "576 octets in all");
    // Not if the first fragment is missing or all came.
    victim.arrives(&fragments(2)[1]);
    fragments(3).iter().for_each(|one| victim.arrives(one));
    assert_eq!(packets(&mut victim).len(), 1, "the reply");
    assert_eq!(told_after(&mut victim, 31).len(), 0);
    // Nor if the packet is an error itself, or of nobody.
    for (at, octet) in [(20, 3), (12, 224), (12, 0)] {
        let [mut first, _] = fragments(4);
        first[at] = octet;
        first[10..12].fill(0);
        let sum = Sum::default().with(&first[..20]).checksum();
        first[10..12].copy_from_slice(&sum);
        victim.arrives(&first);
        assert_eq!(told_after(&mut victim, 31).len(), 0, "{octet} at {at}");
    }
    // At most fifty at once, and a thousand in a second: ten more after ten milliseconds, and fifty again
    // after a while.
    let mut all = 1;
    for _ in 0..2 {
        for ids in [0..2000, 2000..2040] {
            ids.for_each(|id| victim.arrives(&fragments(id)[0]));
            victim.wait(Duration::from_millis(10));
        }
        victim.wait(Duration::from_millis(29_980));
        assert_eq!(packets(&mut victim).len(), 50);
        victim.wait(Duration::from_millis(10));
        assert_eq!(packets(&mut victim).len(), 10);
        victim.wait(Duration::from_secs(1));
        all += 60;
    }
    assert_eq!(victim.core.counters().time_exceeded, all);
}

/// The same for IPv6 (RFC 8200, section 4.5): the quoted fragment is as long as it can be.
#[test]
fn senders_of_ipv6_learn_it_too() {
    let ours: std::net::Ipv6Addr = "fd00::1".parse().unwrap();
    let theirs: std::net::Ipv6Addr = "fd00::2".parse().unwrap();
    let mut victim = Victim::new(8, &SocketOptions::default());
    victim.core.add_address(ours.into());
    // An echo request and an error of ICMPv6.
    for (kind, told) in [(128, 1), (1, 0)] {
        let mut first = vec![0x60, 0, 0, 0, 5, 112, 44, 64];
        first.extend(theirs.octets());
        first.extend(ours.octets());
        first.extend([58, 0, 0, 1, 0, 0, 0, 7]);
        first.extend([kind; 1384]);
        victim.arrives(&first);
        victim.wait(Duration::from_secs(61));
        let left = packets(&mut victim);
        assert_eq!(left.len(), told);
        for error in left {
            assert_eq!(
                (error.len(), error[6], &error[40..42]),
                (1280, 58, &[3, 1][..])
            );
            assert_eq!(error[8..24], ours.octets());
            assert_eq!(error[24..40], theirs.octets());
            assert_eq!(error[48..], first[..1232]);
            let sum = Sum::default()
                .with(&error[8..40])
                .with_u16(1240)
                .with_u16(58);
            assert!(sum.with(&error[40..]).is_right());
        }
    }
}

/// An echo request of the peer's with so many octets of data.
fn echo_request(len: usize) -> Vec<u8> {
    let total = (28 + len) as u16;
    let [high, low] = total.to_be_bytes();
    let mut packet = vec![0x45, 0, high, low, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 2];
    packet.extend([10, 0, 0, 1]);
    let sum = Sum::default().with(&packet).checksum();
    packet[10..12].copy_from_slice(&sum);
    let mut message = vec![8, 0, 0, 0, 0, 1, 0, 1];
    message.extend((0..len).map(|at| at as u8));
    let sum = Sum::default().with(&message).checksum();
    message[2..4].copy_from_slice(&sum);
    packet.extend(message);
    packet
}

/// Echo replies fit into the device's packets, and those that wait take bounded memory.
#[test]
fn echo_replies_are_small_and_not_too_many() {
    let mut victim = Victim::new(8, &SocketOptions::default());
    for (len, answered) in [(1472, 1), (1473, 0), (40_000, 0)] {
        let [first, second] = in_two(&echo_request(len), 3, 800);
        victim.arrives(&first);
        victim.arrives(&second);
        let octets = take(&mut victim);
        assert_eq!(octets, answered * (28 + len), "{len}");
    }
    assert_eq!(victim.core.counters().echoes, 1);
    // Nobody sends what is queued; then the queue is as before.
    const FIT: usize = (1 << 20) / 1428;
    for round in 1..=2 {
        for _ in 0..4000 {
            victim.arrives(&echo_request(1400));
        }
        let counted = victim.core.counters().echoes;
        assert_eq!(counted as usize, 1 + round * FIT, "what was queued");
        assert_eq!(take(&mut victim), FIT * 1428);
    }
    // What has left makes room, although the queue is never empty.
    for _ in 0..4000 {
        victim.arrives(&echo_request(1400));
    }
    victim.core.fill(&mut victim.batch);
    let mut left = 0;
    victim.batch.drain(0, |_, _| left += 1);
    assert!((1..FIT).contains(&left));
    for _ in 0..4000 {
        victim.arrives(&echo_request(1400));
    }
    assert_eq!(take(&mut victim), FIT * 1428);

    /// Returns how many octets leave.
    fn take(victim: &mut Victim) -> usize {
        let mut all = 0;
        while victim.core.has_packets() {
            victim.core.fill(&mut victim.batch);
            victim.batch.drain(0, |octets, _| all += octets.len());
        }
        all
    }
}

/// A packet whose fragment headers follow each other is refused at the second one.
#[test]
fn fragments_of_fragments_are_refused() {
    let ours: std::net::Ipv6Addr = "fd00::1".parse().unwrap();
    let mut victim = Victim::new(8, &SocketOptions::default());
    victim.core.add_address(ours.into());
    const HEADERS: u16 = 8000;
    let [high, low] = (8 * HEADERS).to_be_bytes();
    let mut packet = vec![0x60, 0, 0, 0, high, low, 44, 64];
    packet.extend("fd00::2".parse::<std::net::Ipv6Addr>().unwrap().octets());
    packet.extend(ours.octets());
    packet.extend([44, 0, 0, 0, 0, 0, 0, 1].repeat(HEADERS.into()));
    victim.arrives(&packet);
    let counters = victim.core.counters();
    assert_eq!((counters.reassembled, counters.refused), (1, 1));
}
