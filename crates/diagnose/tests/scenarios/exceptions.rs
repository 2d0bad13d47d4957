//! What looks like a rule of small segments and has another reason: urgent data, pipelined requests, another connection,
//! a timer.

use crate::player::{OPEN, Player, STALL};
use tinygram_diagnose::{Kind, Lookalike, Obstacle, Report, Side, Tier};

fn accused(report: &Report) -> Vec<Kind> {
    let accused = report.findings.iter().filter(|f| f.tier().accuses());
    accused.map(|f| f.kind).collect()
}

/// A Nagle sender lets small segments go while urgent data is unacknowledged. That is no TCP_NODELAY: what it holds
/// later is held.
#[test]
fn urgent_data_tells_nothing_of_the_policy() {
    let behind = |first: &str| {
        let mut player = Player::new();
        player.play(OPEN);
        for _ in 0..3 {
            player.later(100).play(&format!(
                "10.0  c {first}
                 10.05 c P 20
                 10.2  s P 5
                 10.25 c ."
            ));
        }
        accused(&player.later(100).play(STALL).report())
    };
    assert_eq!(behind("U 1"), [Kind::WriteWriteRead]);
    // With ordinary data it is.
    assert_eq!(behind("P 1"), []);
}

/// What follows urgent data leaves at once, so the late ACK of that lets nothing go.
#[test]
fn behind_urgent_data_nothing_is_held() {
    let urgent = STALL.replace("P 100", "U 100");
    let report = Player::new().play(OPEN).play(&urgent).report();
    assert_eq!(accused(&report), []);
    let possible = &report.findings[0];
    assert_eq!(possible.tier(), Tier::Possible);
    assert_eq!(possible.bounded_by().unwrap().check.name, "urgent");
    let report = Player::new().play(OPEN).play(STALL).report();
    assert_eq!(accused(&report), [Kind::WriteWriteRead]);
}

/// Round trips of a sender that turns out to hold nothing are taken back, and those of another connection stay, which were
/// found before, between and after them.
#[test]
fn what_a_connections_end_refutes_is_taken_back() {
    let found = |end: &str| {
        let mut player = Player::new();
        let mut other = player.next;
        let far = "0 c S\n60 s S.\n60.03 c .";
        player.play(far);
        let mut turn_to_the_other = |player: &mut Player| {
            std::mem::swap(&mut player.next, &mut other);
            player.ports[0] = 40_000 + u16::from(player.ports[0] == 40_000);
        };
        turn_to_the_other(&mut player);
        player.play(far);
        for n in 0..12 {
            let more = f64::from(n * 7 % 11) / 20.0;
            let [ack, held, answer, last] = [60.1, 60.13, 120.8, 120.85].map(|ms| ms + more);
            player.later(200).play(&format!(
                "10 c P 100\n{} s .\n{} c P 200\n{} s P 300\n{} c .",
                ack + 10.0,
                held + 10.0,
                answer + 10.0,
                last + 10.0
            ));
            turn_to_the_other(&mut player);
        }
        // Of the first connection.
        turn_to_the_other(&mut player);
        player.later(200).play(end);
        player.play("200 c F\n260 s F\n260.1 c .");
        let report = player.report();
        let of = |id| {
            report
                .findings
                .iter()
                .filter(|f| f.connection == id)
                .count()
        };
        let row = report.connections.iter().find(|row| row.id == 0).unwrap();
        assert_eq!(of(0), row.stalls as usize);
        [of(0), of(1)]
    };
    let plain = found("10 c P 100\n70 s .");
    assert!(plain[0] > 2 && plain[1] > 2, "{plain:?}");
    let defies = "10 c P 100\n10.1 c P 100\n10.2 c P 100\n10.3 c P 100\n70 s .\n70.1 s P 9";
    assert_eq!(found(defies), [0, plain[1]]);
}

/// A kernel sends what it holds together with the FIN as soon as the program closes, so the late ACK of what was before lets
/// nothing go. If the FIN comes behind, the data was held.
#[test]
fn what_leaves_with_a_fin_was_not_held() {
    let found = |end: &str| Player::new().play(OPEN).play(end).report();
    let together = found("10.0 c P 100\n51.0 s .\n51.05 c F 200\n51.1 s P 5\n51.2 s F");
    assert_eq!(accused(&together), []);
    let bound = together.findings[0].bounded_by().unwrap();
    assert_eq!(bound.check.name, "fin");
    let behind = found("10.0 c P 100\n51.0 s .\n51.05 c P 200\n51.06 c F\n51.1 s P 5\n51.2 s F");
    assert_eq!(accused(&behind), [Kind::WriteWriteRead]);
}

