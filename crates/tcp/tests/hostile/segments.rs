//! Segments of any kind at a connection.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::io::{ErrorKind, IoSlice};
use std::task::Poll;

use tinygram_engine::{Duration, Flags, State, Timestamps};
use tinygram_tcp::SocketOptions;
use tinygram_wire::checksum::Sum;
use tinygram_wire::options::Options;

use super::{COST, Peer, Victim, waits};

#[test]
fn data_and_resets_outside_the_window_do_nothing() {
    let mut victim = Victim::new(8, &SocketOptions::default());
    let mut honest = Peer::at(1);
    let key = honest.connect(&mut victim);
    let mut dice = SplitMix64::seed_from_u64(1);
    let (mut answers, mut data) = (0, 0);
    for _ in 0..50_000 {
        // Any sequence number but the right one, which a blind attacker does not know.
        let beyond = 1 + dice.next_u64() as u32 % (u32::MAX - 1);
        let seq = honest.seq.wrapping_add(beyond);
        let flags = [
            Flags::RST,
            Flags::SYN,
            Flags::ACK,
            Flags::RST.with(Flags::ACK),
        ];
        let flags = flags[dice.next_u64() as usize % flags.len()];
        // Data that falls into the window by chance cannot be told from the peer's, so none is sent
        // there.
        let most = if beyond > 100_000 { 4 } else { 1 };
        let payload = &[9; 3][..dice.next_u64() as usize % most];
        if flags == Flags::ACK && !payload.is_empty() {
            data += 1;
        }
        victim.arrives(&honest.packet(seq, flags, payload));
        victim.now += Duration::from_micros(10);
        answers += victim.answers().len();
    }
    assert_eq!(victim.core.state(key), State::Established);
    // Data is acknowledged wherever it lies (RFC 9293, section 3.10.7.4, first check). Of the rest,
    // ten are challenged (RFC 5961, section 7), and a bare ACK is answered twice a second.
    assert!(
        answers <= data + 12,
        "{answers} answers, {data} segments with data"
    );
    // None of it is kept in memory, and the connection goes on.
    assert_eq!(victim.core.allocated(), 0);
    honest.talks(&mut victim, key, b"untouched");
    let mut fresh = Peer::at(2);
    let key = fresh.connect(&mut victim);
    fresh.talks(&mut victim, key, b"honest");
}

#[test]
fn segments_that_overlap_change_nothing_that_is_there() {
    let mut victim = Victim::new(8, &SocketOptions::default());
    let mut dice = SplitMix64::seed_from_u64(3);
    for number in 1..1000 {
        let mut peer = Peer::at(number);
        let key = peer.connect(&mut victim);
        let honest: Vec<u8> = (0..5000).map(|at| at as u8).collect();
        let mut there = vec![false; honest.len()];
        // Pieces arrive in any order; octets that come again have changed.
        while there.contains(&false) {
            // Some begin before the first octet, or end behind the last, and are cut there, so that these come as often.
            let len = 1 + dice.next_u64() as usize % 900;
            let end = 1 + dice.next_u64() as usize % (honest.len() + len - 1);
            let piece = end.saturating_sub(len)..end.min(honest.len());
            let changed: Vec<u8> = piece
                .clone()
                .map(|at| if there[at] { !honest[at] } else { honest[at] })
                .collect();
            let seq = peer.seq.wrapping_add(piece.start as u32);
            let before = victim.core.connections();
            victim.arrives(&peer.packet(seq, Flags::ACK, &changed));
            assert_eq!(victim.core.connections(), before);
            there[piece].fill(true);
            victim.answers();
        }
        assert_eq!(victim.read(key), honest);
        victim.core.abort(key);
        victim.core.release(victim.now, key);
        victim.answers();
    }
    assert_eq!(victim.core.connections(), 0);
}

#[test]
fn a_refused_segment_changes_nothing_that_is_there() {
    let mut victim = Victim::new(8, &SocketOptions::default());
    let mut peer = Peer::at(1);
    let key = peer.connect(&mut victim);
    let ahead = peer.seq.wrapping_add(3);
    victim.arrives(&peer.packet(ahead, Flags::ACK, b"def"));
    // The ACK number covers octets that were never sent.
    let forged = Peer {
        ack: peer.ack.wrapping_add(1_000_000),
        ..Peer::at(1)
    };
    victim.arrives(&forged.packet(ahead, Flags::ACK, b"XYZ"));
    victim.arrives(&forged.packet(peer.seq, Flags::ACK, b"XYZ"));
    victim.arrives(&peer.packet(peer.seq, Flags::ACK, b"abc"));
    assert_eq!(victim.read(key), b"abcdef");
}

