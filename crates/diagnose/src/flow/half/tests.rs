//! What one direction remembers, segment by segment.

use std::num::NonZeroU16;

use tinygram_wire::endpoint::Endpoint;

use super::*;
use tinygram_engine::Flags;
use tinygram_wire::decode::{Around, Segment};

const MS: i64 = 1_000_000;
const MSS: u32 = 1000;

/// Returns a sender whose first rounds had these numbers of segments.
pub(crate) fn opened_with(opening: [u8; 4]) -> Half {
    changed(Half::default(), |half| half.rounds.opening = opening)
}

/// Returns `half` with this change.
pub(crate) fn changed(mut half: Half, change: impl FnOnce(&mut Half)) -> Half {
    change(&mut half);
    half
}

fn end(host: u8) -> Endpoint {
    std::net::SocketAddr::from(([10, 0, 0, host], 1000 + u16::from(host))).into()
}

/// Returns a segment of the sender that begins at `seq`.
pub(crate) fn data(seq: u32, payload: u32) -> Segment {
    Segment {
        source: end(1),
        destination: end(2),
        seq,
        ack: 1,
        flags: Flags::ACK.with(Flags::PSH),
        window: 60_000,
        payload,
        options: Default::default(),
    }
}

/// Returns what a segment says of which nothing else is known.
pub(crate) fn gist(segment: &Segment) -> Gist {
    Gist::of(segment, &Around::default())
}

/// Returns an ACK of the receiver.
pub(crate) fn ack(ack: u32) -> Segment {
    Segment {
        source: end(2),
        destination: end(1),
        ack,
        flags: Flags::ACK,
        ..data(1, 0)
    }
}

pub(crate) fn mark(frame: u64, time_ns: i64) -> Mark {
    Mark { frame, time_ns }
}

/// A sender with a clock and a frame number that advance.
pub(crate) struct Told {
    pub(crate) half: Half,
    frame: u64,
}

impl Told {
    pub(crate) fn from(next: u32) -> Self {
        let mut half = Half::default();
        half.on_ack(&gist(&ack(next)), mark(1, 0), 60_000, MSS);
        Self { half, frame: 1 }
    }

    pub(crate) fn sends(&mut self, at_ms: f64, payload: u32) -> &mut Self {
        let segment = data(self.half.next, payload);
        self.sends_as(at_ms, &segment)
    }

    pub(crate) fn sends_as(&mut self, at_ms: f64, segment: &Segment) -> &mut Self {
        self.frame += 1;
        let at = mark(self.frame, (at_ms * 1e6) as i64);
        self.half.on_data(&gist(segment), at, MSS, 0, None);
        self
    }

    pub(crate) fn hears(&mut self, at_ms: f64, number: u32) -> &mut Self {
        self.hears_as(at_ms, &ack(number), 60_000)
    }

    pub(crate) fn hears_as(&mut self, at_ms: f64, segment: &Segment, window: u32) -> &mut Self {
        self.frame += 1;
        let at = mark(self.frame, (at_ms * 1e6) as i64);
        self.half.on_ack(&gist(segment), at, window, MSS);
        self
    }
}

#[test]
fn a_window_that_opens_from_one_segment_is_known_by_its_rounds() {
    let grew = |opening| opened_with(opening).rounds.grew_from_one();
    for opening in [[1, 2, 1, 0], [1, 3, 4, 0], [1, 2, 4, 9]] {
        assert!(grew(opening), "{opening:?}");
    }
    for opening in [
        [2, 2, 2, 0],
        [1, 1, 2, 0],
        [1, 4, 2, 0],
        [1, 2, 0, 0],
        [1, 2, 5, 0],
    ] {
        assert!(!grew(opening), "{opening:?}");
    }
}

/// One segment, two after its ACK, four after theirs: what left between two ACKs is a round.
#[test]
fn rounds_are_what_left_between_two_acknowledgments() {
    let mut told = Told::from(1);
    told.sends(0.0, 1000).hears(50.0, 1001);
    told.sends(51.0, 1500).hears(90.0, 2501).hears(90.5, 2501);
    told.sends(91.0, 1000).sends(91.1, 2000).hears(95.0, 4501);
    told.hears(96.0, 5501).sends(97.0, 300).hears(98.0, 5801);
    told.sends(99.0, 300).hears(100.0, 6101);
    assert_eq!(told.half.rounds.opening, [1, 2, 3, 1]);
    assert!(told.half.rounds.grew_from_one());
}

