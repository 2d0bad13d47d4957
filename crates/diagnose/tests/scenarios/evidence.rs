//! What tells a stall from an accident: PSH, the sender's own link, what an ACK would have let go, and who waits.

use crate::player::{OPEN, Player};
use tinygram_diagnose::{Kind, Lookalike, Report, Tier};

fn found(report: &Report) -> Vec<(Kind, Tier)> {
    let stalls = report.findings.iter().filter(|f| f.kind.is_stall());
    stalls.map(|f| (f.kind, f.tier())).collect()
}

/// Seen beside the server, 40 ms from the client; the client sets PSH where a write ends.
const FAR: &str = "
    0.0   c S
    0.05  s S.
    40.05 c .
    50.0  c P 100
    50.2  s P 100
    90.3  c .
";

/// The odd full segment is acknowledged 41 ms late, and the rest comes 6 ms from where one round trip puts it:
/// an accident would bring as much. But the segment had no PSH.
#[test]
fn what_was_ready_behind_a_segment_without_psh_was_held() {
    let held = |trigger: &str| {
        let script = format!(
            "100.0 c {trigger}
             141.0 s .
             187.0 c P 300
             187.2 s P 100
             227.4 c ."
        );
        found(&Player::new().play(FAR).play(&script).report())
    };
    let odd = Kind::OddFullShortFinal;
    assert_eq!(held("D 1460"), [(odd, Tier::Likely)]);
    assert!(held("P 1460").iter().all(|(_, tier)| !tier.accuses()));
}

/// A sender that never sets PSH says nothing by leaving it out.
#[test]
fn a_sender_that_never_sets_psh_says_nothing_by_that() {
    let open = FAR.replace("c P", "c D");
    let script = "100.0 c D 1460\n141.0 s .\n187.0 c D 300\n187.2 s P 100\n227.4 c .";
    let report = Player::new().play(&open).play(script).report();
    assert!(found(&report).iter().all(|(_, tier)| !tier.accuses()));
}

/// The client's link takes 10 ms for 1460 bytes, so that 700 held bytes pass 5 ms later than an empty segment
/// would: with the link reckoned they are where the ACK puts them.
#[test]
fn a_slow_link_takes_its_time_for_the_held_segment_too() {
    let open = "
        0.0   c S
        0.05  s S.
        2.05  c .
    ";
    let flight = "
        20.0  c D 1460
        30.5  c D 1460
        41.0  c P 1460
        41.05 s P 50
        43.0  c .
    ";
    let held = "100.0 c P 200\n141.0 s .\n148.0 c P 700\n148.2 s P 50\n150.2 c .";
    let with_flight = Player::new().play(open).play(flight).play(held).report();
    let wwr = (Kind::WriteWriteRead, Tier::Likely);
    assert_eq!(found(&with_flight), [wwr]);
    // Nothing tells of a slow link: the program may have thought for 5 ms.
    let without = Player::new().play(open).play(held).report();
    assert!(found(&without).iter().all(|(_, tier)| !tier.accuses()));
}

/// A server near the capture point writes its answer's second part 43.6 ms after the first, and its client's ACK
/// comes after 40: the part follows each ACK by 3.6 ms, and the way takes 0.3. A kernel would have let it go at once,
/// and the link takes at most half a millisecond for it, since the first part came as soon after the question.
#[test]
fn a_server_that_thinks_a_little_longer_than_an_ack_is_delayed_is_not_accused() {
    let open = "
        0.0  c S
        0.3  s S.
        0.35 c .
    ";
    let exchanges = |second_at: f64| {
        let mut player = Player::new();
        player.play(open);
        for _ in 0..12 {
            player.later(100).play(&format!(
                "0.0   c P 80
                 0.7   s P 200
                 40.7  c .
                 {second_at} s P 300"
            ));
        }
        player.later(100).play("0.0 c P 80\n0.3 s .\n");
        player.report()
    };
    let thinks = exchanges(44.3);
    assert_eq!(found(&thinks), []);
    let events = thinks.connections[0].ruled_out.of(Lookalike::ThinkTime);
    assert_eq!((events.count, events.time_ns), (12, 12 * 43_600_000));
    // With the ACK's own round trip it was the ACK that let it go.
    let held = found(&exchanges(41.0));
    assert_eq!(held.len(), 12);
    assert!(held.iter().all(|(_, tier)| tier.accuses()));
}

/// A host is busy now and then: what a sender holds leaves right upon the ACK in seven of eight exchanges, and
/// once 2 ms later.
#[test]
fn a_sender_that_holds_may_be_late_once() {
    let mut player = Player::new();
    player.play(OPEN);
    for exchange in 0..8 {
        let held_at = if exchange == 3 { 43.0 } else { 41.05 };
        player.later(100).play(&format!(
            "0.0   c P 100
             41.0  s .
             {held_at} c P 200
             43.2  s P 300
             43.25 c ."
        ));
    }
    assert_eq!(found(&player.report()).len(), 8);
}

