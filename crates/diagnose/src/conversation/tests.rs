//! What a connection concludes from single segments.

use super::*;
use crate::flow::half::Half;
use crate::flow::half::tests::{ack, data, gist, mark};
use tinygram_engine::{Flags, Timestamps};
use tinygram_wire::decode::Segment;

const MS: i64 = 1_000_000;

/// A connection whose client is `ends[0]`, and its findings.
struct Told {
    connection: Conversation,
    found: Vec<Finding>,
    frame: u64,
}

impl Told {
    fn new() -> Self {
        let (ends, from) = Ends::between(data(1, 1).source, data(1, 1).destination);
        assert_eq!(from, 0);
        Self {
            connection: Conversation::new(ends, 0, mark(1, 0)),
            found: Vec::new(),
            frame: 0,
        }
    }

    fn takes(&mut self, at_ns: i64, from: usize, segment: &Segment) -> &mut Self {
        self.frame += 1;
        let at = mark(self.frame, at_ns);
        self.connection.segment(
            &gist(segment),
            Some(&segment.options),
            from,
            at,
            Telling {
                found: &mut self.found,
                about: None,
            },
        );
        self
    }

    fn half(&self) -> &Half {
        &self.connection.flow.halves[0]
    }
}

fn syn(seq: u32, flags: Flags) -> Segment {
    Segment {
        flags,
        ..data(seq, 0)
    }
}

/// A repeated SYN opens nothing; a SYN with other numbers does, and after the end any SYN does.
#[test]
fn ports_are_used_again_by_a_syn_with_other_numbers() {
    let mut told = Told::new();
    assert!(
        !told
            .connection
            .flow
            .is_reuse(&gist(&syn(100, Flags::SYN)), 0, 0)
    );
    told.takes(0, 0, &syn(100, Flags::SYN));
    let is_reuse = |told: &Told, seq, flags| {
        told.connection
            .flow
            .is_reuse(&gist(&syn(seq, flags)), 0, MS)
    };
    assert!(!is_reuse(&told, 100, Flags::SYN));
    assert!(is_reuse(&told, 101, Flags::SYN));
    assert!(!is_reuse(&told, 101, Flags::SYN.with(Flags::ACK)));
    assert!(!is_reuse(&told, 101, Flags::ACK));
    told.takes(MS, 0, &data(101, 10));
    assert!(is_reuse(&told, 100, Flags::SYN));
    told.connection.flow.closed = true;
    assert!(
        told.connection
            .flow
            .is_reuse(&gist(&syn(7, Flags::SYN)), 1, MS)
    );
}

/// Where the SYN itself was not captured its answer tells, unless that is an old one; and where time goes back,
/// the numbers may be the same.
#[test]
fn ports_are_used_again_by_an_answer_with_other_numbers_or_at_another_time() {
    let (answer, second) = (Flags::SYN.with(Flags::ACK), 1_000_000_000);
    let mut told = Told::new();
    told.takes(second, 0, &syn(100, answer));
    let is_reuse = |told: &Told, seq, at_ns| {
        let answer = syn(seq, answer);
        told.connection.flow.is_reuse(&gist(&answer), 0, at_ns)
    };
    // Nothing but the handshake is known.
    assert!(!is_reuse(&told, 5_000, second));
    assert!(!is_reuse(&told, 100, -1));
    told.takes(second, 0, &data(101, 10));
    for (seq, reused) in [(100, false), (110, false), (111, true), (0xf000_0000, true)] {
        assert_eq!(is_reuse(&told, seq, second), reused, "{seq}");
    }
    assert!(!is_reuse(&told, 100, 0));
    assert!(is_reuse(&told, 100, -1));
    let repeated = syn(
        told.connection.flow.halves[1].next.wrapping_sub(1),
        Flags::SYN,
    );
    assert!(told.connection.flow.is_reuse(&gist(&repeated), 1, -1));
    assert!(!told.connection.flow.is_reuse(&gist(&repeated), 1, 0));
    // The old one changes nothing.
    told.takes(second, 0, &syn(100, answer));
    assert_eq!((told.half().next, told.half().sent.frame), (111, 2));
}