/// Each answer belongs to a request that came in a segment of its own; a server that answers one request in as many
/// pieces floods.
#[test]
fn answers_to_pipelined_requests_cannot_be_gathered() {
    let floods = |requests: usize, answers: usize| {
        let mut player = Player::new();
        player.play(OPEN);
        let mut now_ms = 10.0;
        for n in 0..requests {
            now_ms += 0.01 + (n % 2) as f64 * 0.0003;
            player.play(&format!("{now_ms} c P 20"));
        }
        for n in 0..answers {
            now_ms += 0.5 + (n % 2) as f64 * 0.0003;
            player.play(&format!("{now_ms} s P 30"));
        }
        let report = player.report();
        let floods = report.findings.iter().filter(|f| f.blame == Side::Server);
        floods.count()
    };
    assert_eq!(floods(70, 70), 0);
    assert_eq!(floods(1, 70), 1);
    // More pieces than requests.
    assert_eq!(floods(10, 80), 1);
}

/// A sender with RACK-TLP sends what Nagle's rule holds once nothing is acknowledged for a probe timeout, so behind a full segment
/// and a short one a third may leave long before the late ACK. What leaves sooner, or a second one, shows that it holds none.
#[test]
fn a_tail_loss_probe_does_not_clear_a_sender_that_holds() {
    let stalls = |third: &str| {
        let mut player = Player::new();
        player.play(OPEN);
        for _ in 0..2 {
            player.later(300).play(&format!(
                "10.0 c D 1460\n10.01 c P 300\n{third}\n210.0 s .\n210.2 s P 50\n210.4 c ."
            ));
        }
        player.later(300).play(STALL);
        accused(&player.report()).len()
    };
    assert_eq!(stalls("60.0 c P 100"), 1);
    assert_eq!(stalls("12.2 c P 100"), 0);
    assert_eq!(stalls("60.0 c P 100\n110.0 c P 100"), 0);
}

/// A proxy nearby has answered the handshake, and every ACK takes a plain round trip of 21 ms to the server behind it: no
/// receiver delays any. With one ACK that came at once, the others were delayed; and so they were if the server
/// answered the handshake itself, for its SYN has passed as many routers as its ACKs.
#[test]
fn plain_round_trips_behind_a_nearer_handshake_are_no_delayed_acks() {
    let stalls = |syn_ttl: u8, first_ack_ms: f64, ack_ms: f64| {
        let mut player = Player::new();
        player.play(&format!("0.0 c S\n0.5 s S. ttl {syn_ttl}\n0.55 c ."));
        let sooner = first_ack_ms + 0.03;
        let first = format!("0.0 c P 100\n{first_ack_ms} s . ttl 52\n{sooner} s P 50 ttl 52");
        player.later(100).play(&first);
        for n in 0..5 {
            let ack_ms = ack_ms + f64::from(n) * 0.011;
            player.later(200).play(&format!(
                "0.0 c P 100
                 {ack_ms} s . ttl 52
                 {} c P 200
                 {} s P 50 ttl 52
                 {} c .",
                ack_ms + 0.03,
                2.0 * ack_ms,
                2.0 * ack_ms + 0.1
            ));
        }
        accused(&player.report()).len()
    };
    assert_eq!(stalls(63, 21.0, 21.5), 0);
    assert_eq!(stalls(63, 0.5, 21.5), 5);
    assert_eq!(stalls(52, 21.0, 21.5), 5);
    // As late as Linux's timer.
    assert_eq!(stalls(63, 41.0, 41.5), 5);
}

/// Plays a control connection of FTP; in between, the data connection begins and ends at these times.
fn ftp(data_ms: Option<(f64, f64)>, control: [u16; 2]) -> Report {
    let mut player = Player::new();
    player.ports = control;
    player
        .play(OPEN)
        .play("10.0 s P 40\n10.1 c P 20\n10.3 s P 30");
    let numbers = player.next;
    if let Some((first_ms, last_ms)) = data_ms {
        player.ports = [40_001, 20];
        player.next = [5_000, 9_000];
        player.play(&format!(
            "{first_ms} s S\n{} c S.\n{} s P 700\n{last_ms} s F\n{last_ms} c F",
            first_ms + 0.1,
            first_ms + 0.2
        ));
    }
    player.ports = control;
    player.next = numbers;
    // "226" right behind the late ACK of "150".
    player.play("51.3 c .\n51.35 s P 24\n51.6 c P 6\n51.8 s P 14\n51.9 c .");
    player.report()
}