/// The server's link takes 8 ms for 1000 bytes and 0.5 for an empty segment, and no two segments ever follow
/// each other; but the swiftest of its answers was so large, and shows how long the link takes for 900.
#[test]
fn the_swiftest_answer_shows_how_slow_the_link_is() {
    let open = "
        0.0  c S
        1.0  s S.
        1.01 c .
    ";
    let answer = "100.0 c P 50\n109.0 s P 1000\n149.0 c .";
    let held = "200.0 c P 50\n230.0 s P 300\n270.0 c .\n278.2 s P 900\n278.21 c P 50\n279.3 s .";
    let told = Player::new().play(open).play(answer).play(held).report();
    assert_eq!(found(&told), [(Kind::WriteWriteRead, Tier::Likely)]);
    let untold = Player::new().play(open).play(held).report();
    assert!(found(&untold).iter().all(|(_, tier)| !tier.accuses()));
}

/// Once a sender on a path of 60 ms held a segment for a round trip, and that left 2.5 ms from where its ACK
/// puts it. Behind a delayed ACK as much is no more than possible.
#[test]
fn fewer_accidents_wait_for_a_round_trip_than_for_a_delayed_ack() {
    let open = "
        0.0  c S
        0.05 s S.
        60.0 c .
        100.0 s P 40
        160.0 c .
    ";
    let once = |acked: f64, held: f64| {
        let script = format!("500.0 c P 100\n{acked} s .\n{held} c P 200\n{held} s P 50");
        found(&Player::new().play(open).play(&script).report())
    };
    assert_eq!(once(500.1, 562.6), [(Kind::NagleRoundTrip, Tier::Likely)]);
    assert!(once(540.1, 602.6).iter().all(|(_, tier)| !tier.accuses()));
}

/// After a retransmission timeout a sender may send one segment, and a receiver waits for the second.
#[test]
fn a_window_that_a_timeout_has_cut_waits_for_a_delayed_ack() {
    let with = |trigger: &str| {
        let script = format!(
            "{OPEN}
            10.0  c P 200
            10.1  s P 50
            20.0  c P 200
            220.0 c P 200 again
            220.1 s P 50
            300.0 c {trigger}
            500.1 s .
            500.15 c D 1460
            500.16 c P 1460
            500.3 s P 50"
        );
        found(&Player::new().play(&script).report())
    };
    let slow_start = Kind::SlowStartDelayedAck;
    assert_eq!(with("D 1460"), [(slow_start, Tier::Certain)]);
    assert!(with("P 1460").iter().all(|(_, tier)| !tier.accuses()));
}

/// Three messages of 8 kB and a short one behind each, but the 8 kB are written in two parts, 20 ms apart: no
/// buffer has that size.
#[test]
fn what_a_buffer_holds_leaves_at_once() {
    let stream = |pause: f64| {
        let mut player = Player::new();
        player.play(OPEN).play("1.0 s P 20");
        for _ in 0..70 {
            let flight = format!(
                "10.0 c D 1460\n10.0 c D 1460\n10.0 c P 1176\n{0} c P 1460\n60.1 s .\n60.11 c P 100",
                10.01 + pause
            );
            player.play(&flight).later(100);
            player.play("0.2 s .");
        }
        let report = player.report();
        let small = report.findings.iter();
        small.filter(|f| f.kind == Kind::SmallBuffer).count()
    };
    assert_eq!(stream(20.0), 0);
}

/// A tail that leaves when the kernel's timer expires, behind a full segment.
fn tail(trigger: &str, before: &str, open: &str, flight_ms: f64) -> Vec<(Kind, Tier)> {
    let mut player = Player::new();
    player.play(open).play(before);
    for turn in 0..4 {
        let at = 1_000.0 * f64::from(turn + 1);
        player.play(&format!(
            "{at} s P 80\n{} c {trigger}\n{} s .\n{} c P 100",
            at + 0.1,
            at + 0.2,
            at + 0.1 + flight_ms
        ));
    }
    player.play("6000 s P 80\n6000.1 c .");
    found(&player.report())
}

/// A write that ends with a full segment, whose rest comes 204 ms later, is as likely as a cork.
#[test]
fn a_write_that_ends_with_a_full_segment_may_be_all_that_was_written() {
    let corked = tail("D 1460", "1.0 c P 5\n1.1 s .", OPEN, 204.0);
    assert!(
        corked.contains(&(Kind::CorkHeld, Tier::Certain)),
        "{corked:?}"
    );
    let written = tail("P 1460", "1.0 c P 5\n1.1 s .", OPEN, 204.0);
    assert!(!written.is_empty() && written.iter().all(|(_, tier)| !tier.accuses()));
}

/// Far from its sender, a tail that was lost on the way is first seen when it is sent again.
#[test]
fn where_segments_are_lost_a_late_tail_may_have_been() {
    let far = "
        0.0   c S
        0.05  s S.
        10.05 c .
    ";
    let corked = |before: &str| tail("D 1460", before, far, 214.0);
    assert!(
        corked("20 c P 5\n20.1 s .")
            .iter()
            .any(|(_, tier)| tier.accuses())
    );
    let lossy = corked("20 c P 5\n20.1 s .\n40 c P 7\n300 c P 7 again\n300.1 s .");
    assert!(lossy.iter().all(|(_, tier)| !tier.accuses()), "{lossy:?}");
}

