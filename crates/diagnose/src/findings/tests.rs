//! Which kind a hold is: each rule at its bounds.

use super::finding::{Facts, Finding, cost_ns};
use super::tinygram_flood;
use crate::flow::connection::Connection;
use crate::flow::half::Half;
use crate::flow::half::tests::{changed, gist, opened_with};
use crate::flow::hold::Behind;
use crate::flow::hold::Hold;
use crate::flow::mark::Mark;
use crate::flow::restart as idle_restart;
use crate::verdict::checked::Checked;
use crate::verdict::kinds::{classify, slow_start_delayed_ack};
use tinygram_stalls::Timeout;
use tinygram_stalls::{Kind, Pieces, Protocol, Side};

const MSS: u32 = 1000;
const MS: i64 = 1_000_000;

pub(crate) fn mark(frame: u64, time_ns: i64) -> Mark {
    Mark { frame, time_ns }
}

/// 200 bytes that waited 40 ms for the ACK of 100.
pub(crate) fn hold() -> Hold {
    Hold {
        trigger: mark(1, 0),
        release: Some(mark(2, 40 * MS)),
        held: mark(3, 40 * MS),
        trigger_len: 100,
        held_len: 200,
        flight: 100,
        ack_wait_ns: 40 * MS,
        pushed: true,
        mss: MSS,
        room: 60_000,
        fresh: true,
        path_measured: true,
        ..Hold::default()
    }
}

/// A window cut to an initial one, that had been twice that, and a wait of half a round trip to one and a
/// half.
#[test]
fn idleness_cuts_a_window_to_an_initial_one() {
    let rtt_ns = 100 * MS;
    let half = |flight: u32, peak_flight| {
        changed(Half::default(), |half| {
            half.next = 1;
            half.acked = 1;
            half.last_len = MSS;
            half.released_flight = flight;
            half.peak_flight = peak_flight;
            half.sent = mark(10, 0);
            half.release = crate::flow::half::Release {
                mark: mark(11, 90 * MS),
                room: MSS,
                wait_ns: 90 * MS,
                ..Default::default()
            };
        })
    };
    let pause = |half: &Half, len: u32, at_ms: f64, rtt_ns| {
        let segment = gist(&crate::flow::half::tests::data(1, len));
        idle_restart::pause(half, &segment, mark(12, (at_ms * 1e6) as i64), MSS, rtt_ns)
    };
    let cut = |half: &Half| pause(half, MSS, 100.0, rtt_ns).is_some();
    for segments in [2, 3, 4, 10] {
        assert!(cut(&half(segments * MSS, 2 * segments * MSS)));
        assert!(!cut(&half(segments * MSS, 2 * segments * MSS - 1)));
        assert!(!cut(&half(segments * MSS + 1, 60 * MSS)));
    }
    assert!(!cut(&half(5 * MSS, 60 * MSS)));
    let usual = half(2 * MSS, 4 * MSS);
    let found = pause(&usual, MSS, 100.0, rtt_ns).expect("it is");
    assert_eq!((found.flight, found.reaction_ns), (2 * MSS, 10 * MS));
    assert!(pause(&usual, MSS - 1, 100.0, rtt_ns).is_none());
    // Half a round trip and one and a half, if the ACK came then.
    let acked_at = |at_ms: i64| {
        changed(usual.clone(), |half| {
            half.release = crate::flow::half::Release {
                mark: mark(11, at_ms * MS),
                ..usual.release
            };
        })
    };
    let wait = |at_ms: f64| pause(&acked_at(at_ms as i64), MSS, at_ms, rtt_ns).is_some();
    assert!(wait(50.0) && !wait(49.9) && wait(149.9) && !wait(150.0));
    // Upon the ACK: less than half a round trip behind it.
    let behind = |at_ms| pause(&acked_at(at_ms), MSS, 100.0, rtt_ns).is_some();
    assert!(behind(51) && !behind(50));
    // Below 5 ms nobody notices a round trip.
    let quick = |rtt_ns| pause(&acked_at(5), MSS, 5.0, rtt_ns).is_some();
    assert!(quick(5 * MS) && !quick(5 * MS - 1));
    for unlike in [
        changed(usual.clone(), |half| {
            half.last_len = MSS + 1;
        }),
        changed(usual.clone(), |half| {
            half.last_len = 0;
        }),
        changed(usual.clone(), |half| {
            half.turns.peer_spoke = true;
        }),
        changed(usual.clone(), |half| {
            half.disturbed = true;
        }),
        changed(usual.clone(), |half| {
            half.release = crate::flow::half::Release {
                room: MSS - 1,
                ..usual.release
            };
        }),
    ] {
        assert!(!cut(&unlike), "{unlike:?}");
    }
    // A flight that is not acknowledged whole counts as far as it went.
    let open = changed(usual.clone(), |half| {
        half.next = 9;
        half.flight = 3 * MSS;
        half.peak_flight = 6 * MSS;
    });
    assert_eq!(
        pause(&open, MSS, 100.0, rtt_ns).map(|h| h.flight),
        Some(3 * MSS)
    );
}