/// An end is made up if fewer hops are left than any path leaves, its MSS exceeds Ethernet's, or its
/// segments are more than twice as long as a SYN without the option allows.
#[test]
fn an_end_that_cannot_be_what_it_says_is_made_up() {
    let end = |ttl, mss_option, max_len| Half {
        path: Path {
            ttl,
            mss_option: NonZeroU16::new(mss_option),
            ..Path::default()
        },
        max_len,
        ..Half::default()
    };
    for made_up in [
        end(1, 1460, 0),
        end(32, 1460, 0),
        end(64, 1461, 0),
        end(64, 536, 1073),
    ] {
        assert!(made_up.is_made_up(), "{made_up:?}");
    }
    for plain in [
        end(0, 1460, 0),
        end(33, 1460, 0),
        end(64, 536, 1072),
        end(64, 1400, 5000),
    ] {
        assert!(!plain.is_made_up(), "{plain:?}");
    }
}

#[test]
fn the_way_blurs_by_what_its_two_measures_differ() {
    let half = |handshake_ns, ack_min_ns| Path {
        handshake_ns,
        ack_min_ns,
        ..Path::default()
    };
    assert_eq!(half(u32::MAX, u32::MAX).receiver_distance_ns(), None);
    assert_eq!(half(6400, u32::MAX).receiver_distance_ns(), Some(6400));
    // A quarter of the only measurement.
    assert_eq!(half(6400, u32::MAX).blur_ns(), 1600);
    assert_eq!(half(u32::MAX, 6400).blur_ns(), 1600);
    // Their difference plus a 64th of the shorter, at most a quarter.
    assert_eq!(half(6400, 6500).blur_ns(), 200);
    assert_eq!(half(6900, 6400).blur_ns(), 600);
    assert_eq!(half(6400, 64_000).blur_ns(), 1600);
}

/// An ACK is prompt if it comes less than 10 ms after the time the handshake took.
#[test]
fn only_a_handshake_tells_that_an_ack_was_prompt() {
    let half = |handshake_ns, wait_ns| Half {
        path: Path {
            handshake_ns,
            ack_min_ns: 100_000_000,
            ..Path::default()
        },
        release: Release {
            wait_ns,
            ..Release::default()
        },
        ..Half::default()
    };
    assert!(half(20_000_000, 30 * MS - 1).was_prompt());
    assert!(!half(20_000_000, 30 * MS).was_prompt());
    assert!(!half(u32::MAX, 20 * MS).was_prompt());
}

#[test]
fn what_is_behind_what_was_sent_is_told_by_its_numbers() {
    let half = Half {
        seen: true,
        next: 5000,
        last_len: 100,
        sent: mark(7, 0),
        ..Half::default()
    };
    let arrival = |seq: u32, payload, time_ns| half.arrival(&gist(&data(seq, payload)), time_ns);
    assert_eq!(
        Half::default().arrival(&gist(&data(5000, 1)), 0),
        Arrival::Hole
    );
    assert_eq!(arrival(5000, 100, 0), Arrival::InOrder);
    assert_eq!(arrival(5001, 100, 0), Arrival::Hole);
    assert_eq!(arrival(4999, 0, 0), Arrival::KeepAlive);
    assert_eq!(arrival(4999, 1, 0), Arrival::KeepAlive);
    // It brings new data after a gap.
    assert_eq!(arrival(4999, 2, 0), Arrival::Hole);
    assert_eq!(arrival(4000, 1001, 0), Arrival::Hole);
    assert_eq!(arrival(4000, 1000, 0), Arrival::Retransmission);
    // The last segment again within half a millisecond; another of its length; a part of the last
    // one.
    assert_eq!(arrival(4900, 100, 499_999), Arrival::Copy);
    assert_eq!(arrival(4900, 100, 500_000), Arrival::Retransmission);
    assert_eq!(arrival(4800, 100, 0), Arrival::Retransmission);
    assert_eq!(arrival(4900, 50, 0), Arrival::Retransmission);
    // Sixteen megabytes earlier.
    let far = 5000_u32.wrapping_sub(0x0100_0000);
    assert_eq!(arrival(far, 100, 0), Arrival::Retransmission);
    assert_eq!(arrival(far.wrapping_sub(1), 100, 0), Arrival::Hole);
}