/// The figures of the table of bounds in book/src/build/stack.md.
#[test]
fn octets_far_apart_take_a_piece_of_memory_each_however_far() {
    let arrive = |places: &[u32]| {
        let mut victim = Victim::new(8, &SocketOptions::default());
        let mut peer = Peer::at(1);
        // With scaling the window is the whole buffer, a megabyte.
        let options = Options {
            mss: Some(1460),
            window_scale: Some(0),
            ..Options::default()
        };
        victim.arrives(&peer.packet_with(peer.seq, Flags::SYN, b"", options));
        peer.complete(&mut victim);
        for at in places {
            victim.arrives(&peer.packet(peer.seq.wrapping_add(*at), Flags::ACK, b"x"));
        }
        victim.core.allocated()
    };
    let megabyte = 1 << 20;
    assert_eq!(arrive(&[megabyte - 1]), COST);
    assert_eq!(arrive(&[megabyte]), 0, "beyond the window");
    let spread: Vec<u32> = (1..=64).map(|n| n * (megabyte / 64) - 1).collect();
    assert_eq!(arrive(&spread), 64 * COST);
}

#[test]
fn a_hole_in_every_other_octet_keeps_memory_bounded() {
    let options = SocketOptions {
        receive_buffer: 16 * 1024,
        ..SocketOptions::default()
    };
    let mut victim = Victim::new(8, &options);
    let mut peer = Peer::at(1);
    let key = peer.connect(&mut victim);
    for at in (2..60_000_u32).step_by(2) {
        victim.arrives(&peer.packet(peer.seq.wrapping_add(at), Flags::ACK, b"x"));
        victim.answers();
    }
    assert!(victim.core.allocated() <= 16 * 1024);
    // The third octet had already arrived.
    peer.talks(&mut victim, key, b"abx");
}

#[test]
fn options_of_any_kind_do_no_harm() {
    let mut victim = Victim::new(64, &SocketOptions::default());
    let mut dice = SplitMix64::seed_from_u64(4);
    let mut honest = Peer::at(0xff_0000);
    let key = honest.connect(&mut victim);
    for number in 0..50_000 {
        let peer = Peer::at(number);
        // Options with room for forty octets, filled at random below.
        let four = Options {
            mss: Some(1),
            ..Options::default()
        };
        let mut packet = match number % 3 {
            0 => peer.packet_with(peer.seq, Flags::SYN, b"", four),
            _ => honest.packet_with(honest.seq, Flags::ACK, b"", four),
        };
        let words = 1 + dice.next_u64() as usize % 10;
        packet.truncate(40);
        for _ in 0..words {
            packet.extend_from_slice(&(dice.next_u64() as u32).to_be_bytes());
        }
        // Half of them begin with a known kind.
        if dice.next_u64().is_multiple_of(2) {
            packet[40] = [2, 3, 4, 5, 8][dice.next_u64() as usize % 5];
        }
        packet[32] = ((5 + words as u8) << 4) | (packet[32] & 0x0f);
        repair(&mut packet);
        victim.arrives(&packet);
        victim.now += Duration::from_micros(100);
        victim.answers();
        assert!(victim.core.connections() <= 66);
    }
    assert_eq!(victim.core.state(key), State::Established);
    honest.talks(&mut victim, key, b"nothing happened");
}

/// Sets correct lengths and checksums.
fn repair(packet: &mut [u8]) {
    let len = packet.len() as u16;
    packet[2..4].copy_from_slice(&len.to_be_bytes());
    packet[10..12].fill(0);
    let sum = Sum::default().with(&packet[..20]).checksum();
    packet[10..12].copy_from_slice(&sum);
    packet[36..38].fill(0);
    let sum = Sum::default()
        .with(&packet[12..20])
        .with_u16(6)
        .with_u16(len - 20)
        .with(&packet[20..])
        .checksum();
    packet[36..38].copy_from_slice(&sum);
}

#[test]
fn a_window_that_shrinks_and_one_of_one_octet() {
    let options = SocketOptions {
        send_buffer: 20_000,
        ..SocketOptions::default()
    };
    let mut victim = Victim::new(8, &options);
    let mut peer = Peer::at(1);
    let key = peer.connect(&mut victim);
    let octets: Vec<u8> = (0..100_000_u32).map(|at| (at / 7) as u8).collect();
    let (mut written, mut came) = (0, Vec::new());
    let mut dice = SplitMix64::seed_from_u64(5);
    let mut steps = 0;
    while came.len() < octets.len() {
        written += victim.write(key, &octets[written..]);
        assert!(victim.core.allocated() <= 32_768);
        for answer in victim.answers() {
            // The peer takes segments in order only; others are lost.
            if answer.header.seq == peer.ack && !answer.payload.is_empty() {
                peer.ack = peer.ack.wrapping_add(answer.payload.len() as u32);
                came.extend_from_slice(&answer.payload);
            }
        }
        // Less than was promised, or hardly anything.
        peer.window = match dice.next_u64() % 4 {
            0 => 0,
            1 => 1,
            2 => dice.next_u64() as u16 % 600,
            _ => 5000,
        };
        victim.arrives(&peer.packet(peer.seq, Flags::ACK, b""));
        victim.wait(Duration::from_millis(300));
        steps += 1;
        assert!(steps < 20_000, "{} of {} came", came.len(), octets.len());
    }
    assert_eq!(came, octets);
    peer.window = 60_000;
    peer.talks(&mut victim, key, b"as before");
}

