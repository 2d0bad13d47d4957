//! What a half takes down of new data, segment by segment.

use tinygram_engine::Flags;
use tinygram_engine::options::Timestamps;
use tinygram_wire::decode::{Gist, Segment};

use crate::flow::half::Half;
use crate::flow::half::tests::{Told, ack, data, gist, mark};

const MSS: u32 = 1000;

#[test]
fn short_segments_are_told_by_what_was_open_before_them() {
    // Behind a full segment: Minshall's rule. Behind a short one: neither rule.
    let mut told = Told::from(1);
    told.sends(0.0, 1000).sends(0.1, 400).sends(0.2, 300);
    let tally = &told.half.tally;
    assert_eq!((tally.short, tally.past_full, tally.defied), (2, 1, 1));
    assert!(told.half.flight_defied);
    told.hears(1.0, 1701).sends(2.0, 10);
    assert!(!told.half.flight_defied);
    assert_eq!((told.half.tally.past_full, told.half.tally.defied), (1, 1));
    // Neither rule holds a FIN or urgent data back.
    for flag in [Flags::FIN, Flags::URG] {
        let segment = Segment {
            flags: Flags::ACK.with(flag),
            ..data(told.half.next, 10)
        };
        told.sends_as(3.0, &segment);
    }
    assert_eq!((told.half.tally.past_full, told.half.tally.defied), (1, 1));
    // An offloaded segment longer than the MSS ends in a short one.
    let mut told = Told::from(1);
    told.sends(0.0, 2500).sends(0.1, 300);
    assert_eq!(told.half.tally.defied, 1);
    let mut told = Told::from(1);
    told.sends(0.0, 2000).sends(0.1, 300);
    assert_eq!((told.half.tally.past_full, told.half.tally.defied), (1, 0));
}

/// A tail loss probe takes what a rule holds, once for a flight: two round trips after the last segment or ACK and 2 ms more at
/// the soonest, behind a single segment 200 ms more.
#[test]
fn what_may_be_a_probe_defies_no_rule() {
    let defied = |flight: &[u32], round_trip_ms: i64, sent_ms: &[f64]| {
        let mut told = Told::from(1);
        told.half.path.measured(round_trip_ms * 1_000_000);
        flight.iter().for_each(|len| {
            told.sends(1.0, *len);
        });
        for at_ms in sent_ms {
            told.sends(1.0 + at_ms, 100);
        }
        assert_eq!(told.half.flight_defied, told.half.tally.defied > 0);
        told.half.tally.defied
    };
    assert_eq!(defied(&[1000, 400], 5, &[11.99]), 1);
    assert_eq!(defied(&[1000, 400], 5, &[12.0]), 0);
    assert_eq!(defied(&[1000, 400], 5, &[12.0, 900.0]), 1);
    assert_eq!(defied(&[400], 5, &[209.99]), 1);
    assert_eq!(defied(&[400], 5, &[210.0]), 0);
    // The next flight may have one, too; an ACK of a part begins the wait anew.
    let mut told = Told::from(1);
    told.half.path.measured(5_000_000);
    told.sends(1.0, 1000).sends(1.0, 400).sends(20.0, 100);
    told.hears(30.0, 1501).sends(40.0, 1000).sends(40.0, 400);
    told.sends(60.0, 100);
    assert_eq!(told.half.tally.defied, 0);
    told.hears(70.0, 3001).sends(80.0, 1000).sends(80.0, 400);
    told.hears(90.0, 4001).sends(101.9, 100);
    assert_eq!(told.half.tally.defied, 1);
}