/// After a gap, earlier data counts as acknowledged only if nothing was open.
#[test]
fn a_gap_is_taken_for_acknowledged_where_nothing_was_open() {
    let mut told = Told::new();
    told.takes(0, 0, &data(1000, 10));
    assert_eq!((told.half().acked, told.half().tally.missed), (1000, 0));
    // The ten bytes are still open.
    told.takes(MS, 0, &data(1050, 10));
    assert_eq!((told.half().acked, told.half().tally.missed), (1000, 1));
    told.takes(2 * MS, 1, &ack(1060));
    told.takes(3 * MS, 0, &data(1100, 10));
    assert_eq!((told.half().acked, told.half().tally.missed), (1100, 2));
    // An end that has only sent ACKs so far has missed nothing.
    let mut told = Told::new();
    told.takes(0, 1, &ack(500)).takes(MS, 0, &data(600, 10));
    assert_eq!((told.half().acked, told.half().tally.missed), (600, 0));
}

/// More than 200 ms of silence restarts the window, unless it contained a loss or nothing was sent
/// before.
#[test]
fn a_silence_restarts_a_window() {
    let restarted = |silence_ns: i64, change: fn(&mut Half)| {
        let mut told = Told::new();
        told.takes(0, 0, &data(1, 10)).takes(0, 1, &ack(11));
        told.takes(
            0,
            1,
            &Segment {
                payload: 5,
                ..ack(11)
            },
        );
        change(&mut told.connection.flow.halves[0]);
        let next = Segment {
            ack: 9,
            ..data(11, 10)
        };
        told.takes(silence_ns, 0, &next);
        told.half().restarted
    };
    assert!(!restarted(200 * MS, |_| {}));
    assert!(restarted(200 * MS + 1, |_| {}));
    assert!(!restarted(300 * MS, |half| half.disturbed = true));
    assert!(!restarted(300 * MS, |half| half.tally.segments = 0));
}

/// A window of zero that opens tells how long a receiver did not read; the sender is excused.
#[test]
fn a_window_is_scaled_if_both_ends_said_so() {
    let window = |scale, field| {
        let mut told = Told::new();
        for (from, flags) in [(0, Flags::SYN), (1, Flags::SYN.with(Flags::ACK))] {
            let mut segment = syn(100, flags);
            segment.options.window_scale = scale;
            told.takes(0, from, &segment);
        }
        told.takes(
            MS,
            0,
            &Segment {
                window: field,
                ..data(101, 1)
            },
        );
        told.half().window
    };
    assert_eq!(window(Some(3), 100), 800);
    assert_eq!(window(None, 100), 100);
    // RFC 7323, section 2.3: no more than fourteen.
    assert_eq!(window(Some(15), 3), 3 << 14);
    // Without a handshake only a closed window is known.
    let mut told = Told::new();
    told.takes(0, 0, &data(1, 1));
    assert_eq!(told.half().window, u32::MAX);
    told.takes(
        MS,
        0,
        &Segment {
            window: 0,
            ..data(2, 1)
        },
    );
    assert_eq!(told.half().window, 0);
    assert!(told.connection.flow.halves[1].disturbed);
}

/// A sender whose clock ticks each millisecond sends data 40 ms later: with a TSval that stands still it left with
/// the data before it. A clock of half a second may stand still so long.
#[test]
fn who_has_the_stamp_of_the_last_data_left_with_it() {
    let left = |tick_ms: u32, last_ms: u32, now_stamp: u32| {
        let stamped = |segment: Segment, value| {
            let mut segment = segment;
            segment.options.timestamps = Some(Timestamps { value, echo: 0 });
            segment
        };
        let at = |ms: u32| i64::from(ms) * MS;
        let last_stamp = 1000 + last_ms / tick_ms;
        let mut told = Told::new();
        told.takes(0, 0, &stamped(syn(100, Flags::SYN), 1000));
        told.takes(MS, 1, &stamped(syn(500, Flags::SYN.with(Flags::ACK)), 1));
        told.takes(at(last_ms), 0, &stamped(data(101, 10), last_stamp));
        let next = stamped(data(111, 10), now_stamp);
        told.connection
            .flow
            .left_with_the_last(&gist(&next), 0, mark(9, at(last_ms + 40)))
    };
    assert!(left(1, 30, 1030));
    assert!(!left(1, 30, 1031) && !left(1, 30, 1070));
    assert!(!left(500, 3000, 1006));
    // Nothing tells how fast the clock is.
    assert!(!left(500, 30, 1000));
}