/// The client asks, thinks long, and never speaks unasked; the server writes its answer in two, with a pause of
/// its own before the first. Of two that take turns each waits for the other.
#[test]
fn of_two_that_take_turns_each_waits_for_the_other() {
    let mut player = Player::new();
    player.play(OPEN);
    for _ in 0..4 {
        player
            .play(
                "
                10.0   c P 50
                10.1   s P 60
                50.1   c .
                50.13  s P 70
                50.2   c .
                ",
            )
            .later(900);
    }
    let report = player
        .play("10 c P 50\n10.1 s P 60\n10.2 c F\n10.3 s F")
        .report();
    let wwr = report.findings.iter().filter(|f| f.tier().accuses());
    assert_eq!(wwr.count(), 4);
}

/// Jumbo frames, and a program that writes 8000 bytes at a time: each write leaves right upon the ACK of the one
/// before, so that its send buffer takes one.
#[test]
fn a_buffer_of_one_write_goes_by_its_acks() {
    let upload = |reaction_ms: f64| {
        let mut player = Player::new();
        player.play("0 c S mss 8960\n0.1 s S. mss 8960\n0.15 c .\n1.0 s P 20");
        let mut script = String::new();
        let mut at = 2.0;
        for block in 0..40 {
            let ack_ms = if block % 5 == 0 { 42.0 } else { 0.1 };
            script += &format!("{at} c P 8000\n{} s .\n", at + ack_ms);
            at += ack_ms + reaction_ms;
        }
        script += &format!("{at} s P 10");
        player.play(&script);
        found(&player.report())
    };
    assert_eq!(upload(0.1), [(Kind::SmallBuffer, Tier::Certain); 8]);
    assert_eq!(upload(3.0), []);
}

/// A receiver delays its ACKs for 250 ms, by a clock of its own, and the sender's timer expires after 205.
fn slow_receiver(exchanges: u32, echo: &str) -> Player {
    let mut player = Player::new();
    player.play(OPEN);
    for _ in 0..exchanges {
        player.play("10.0 c P 100\n215.0 c P 100 again");
        player.play(echo);
        player
            .play("215.15 c P 200\n215.3 s P 300\n215.35 c .")
            .later(250);
    }
    player
}

/// What is sent again in vain time after time, the first pieces alone, was not lost. Once or twice it may have been.
#[test]
fn a_receiver_may_delay_its_acks_for_longer_than_the_sender_waits() {
    let wwr = |times| vec![(Kind::WriteWriteRead, Tier::Certain); times];
    let times = |exchanges| {
        let report = slow_receiver(exchanges, "215.1 s .").report();
        let lost = report.connections[0].ruled_out.of(Lookalike::Loss).count;
        (found(&report), lost)
    };
    assert_eq!(times(5), (wwr(5), 0));
    assert_eq!(times(2), (Vec::new(), 2));
    // An answer was lost before: this path loses.
    let mut lossy = Player::new();
    lossy
        .play(OPEN)
        .play("1.0 c P 300\n1.1 s P 300\n221.0 s P 300 again\n221.05 c .");
    lossy.later(250);
    let exchange =
        "10.0 c P 100\n215.0 c P 100 again\n215.1 s .\n215.15 c P 200\n215.3 s P 300\n215.35 c .";
    for _ in 0..5 {
        lossy.play(exchange).later(250);
    }
    assert_eq!(found(&lossy.report()), []);
    // The receiver says that it had the segment before (RFC 2883).
    let told = slow_receiver(1, "215.1 s . dsack 100").report();
    assert_eq!(found(&told), wwr(1));
}

/// A server by Minshall's rule, seen beside its client 80 ms away: what it holds waits for its status line and
/// not for the full segment behind that.
#[test]
fn what_is_held_behind_full_segments_waited_for_the_short_one_before_them() {
    let mut player = Player::new();
    player.ports[1] = 110;
    player.play(
        "0.0   c S
         80.0  s S.
         80.1  c .",
    );
    for _ in 0..6 {
        player.later(1000).play(
            "0.0   c P 9
             80.0  s P 5
             80.1  s D 1460
             80.3  c .
             160.4 s P 500
             200.6 c .",
        );
    }
    let report = player.later(1000).play("0.0 c P 6\n80 s P 5").report();
    let found = report.findings.first().expect("a finding");
    assert_eq!(found.kind, Kind::NagleRoundTrip);
    let said = found.evidence();
    let first = "The server sent 5 bytes (frame 5), less than one segment of 1460, then full segments (the \
                 last: frame 6), and nothing after them.";
    assert_eq!(said[0], first);
    assert!(said[1].contains("as fast as the path allows"), "{said:?}");
}