/// Mergeable: within 10 ms, both short, together at most one segment, and nothing from the peer
/// between them.
#[test]
fn what_could_have_shared_a_segment_is_counted() {
    let mergeable = |first: u32, gap_ms: f64, second: u32, between: bool| {
        let mut told = Told::from(1);
        told.sends(0.0, first);
        told.half.turns.peer_between = between;
        told.sends(gap_ms, second);
        let tally = &told.half.tally;
        (tally.mergeable, tally.mergeable_bytes, tally.runs)
    };
    assert_eq!(mergeable(400, 9.99, 600, false), (1, 600, 1));
    assert_eq!(mergeable(400, 10.0, 600, false), (0, 0, 2));
    assert_eq!(mergeable(400, 1.0, 601, false), (0, 0, 2));
    assert_eq!(mergeable(1000, 1.0, 10, false), (0, 0, 1));
    assert_eq!(mergeable(400, 1.0, 600, true), (0, 0, 2));
}

/// The first bytes of a segment, as far as captured, identify the protocol.
#[test]
fn the_first_bytes_of_the_last_segment_are_kept() {
    let mut packet = vec![0; 40];
    packet[0] = 0x45;
    packet[9] = 6;
    packet[32] = 0x50;
    packet.extend(*b"GET / HTTP/1.1");
    packet[3] = packet.len() as u8;
    let frame = tinygram_wire::capture::Frame {
        number: 1,
        time_ns: 0,
        link: tinygram_wire::capture::LinkType::RAW,
        data: &packet,
        wire_len: packet.len() as u32,
    };
    let (_, around) = tinygram_wire::decode::look(&frame).expect("a segment");
    let mut half = Half::default();
    assert_eq!(*half.head, *b"");
    half.on_data(&Gist::of(&data(1, 14), &around), mark(1, 0), MSS, 0, None);
    assert_eq!(*half.head, *b"GET / HT");
    half.on_data(&gist(&data(15, 14)), mark(2, 0), MSS, 0, None);
    assert_eq!(*half.head, *b"");
}

/// A greatest length that occurs again and again is the path's.
#[test]
fn how_often_the_greatest_length_was_met_is_counted_anew_for_a_greater() {
    let mut told = Told::from(1);
    for len in [500, 700, 700, 600, 700] {
        told.sends(0.0, len);
    }
    assert_eq!((told.half.max_len, told.half.max_seen), (700, 3));
    told.sends(0.0, 701);
    assert_eq!((told.half.max_len, told.half.max_seen), (701, 1));
    assert_eq!(told.half.peak_flight, 500 + 3 * 700 + 600 + 701);
    assert_eq!(told.half.flight, told.half.peak_flight);
    assert_eq!(told.half.flight_segments, 6);
}

/// A stack that echoes the timestamps of pure ACKs shows it by an echo newer than the peer's data.
#[test]
fn an_echo_of_a_pure_acks_timestamp_is_noticed() {
    let echoes = |data_stamp, ack_stamp, echo| {
        let mut told = Told::from(1);
        told.sends(0.0, 10);
        told.half.data_stamp = data_stamp;
        let stamps = |value, echo| Some(Timestamps { value, echo });
        let mut pure = ack(11);
        pure.options.timestamps = stamps(ack_stamp, 0);
        told.hears_as(1.0, &pure, 60_000);
        let mut next = data(11, 10);
        next.options.timestamps = stamps(0, echo);
        told.sends_as(2.0, &next);
        told.half.echoes_acks
    };
    assert!(echoes(5, 7, 7));
    assert!(!echoes(5, 7, 6));
    assert!(!echoes(7, 7, 7));
    assert!(!echoes(8, 7, 7));
    assert!(!Told::from(1).sends(0.0, 1).half.timestamps);
}

/// RFC 9293, section 3.8.6.2.1: half of the largest window may always be sent, so it says nothing
/// about a rule.
#[test]
fn half_of_the_window_defies_nobody() {
    let defied = |payload, half_window| {
        let mut half = Half {
            seen: true,
            next: 1,
            acked: 1,
            ..Half::default()
        };
        half.on_data(&gist(&data(1, 100)), mark(1, 0), MSS, 0, None);
        let second = data(101, payload);
        half.on_data(&gist(&second), mark(2, 1000), MSS, half_window, None);
        half.tally.defied
    };
    assert_eq!((defied(500, 0), defied(500, 501)), (1, 1));
    assert_eq!((defied(500, 500), defied(500, 100)), (0, 0));
}