/// A peer that requests much data, closes its window and answers every probe, forever.
#[test]
fn a_closed_window_does_not_keep_what_nobody_owns() {
    let mut victim = Victim::new(8, &SocketOptions::default());
    let mut peer = Peer::at(1);
    let key = peer.connect(&mut victim);
    victim.write(key, &[1; 100_000]);
    victim.core.flush(victim.now, key);
    victim.core.release(victim.now, key);
    let sent = victim
        .answers()
        .iter()
        .map(|a| a.payload.len())
        .sum::<usize>();
    peer.ack = peer.ack.wrapping_add(sent as u32);
    peer.window = 0;
    for _ in 0..3600 {
        victim.arrives(&peer.packet(peer.seq, Flags::ACK, b""));
        victim.wait(Duration::from_secs(1));
        victim.answers();
    }
    assert_eq!((victim.core.connections(), victim.core.allocated()), (0, 0));
}

/// A client that soon reuses a port is recognised by its timestamp if its sequence number does not
/// tell (RFC 6191, section 2).
#[test]
fn a_port_used_again_is_known_by_its_clock() {
    let mut victim = Victim::new(8, &SocketOptions::default());
    let mut peer = Peer::at(1);
    let first = peer.seq;
    let at = |value| Options {
        mss: Some(1460),
        timestamps: Some(Timestamps { value, echo: 0 }),
        ..Options::default()
    };
    let plain = |value| Options {
        mss: None,
        ..at(value)
    };
    let opens = Peer { ack: 0, ..peer };
    victim.arrives(&opens.packet_with(first, Flags::SYN, b"", at(1000)));
    let synack = victim.answers()[0].header;
    peer.seq = first.wrapping_add(1);
    peer.ack = synack.seq.wrapping_add(1);
    victim.arrives(&peer.packet_with(peer.seq, Flags::ACK, b"", plain(1001)));
    let key = victim.accept().expect("a connection");
    victim.arrives(&peer.packet_with(peer.seq, Flags::ACK, &[1; 1000], plain(1002)));
    assert_eq!(victim.read(key), [1; 1000]);
    peer.seq = peer.seq.wrapping_add(1000);
    victim.core.release(victim.now, key);
    victim.answers();
    peer.ack = peer.ack.wrapping_add(1);
    let fin = Flags::FIN.with(Flags::ACK);
    victim.arrives(&peer.packet_with(peer.seq, fin, b"", plain(1003)));
    victim.answers();
    assert_eq!(victim.core.connections(), 1, "TIME-WAIT");
    // The number lies within what was sent before: with an older timestamp, then with a newer one.
    for (value, opened) in [(900, false), (1100, true)] {
        let seq = first.wrapping_add(500);
        let opens = Peer { ack: 0, ..peer };
        victim.arrives(&opens.packet_with(seq, Flags::SYN, b"", at(value)));
        let answers = victim.answers();
        let flags = answers.last().expect("an answer").header.flags;
        assert_eq!(flags.has(Flags::SYN), opened, "{value}");
    }
}

#[test]
fn segments_of_any_kind_at_a_connection() {
    let options = SocketOptions {
        send_buffer: 8192,
        receive_buffer: 8192,
        ..SocketOptions::default()
    };
    let mut victim = Victim::new(8, &options);
    let mut dice = SplitMix64::seed_from_u64(7);
    for number in 0..2000 {
        let mut peer = Peer::at(number);
        let key = peer.connect(&mut victim);
        for _ in 0..30 {
            let near = |dice: &mut SplitMix64| (dice.next_u64() as u32 % 20_000).wrapping_sub(4000);
            let seq = peer.seq.wrapping_add(near(&mut dice));
            let any = Peer {
                ack: peer.ack.wrapping_add(near(&mut dice)),
                window: dice.next_u64() as u16,
                ..Peer::at(number)
            };
            let flags = Flags::from_bits(dice.next_u64() as u8)
                .with_if(!dice.next_u64().is_multiple_of(8), Flags::ACK);
            let payload = vec![1; dice.next_u64() as usize % 1460];
            victim.arrives(&any.packet(seq, flags, &payload));
            match dice.next_u64() % 6 {
                0 => drop(victim.read(key)),
                1 => {
                    let piece = [IoSlice::new(&payload)];
                    let now = victim.now;
                    let written = victim.core.poll_write(now, key, &piece, false, &waits());
                    if let Poll::Ready(Err(error)) = written {
                        let kinds = [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset];
                        assert!(kinds.contains(&error.kind()), "{error}");
                    }
                }
                2 => victim.wait(Duration::from_millis(dice.next_u64() % 2000)),
                3 if dice.next_u64().is_multiple_of(5) => victim.core.shutdown(victim.now, key),
                _ => {}
            }
            victim.answers();
            assert!(victim.core.allocated() <= 2 * 8192);
        }
        victim.core.abort(key);
        victim.core.release(victim.now, key);
        victim.answers();
        assert_eq!(victim.core.connections(), 0);
    }
}