#[test]
fn an_ftp_server_answers_when_its_data_connection_is_done() {
    let port = [40_000, 21];
    let busy = ftp(Some((10.4, 51.2)), port);
    assert_eq!(accused(&busy), []);
    assert!(busy.findings.is_empty());
    assert_eq!((busy.summary.stalls, busy.summary.possible), (0, 0));
    let thought = busy.connections[0].ruled_out.of(Lookalike::ThinkTime);
    assert_eq!(thought.count, 1);
    // Without a data connection, or with one that was over before, or with another protocol, it was held.
    assert_eq!(accused(&ftp(None, port)), [Kind::WriteWriteRead]);
    assert_eq!(
        accused(&ftp(Some((5.0, 6.0)), port)),
        [Kind::WriteWriteRead]
    );
    let other = ftp(Some((10.4, 51.2)), [40_000, 7001]);
    assert_eq!(accused(&other), [Kind::WriteWriteRead]);
}

/// A message that is corked from its first byte leaves when a timer of its sender ends. So does that of a program which
/// pauses as long.
#[test]
fn where_messages_leave_like_corked_ones_nothing_can_be_told() {
    let obstacles = |pause_ms: f64, times: usize| {
        let mut player = Player::new();
        player.play(OPEN);
        for n in 0..6 {
            let pause_ms = if n < times { pause_ms } else { 1.0 };
            player.play(&format!(
                "{} c P 100
                 {} s P 300",
                0.2 + pause_ms,
                0.9 + pause_ms
            ));
            player.later(pause_ms as i64 + 1);
        }
        player.report().summary.obstacles().to_vec()
    };
    assert_eq!(obstacles(204.0, 6), [Obstacle::Timed]);
    assert_eq!(obstacles(204.0, 4), [Obstacle::Timed]);
    // The first message answers nothing; two are no habit.
    assert_eq!(obstacles(204.0, 3), []);
    // A program that sleeps for 200 ms.
    assert_eq!(obstacles(200.3, 6), []);
    assert_eq!(obstacles(190.0, 6), []);
    assert_eq!(obstacles(230.0, 6), []);
}

/// Ten full segments are a whole initial window (RFC 6928), and the short one behind them leaves a round trip later by
/// any rule. An ACK of a part of them would have let it go a little sooner; that tells only if the segment was placed more
/// sharply than the ACKs are apart.
#[test]
fn what_an_initial_window_holds_is_no_nagle_round_trip() {
    let held = |blur_ms: f64| {
        let mut player = Player::new();
        player.play("0.0 c S\n44.0 s S.\n44.05 c .\n45.0 c P 200\n95.0 s .");
        for n in 0..10 {
            player.play(&format!("{} s D 1460", 100.0 + f64::from(n) * 0.11));
            if n % 2 == 1 {
                player.play(&format!("{} c .", 100.05 + f64::from(n) * 0.11));
            }
        }
        // The last ACK, a round trip, and what queues add.
        let left_ms = 101.04 + 43.95 + blur_ms;
        player.play(&format!("{left_ms} s P 600\n{} c P 200", left_ms + 0.1));
        accused(&player.later(100).play("200.0 s P 300").report())
    };
    assert_eq!(held(1.8), []);
    // The ACK before the last came 0.22 ms sooner, and the segment left upon the last.
    assert_eq!(held(0.1), [Kind::NagleRoundTrip]);
}

/// The numbers of a server's packets show that two were lost before they came to the capture point. What comes a
/// retransmission timeout later is the first of them again, and its window is one segment: the short rest waits by any
/// rule.
#[test]
fn behind_what_was_lost_on_its_way_the_window_is_one_segment() {
    let held = |number: u16, again: &str| {
        let mut player = Player::new();
        player.play("0.0 c S\n2.0 s S. id 1\n2.05 c .");
        player.play(&format!(
            "10.0  c P 355
             12.1  s . id 2
             13.0  s D 1460 id 3
             13.1  s D 1460 id 4
             13.15 c .
             220.5 s {again} id {number}
             420.3 c .
             422.3 s P 148 id {}
             422.5 c P 355
             425.0 s P 100 id {}",
            number + 1,
            number + 2
        ));
        accused(&player.report())
    };
    assert_eq!(held(7, "D 1460"), [Kind::SlowStartDelayedAck]);
    assert_eq!(held(7, "P 1438"), [Kind::SlowStartDelayedAck]);
    // Nothing is missing.
    assert_eq!(held(5, "D 1460"), [Kind::OddFullShortFinal]);
    assert!(held(5, "P 1438").contains(&Kind::WriteWriteRead));
}