#[test]
fn an_ack_beyond_what_was_seen_tells_of_a_gap() {
    let mut told = Told::from(1);
    told.sends(0.0, 500).hears(1.0, 501);
    assert_eq!((told.half.tally.missed, told.half.disturbed), (0, false));
    told.sends(2.0, 500).hears(3.0, 1002);
    assert_eq!((told.half.tally.missed, told.half.disturbed), (1, true));
    assert_eq!((told.half.next, told.half.acked), (1002, 1002));
    // An ACK of what was acknowledged before changes nothing.
    told.hears(4.0, 900);
    assert_eq!((told.half.acked, told.half.tally.acks), (1002, 2));
}

/// The room that the window left behind the data in flight, before the ACK.
#[test]
fn the_room_is_what_the_window_had_left() {
    let room = |window| {
        let mut told = Told::from(1);
        told.sends(0.0, 500).sends(0.1, 700);
        told.hears_as(50.0, &ack(501), window);
        told.half.release.room
    };
    assert_eq!(room(2000), 800);
    assert_eq!(room(1200), 0);
    // A window that shrank leaves none; an unknown window sets no bound.
    assert_eq!(room(u32::MAX), u32::MAX - 1200);
}

/// The ACK of a short segment with a larger one still open behind it.
#[test]
fn the_ack_of_a_short_segment_alone_is_told_from_others() {
    let short = |first: u32, acked: u32, with_data: u32| {
        let mut told = Told::from(1);
        told.sends(0.0, first).sends(0.1, 1000);
        let segment = Segment {
            payload: with_data,
            ..ack(acked)
        };
        told.hears_as(50.0, &segment, 60_000);
        (told.half.release.short, told.half.release.whole)
    };
    assert_eq!(short(400, 401, 0), (true, false));
    assert_eq!(short(400, 400, 0), (false, false));
    assert_eq!(short(1000, 1001, 0), (false, false));
    assert_eq!(short(400, 1401, 0), (false, true));
    assert_eq!(short(400, 401, 9), (false, false));
    // Only a short segment can have waited for that ACK, and only behind a full one.
    let mut told = Told::from(1);
    told.sends(0.0, 400).sends(0.1, 1000).hears(50.0, 401);
    assert!(told.half.short_alone_acked(999, MSS));
    assert!(!told.half.short_alone_acked(1000, MSS));
    told.half.last_len = 999;
    assert!(!told.half.short_alone_acked(999, MSS));
    told.half.last_len = 1000;
    told.hears(51.0, 1401);
    assert!(!told.half.short_alone_acked(999, MSS));
}

/// Two ACKs behind the last segment of a flight, 16 us and 1000 bytes apart: 16 ns a byte.
#[test]
fn the_pace_of_the_receivers_link_is_the_fastest_seen() {
    let mut told = Told::from(1);
    for _ in 0..4 {
        told.sends(0.0, 1000);
    }
    told.hears(50.0, 1001);
    assert_eq!(told.half.path.pace, 0);
    told.hears(50.032, 2001);
    assert_eq!(told.half.path.pace, 32 * 16);
    told.hears(50.048, 3001);
    assert_eq!(told.half.path.pace, 16 * 16);
    // The ACK that ends the flight may have been delayed, so it is not used.
    told.hears(50.049, 4001);
    assert_eq!(told.half.path.pace, 16 * 16);
    // The first part of the flight was acknowledged 49 us before the rest.
    assert_eq!(told.half.released_in_parts_ns, 49_000);
    // An ACK of a flight that has ended is not a part of the next.
    told.sends(60.0, 10).sends(60.1, 10).hears(61.0, 4011);
    assert_eq!(told.half.released_in_parts_ns, 49_000);
    told.hears(62.0, 4021);
    assert_eq!(told.half.released_in_parts_ns, 1_000_000);
    told.sends(63.0, 10).hears(64.0, 4031);
    assert_eq!(told.half.released_in_parts_ns, 0);
}

