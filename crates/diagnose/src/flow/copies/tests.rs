//! Which frame is a copy of another.

use tinygram_engine::{Flags, Timestamps};
use tinygram_wire::capture::{Frame, LinkType};
use tinygram_wire::decode::{self, Around, Segment};

use super::*;

/// A frame as recorded, without the time to live.
#[derive(Clone, Copy)]
struct Seen {
    segment: Segment,
    around: Around,
    from: usize,
}

/// A name of a change, and the change.
type Change = (&'static str, fn(&mut Seen));

fn seen(identification: u16) -> Seen {
    let mut packet = [0; 40];
    packet[0] = 0x45;
    packet[3] = 40;
    packet[4..6].copy_from_slice(&identification.to_be_bytes());
    packet[9] = 6;
    packet[32] = 0x50;
    let frame = Frame {
        number: 1,
        time_ns: 0,
        link: LinkType::RAW,
        data: &packet,
        wire_len: 40,
    };
    let (segment, around) = decode::look(&frame).expect("a segment");
    let segment = Segment {
        seq: 1000,
        ack: 2000,
        window: 300,
        payload: 40,
        flags: Flags::ACK,
        ..segment
    };
    Seen {
        segment,
        around,
        from: 0,
    }
}

fn copies(first: Seen, second: Seen, later_us: i64) -> bool {
    let mut copies = Copies::default();
    let mut has = |seen: Seen, time_ns| {
        copies.has(&Gist::of(&seen.segment, &seen.around), seen.from, time_ns)
    };
    assert!(!has(first, 5_000_000_000));
    has(second, 5_000_000_000 + later_us * 1000)
}

/// A packet without a number of its own is a copy within half a millisecond; with a number, within
/// 20 ms.
#[test]
fn a_copy_is_close_behind_its_original() {
    assert!(copies(seen(0), seen(0), 499) && !copies(seen(0), seen(0), 500));
    assert!(copies(seen(7), seen(7), 19_999) && !copies(seen(7), seen(7), 20_000));
}

#[test]
fn what_differs_in_anything_is_no_copy() {
    let changes: [Change; 11] = [
        ("seq", |seen| seen.segment.seq += 1),
        ("seq, high", |seen| seen.segment.seq ^= 1 << 31),
        ("ack", |seen| seen.segment.ack += 1),
        ("payload", |seen| seen.segment.payload += 1),
        ("window", |seen| seen.segment.window += 1),
        ("window, high", |seen| seen.segment.window ^= 1 << 15),
        ("flags", |seen| {
            seen.segment.flags = Flags::ACK.with(Flags::PSH);
        }),
        ("FIN", |seen| {
            seen.segment.flags = Flags::ACK.with(Flags::FIN);
        }),
        ("direction", |seen| seen.from = 1),
        ("timestamp", |seen| {
            seen.segment.options.timestamps = Some(Timestamps { value: 1, echo: 0 });
        }),
        ("echo", |seen| {
            seen.segment.options.timestamps = Some(Timestamps { value: 0, echo: 1 });
        }),
    ];
    for (what, change) in changes {
        // Also together with another change, so that two changes do not cancel out.
        for number in [0, 9] {
            let mut other = seen(number);
            change(&mut other);
            assert!(!copies(seen(number), other, 1), "{what}");
        }
    }
    assert!(!copies(seen(8), seen(9), 1));
    let stamped = |value, echo| {
        let mut seen = seen(9);
        seen.segment.options.timestamps = Some(Timestamps { value, echo });
        seen
    };
    assert!(copies(stamped(5, 6), stamped(5, 6), 1));
    assert!(!copies(stamped(5, 6), stamped(5, 7), 1));
    assert!(!copies(stamped(5, 6), stamped(6, 5), 1));
}

/// The last four frames are remembered: a mirrored port may lag that far behind.
#[test]
fn the_last_four_frames_are_known() {
    let mut copies = Copies::default();
    let mut has = |seq| {
        let mut seen = seen(3);
        seen.segment.seq = seq;
        copies.has(&Gist::of(&seen.segment, &seen.around), 0, 1_000_000_000)
    };
    assert!(![1, 2, 3, 4].map(&mut has).contains(&true));
    assert_eq!([1, 2, 3, 4].map(&mut has), [true; 4]);
    assert!(!has(5));
    assert_eq!([2, 3, 4, 5].map(&mut has), [true; 4]);
    assert!(!has(1));
}