/// What a window held back would have left a round trip later at best.
#[test]
fn a_windows_wait_costs_a_round_trip_less() {
    for kind in [
        Kind::ShortInitialSegment,
        Kind::SlowStartDelayedAck,
        Kind::SmallBuffer,
    ] {
        assert_eq!(cost_ns(kind, &hold(), 15 * MS, 0), 25 * MS);
        assert_eq!(cost_ns(kind, &hold(), 50 * MS, 0), 0);
    }
    assert_eq!(cost_ns(Kind::WriteWriteRead, &hold(), 15 * MS, 0), 40 * MS);
}

/// A larger buffer saves of an ACK's wait what neither the path nor the link needs. Where a part of the flight was
/// acknowledged in time, no more was lost than passed since.
#[test]
fn a_larger_buffer_does_not_save_what_the_link_needs() {
    let cost = |carried_ns, step_ns| {
        let hold = Hold { step_ns, ..hold() };
        cost_ns(Kind::SmallBuffer, &hold, 5 * MS, carried_ns)
    };
    assert_eq!(cost(0, 0), 35 * MS);
    assert_eq!(cost(30 * MS, 0), 5 * MS);
    assert_eq!(cost(50 * MS, 0), 0);
    assert_eq!(cost(0, 12 * MS), 12 * MS);
    assert_eq!(cost(30 * MS, 12 * MS), 5 * MS);
}

/// Davids' 78 and 84 bytes, with 12 for timestamps and 20 for IPv6.
#[test]
fn options_and_ipv6_add_to_the_headers() {
    let overhead = |ends: [&str; 2], timestamps| {
        let end = |text: &str| text.parse::<std::net::SocketAddr>().expect(text).into();
        let ends = crate::flow::ends::Ends {
            ends: ends.map(end),
        };
        let mut connection = Connection::new(ends, 0, mark(1, 0));
        connection.last_ns = 1000 * MS;
        let half = &mut connection.halves[0];
        half.timestamps = timestamps;
        let tally = &mut half.tally;
        (tally.segments, tally.short, tally.bytes, tally.acks) = (100, 100, 1000, 50);
        (tally.mergeable, tally.mergeable_bytes, tally.runs) = (99, 990, 1);
        let found = tinygram_flood::find(&connection, 0, 1000).expect("a flood");
        let Facts::Flood(flood) = found.facts else {
            panic!("a flood");
        };
        flood.overhead_percent
    };
    let v4 = ["10.0.0.1:40000", "10.0.0.2:80"];
    let v6 = ["[fd00::1]:40000", "[fd00::2]:80"];
    // 100 segments and 50 ACKs for 1000 bytes.
    let percent = |data: u32, ack: u32| f64::from(10 * data + 5 * ack);
    assert_eq!(overhead(v4, false), percent(78, 84));
    assert_eq!(overhead(v4, true), percent(90, 96));
    assert_eq!(overhead(v6, false), percent(98, 104));
    assert_eq!(overhead(v6, true), percent(110, 116));
}

fn finding(kind: Kind, protocol: Option<Protocol>, hold: Hold) -> Finding {
    Finding {
        kind,
        connection: 0,
        sender: Side::Server,
        blame: Side::Server,
        frames: Vec::new(),
        start_ns: 0,
        cost_ns: 0,
        pieces: hold.pieces,
        protocol,
        facts: Facts::Hold(hold),
        loopback: false,
        addresses: [std::net::Ipv4Addr::LOCALHOST.into(); 2],
        checks: Checked::default(),
    }
}

/// Behind a prompt ACK nothing is said of a delayed one.
#[test]
fn a_prompt_ack_is_not_called_delayed() {
    let said = |kind| finding(kind, None, hold()).evidence().join(" ");
    let prompt = said(Kind::NagleRoundTrip);
    assert!(prompt.contains("as fast as the path allows") && !prompt.contains("a delayed ACK"));
    assert!(said(Kind::WriteWriteRead).contains("a delayed ACK"));
}