/// A broker on a path of 40 ms writes a message and an acknowledgment; Nagle's algorithm holds the second. Where its subscriber
/// acknowledges with data, what leaves then looks like the answer to that data, and nothing is said of it. A pure ACK tells.
#[test]
fn what_leaves_behind_an_ack_with_data_may_be_the_answer_to_it() {
    let held = |release: &str| {
        let mut player = Player::new();
        player.play("0.0 c S\n0.05 s S.\n40.0 c .");
        for _ in 0..10 {
            player.later(100).play(&format!(
                "0.0   c P 57
                 0.1   s P 57
                 40.1  c {release}
                 40.15 s P 4"
            ));
        }
        let report = player.later(100).play("0.0 c P 57").report();
        (report.findings.len(), accused(&report))
    };
    assert_eq!(held("P 4"), (0, vec![]));
    assert_eq!(held("."), (10, vec![Kind::NagleRoundTrip; 10]));
}

/// A router that translates addresses passes the same segments on, and both of its sides were recorded: one wait, which counts
/// once. Another connection with the same lengths at the same time has other numbers, or was routed as often.
#[test]
fn what_was_recorded_on_both_sides_of_a_translator_counts_once() {
    let both = |other_numbers: u32, ttl: u8| {
        let mut player = Player::new();
        let mut behind = player.next.map(|next| next.wrapping_add(other_numbers));
        let lines = [OPEN, STALL].into_iter().flat_map(str::lines);
        for line in lines.filter(|line| !line.trim().is_empty()) {
            player.play(line);
            for port in [50_000, 40_000] {
                std::mem::swap(&mut player.next, &mut behind);
                player.ports[0] = port;
                if port == 50_000 {
                    player.play(&format!("{line} ttl {ttl}"));
                }
            }
        }
        player.report()
    };
    let once = both(0, 63);
    assert_eq!(accused(&once), [Kind::WriteWriteRead]);
    assert_eq!((once.summary.stalls, once.summary.cost_ns), (1, 41_050_000));
    let stalls = |report: &Report| report.connections.iter().map(|row| row.stalls).collect();
    let rows: Vec<u32> = stalls(&once);
    assert_eq!(rows, [1, 0]);
    for two in [both(1, 63), both(0, 64)] {
        assert_eq!(accused(&two), [Kind::WriteWriteRead; 2]);
        assert_eq!(two.summary.stalls, 2);
    }
}

/// A server with a small MSS has sent its initial window of ten segments, the first of which is acknowledged alone, and 2 ms
/// later the others. The rest leaves a round trip after that. Its echo names the ACK that it left upon: that of the first segment
/// opens the window, and Nagle's rule waits for that of all.
#[test]
fn the_echo_names_the_acknowledgment_that_let_go() {
    let rest = |echo: u32| {
        let first = "
            0     c S mss 1460 ts 1000 0
            160   s S. mss 536 ts 5000 1000
            160.1 c . ts 1160 5000
            160.2 c P 500 ts 1160 5000
            326   s D 524 ts 5166 1160
            326.2 c . ts 1326 5166
        ";
        let others = "328 s D 524 ts 5166 1160\n".repeat(9);
        let end = format!(
            "328.2 c . ts 1329 5166
             488.5 s P 173 ts 5329 {echo}
             488.6 c . ts 1489 5329
             489   c P 126 ts 1489 5329"
        );
        let report = Player::new().play(first).play(&others).play(&end).report();
        report.findings.iter().map(|it| it.kind).collect::<Vec<_>>()
    };
    assert_eq!(rest(1329), [Kind::NagleRoundTrip]);
    assert_eq!(rest(1326), []);
}

/// A broker passes readings on by its publisher's clock, and its subscriber speaks now and then by its own. That it does so
/// within half a second of one of them is no answer. A peer that speaks after each of them answers.
#[test]
fn who_speaks_now_and_then_does_not_answer() {
    let accused_of = |speaks: fn(u32) -> bool| {
        let mut player = Player::new();
        player.play(OPEN);
        for n in 0..12 {
            let reading = "10 s P 20\n60 c .\n60.05 s P 30\n100.1 c .";
            player.later(2_000).play(reading);
            if speaks(n) {
                player.play("360 c P 20\n360.1 s P 4\n360.2 c .");
            }
        }
        accused(&player.report()).len()
    };
    assert!(accused_of(|_| true) >= 8);
    assert_eq!(accused_of(|n| n % 4 == 3), 0);
}