/// Late means 10 ms or more; half a second is longer than any receiver's timer.
#[test]
fn late_acks_are_counted_and_averaged_as_a_round_trip_is() {
    let mut told = Told::from(1);
    let mut number = 1;
    for wait_ms in [9.999, 10.0, 499.999, 500.0] {
        number += 100;
        let at_ms = 1000.0 * f64::from(number);
        told.sends(at_ms, 100).hears(at_ms + wait_ms, number);
    }
    assert_eq!(told.half.tally.delayed_acks, 2);
    // Seven eighths of the first and one of the second.
    let ms = f64::from(told.half.path.delayed_ns) / 1e6;
    assert!((ms - (10.0 * 7.0 + 499.999) / 8.0).abs() < 1e-3, "{ms}");
    assert_eq!(
        (told.half.tally.acks, told.half.tally.acked_segments),
        (4, 4)
    );
    told.half.finished = true;
    told.sends(1e6, 100).hears(1e6 + 50.0, number + 100);
    assert_eq!(told.half.tally.delayed_acks, 2);
}

/// Only an ACK of two full segments and nothing short must be prompt.
#[test]
fn prompt_acks_are_those_of_two_full_segments() {
    let prompt = |lens: &[u32]| {
        let mut told = Told::from(1);
        let mut number = 1;
        for len in lens {
            told.sends(0.0, *len);
            number += len;
        }
        told.hears(7.0, number);
        i64::from(told.half.path.prompt_ns)
    };
    assert_eq!(prompt(&[1000, 1000]), 7 * MS);
    assert_eq!(prompt(&[2000]), 7 * MS);
    assert_eq!(prompt(&[1000]), 0);
    assert_eq!(prompt(&[500, 1000]), 0);
    assert_eq!(prompt(&[1000, 999]), 0);
    assert_eq!(prompt(&[1000, 1000, 1]), 0);
}

/// The way is the shortest wait for the ACK of a whole flight; out-of-order segments do not count.
#[test]
fn the_shortest_wait_is_the_way() {
    let mut told = Told::from(1);
    told.sends(0.0, 100).hears(30.0, 101);
    told.sends(40.0, 100).hears(50.0, 201);
    told.sends(60.0, 100).hears(90.0, 301);
    assert_eq!(i64::from(told.half.path.ack_min_ns), 10 * MS);
    told.sends(100.0, 100);
    told.half.note_sack(401, (450, 500));
    told.hears(101.0, 401);
    assert_eq!(i64::from(told.half.path.ack_min_ns), 10 * MS);
}

/// The peer answers if it has received all that was sent; data that crosses on the way is no
/// answer.
#[test]
fn an_answer_comes_from_who_has_seen_all() {
    let heard = |acked: u32, segments: u32| {
        let mut told = Told::from(1);
        for _ in 0..segments {
            told.sends(0.0, 10);
        }
        told.half.turns.peer_spoke = false;
        told.half.hear(
            &gist(&Segment {
                payload: 5,
                ..ack(acked)
            }),
            0,
        );
        let half = told.half;
        assert!(half.turns.peer_between);
        (half.turns.peer_spoke, half.turns.answered_len)
    };
    // One segment that was answered on its own.
    assert_eq!(heard(11, 1), (true, 10));
    assert_eq!(heard(10, 1), (false, 0));
    assert_eq!(heard(21, 2), (true, 0));
    let half = changed(Half::default(), |half| {
        half.turns.peer_spoke = true;
        half.turns.heard_to = 100;
    });
    let answer = |ack| half.is_answer(&gist(&Segment { ack, ..data(1, 1) }));
    assert!(answer(101) && !answer(100) && !answer(99));
}

/// The peer's data of 5 ms before its ACK came to the sender before the ACK did, unless it was lost.
#[test]
fn who_lacks_the_data_before_an_ack_lacks_the_ack() {
    const MS: i64 = 1_000_000;
    let lacks = |data_ms: i64, ack| {
        let mut half = Half::default();
        let said = Segment {
            seq: 100,
            payload: 10,
            ..data(100, 10)
        };
        half.hear(&gist(&said), 1000 * MS - data_ms * MS);
        half.release.mark = mark(2, 1000 * MS);
        half.lacks_data_before_release(ack)
    };
    assert!(lacks(5, 109) && !lacks(5, 110));
    assert!(lacks(189, 100) && !lacks(190, 100));
    assert!(!lacks(0, 100) && !lacks(-5, 100));
    // Who has heard nothing lacks nothing, also in a capture whose clock begins at 0.
    let mut half = Half::default();
    half.release.mark = mark(2, 50 * MS);
    assert!(!half.lacks_data_before_release(0x9000_0000));
}