/// What ACKs alone tell of the path is said to be a bound.
#[test]
fn a_round_trip_that_no_handshake_measured_is_said_to_be_at_most_so_long() {
    let said = |path_measured| {
        let hold = Hold {
            sender_distance_ns: Some(20 * MS),
            path_measured,
            ..hold()
        };
        finding(Kind::NagleRoundTrip, None, hold)
            .evidence()
            .join(" ")
    };
    let (measured, bounded) = (said(true), said(false));
    assert!(measured.contains("which is the round trip") && measured.contains("(20.0 ms)"));
    assert!(bounded.contains("is at most 20.0 ms") && !bounded.contains("as the path allows"));
    assert!(bounded.contains("as far as its ACKs tell") && !measured.contains("as far as"));
}

/// A full segment is not said to be less than one: the short one before it is.
#[test]
fn the_short_segment_is_the_one_that_is_named() {
    let behind = Behind {
        frame: 7,
        len: 5,
        full: 8,
    };
    let full = Hold {
        trigger: mark(8, 0),
        trigger_len: MSS,
        flight: MSS + 5,
        ..hold()
    };
    let minshall = Hold {
        behind: Some(Box::new(behind)),
        ..full.clone()
    };
    let found = finding(Kind::NagleRoundTrip, Some(Protocol::Pop3), minshall);
    let first = &found.evidence()[0];
    assert!(
        first.contains("5 bytes (frame 7), less than one segment of 1000"),
        "{first}"
    );
    assert!(found.evidence().join(" ").contains("Minshall's rule"));
    assert!(found.habit().contains("a short segment of 5"));
    // The first bytes of the short one are not known, and those of the full one tell nothing of it.
    assert!(found.advice().to_string().contains("status line"));
    for (trigger_len, says) in [
        (MSS, "full segments of 1000"),
        (2 * MSS + 1, "which end in"),
    ] {
        let alone = Hold {
            trigger_len,
            ..full.clone()
        };
        let said = finding(Kind::NagleRoundTrip, None, alone).evidence();
        assert!(said[0].contains(says), "{said:?}");
    }
}

/// One segment after a loss is no initial window; one that comes late may be none.
#[test]
fn a_window_after_a_timeout_is_no_initial_one() {
    let lost = changed(opened_with([4, 8, 16, 0]), |half| {
        half.tally.retransmitted = 1;
    });
    let one = Hold {
        trigger_len: MSS,
        flight: MSS,
        held_len: MSS,
        fresh: false,
        more_ready: true,
        pushed: false,
        ..hold()
    };
    assert_eq!(classify(&one, &lost), Some(Kind::SlowStartDelayedAck));
    assert_eq!(slow_start_delayed_ack::timeout(&one, &lost), Timeout::Yes);
    let first = Hold {
        fresh: true,
        ..one.clone()
    };
    let from_one = opened_with([1, 2, 2, 0]);
    for timeout in [Timeout::No, Timeout::Perhaps] {
        let first = Hold {
            timeout,
            ..first.clone()
        };
        assert_eq!(slow_start_delayed_ack::timeout(&first, &from_one), timeout);
    }
    let timeout = Timeout::Yes;
    let found = finding(Kind::SlowStartDelayedAck, None, Hold { timeout, ..one });
    assert!(found.evidence()[0].contains("after a retransmission timeout"));
    assert!(found.habit().contains("after a retransmission timeout"));
}

/// Recipes are for what is advised, and for programs that play the part.
#[test]
fn recipes_do_what_is_advised() {
    let cures = |kind, pieces, trigger_len| {
        let hold = Hold {
            pieces,
            trigger_len,
            ..hold()
        };
        let found = finding(kind, Some(Protocol::Http), hold);
        let mut cures: Vec<_> = found.recipes(80).map(|recipe| recipe.cure.name()).collect();
        cures.dedup();
        cures
    };
    let written_apart = cures(Kind::WriteWriteRead, Pieces::OneMessage, 100);
    assert_eq!(written_apart, ["no delay"]);
    let two_answers = cures(Kind::WriteWriteRead, Pieces::Pipelined, 100);
    assert_eq!(two_answers, ["no delay"]);
    let window = cures(Kind::SlowStartDelayedAck, Pieces::Unknown, MSS);
    assert_eq!(window, [""; 0]);
}
