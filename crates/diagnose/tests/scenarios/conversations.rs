//! Conversations written out, and what is found in them.

use crate::player::{OPEN, Player, STALL};
use tinygram_diagnose::{Analyzer, Kind, Lookalike, Parameters, Report};

fn stalls(report: &Report) -> Vec<(Kind, i64)> {
    let ms = |ns: i64| (ns + 500_000) / 1_000_000;
    report
        .findings
        .iter()
        .filter(|f| f.tier().accuses())
        .map(|f| (f.kind, ms(f.cost_ns)))
        .collect()
}

fn innocent(report: &Report) -> Vec<Lookalike> {
    let of = |c: &tinygram_diagnose::ConnectionReport| {
        c.ruled_out.iter().map(|(l, _)| l).collect::<Vec<_>>()
    };
    report.connections.iter().flat_map(of).collect()
}

const WWR_41: (Kind, i64) = (Kind::WriteWriteRead, 41);

#[test]
fn a_stall_is_found_also_where_sequence_numbers_wrap() {
    let report = Player::new().play(OPEN).play(STALL).report();
    assert_eq!(stalls(&report), [WWR_41]);
    let finding = &report.findings[0];
    let frames: Vec<_> = finding.frames.iter().map(|m| m.frame).collect();
    assert_eq!(frames, [4, 5, 6]);
}

#[test]
fn the_first_acks_of_a_connection_do_not_excuse_each_other() {
    // Only the handshake shows how near the hosts are.
    let report = Player::new()
        .play(OPEN)
        .play(
            "
            10.0  c P 1460
            51.0  s .
            51.05 c P 200
            92.0  s .
            92.1  s P 300
            ",
        )
        .report();
    assert_eq!(stalls(&report), [(Kind::OddFullShortFinal, 41)]);
}

#[test]
fn a_capture_may_begin_anywhere() {
    let report = Player::new().play(STALL).report();
    assert_eq!(stalls(&report), [WWR_41]);
    // The trigger came before the capture, so nothing can be concluded.
    let tail = "51.0 s .\n51.05 c P 200\n51.20 s P 300";
    assert_eq!(stalls(&Player::new().play(tail).report()), []);
}

#[test]
fn ports_are_used_again() {
    let mut player = Player::new();
    for _ in 0..3 {
        player.next = [
            player.next[0].wrapping_mul(31),
            player.next[1].wrapping_mul(37),
        ];
        player.play(OPEN).play(STALL).play("52 c R").later(1_000);
    }
    let report = player.report();
    assert_eq!(report.summary.connections, 3);
    assert_eq!(stalls(&report), [WWR_41; 3]);
}

#[test]
fn stragglers_of_an_ended_connection_are_no_new_one() {
    let close = "60 c F\n60.1 s F\n60.2 c .\n60.3 c .";
    let report = Player::new().play(OPEN).play(STALL).play(close).report();
    assert_eq!(report.summary.connections, 1);
}

#[test]
fn the_clock_may_step_back_a_little() {
    let jitter = "
        10.0  c P 100
        51.00 s .
        50.98 c P 200
        51.20 s P 300
    ";
    assert_eq!(
        stalls(&Player::new().play(OPEN).play(jitter).report()),
        [WWR_41]
    );
}

#[test]
fn waits_across_a_large_step_are_not_believed() {
    let mut player = Player::new();
    player.play(OPEN).play("10.0 c P 100").later(-3_600_000);
    let report = player
        .play("51.0 s .\n51.05 c P 200\n51.20 s P 300")
        .play(STALL)
        .report();
    assert!(
        report
            .findings
            .iter()
            .all(|f| (0..1_000_000_000).contains(&f.cost_ns))
    );
}

#[test]
fn frames_captured_twice_count_once() {
    let report = Player::new()
        .play_doubled(OPEN)
        .play_doubled(STALL)
        .report();
    assert_eq!(stalls(&report), [WWR_41]);
    assert_eq!(report.connections[0].directions[0].retransmitted, 0);
}

#[test]
fn a_retransmission_excuses_the_sender() {
    let lost = "
        10.0  c P 100
        40.0  c P 100 again
        51.0  s .
        51.05 c P 200
        51.20 s P 300
    ";
    let report = Player::new().play(OPEN).play(lost).report();
    assert_eq!(stalls(&report), []);
    assert_eq!(innocent(&report), [Lookalike::Loss]);
}

#[test]
fn keepalives_change_nothing() {
    let quiet = "
        1000  c keepalive
        1000.1 s .
        2000  c keepalive
        2000.1 s .
    ";
    let mut player = Player::new();
    let report = player
        .play(OPEN)
        .play(STALL)
        .play(quiet)
        .later(3_000)
        .play(STALL)
        .report();
    assert_eq!(stalls(&report), [WWR_41; 2]);
}

#[test]
fn a_closed_window_is_the_receivers_applications_doing() {
    let full = "
        10.0  c P 100
        51.0  s . win 0
        151.0 s . win 60000
        151.1 c P 200
        151.2 s P 300
    ";
    let report = Player::new().play(OPEN).play(full).report();
    assert_eq!(stalls(&report), []);
    assert_eq!(innocent(&report), [Lookalike::ZeroWindow]);
}

#[test]
fn an_ack_with_data_is_an_answer_and_holds_nothing() {
    let answer = "
        10.0  c P 100
        51.0  s P 50
        51.05 c P 200
        51.20 s P 300
    ";
    assert_eq!(stalls(&Player::new().play(OPEN).play(answer).report()), []);
}

#[test]
fn super_segments_of_offload_end_in_a_short_one() {
    let offload = "
        10.0  c P 1560
        51.0  s .
        51.05 c P 200
        51.20 s P 300
    ";
    let report = Player::new().play(OPEN).play(offload).report();
    assert_eq!(stalls(&report), [WWR_41]);
    assert!(report.connections[0].directions[0].offload);
}

#[test]
fn whole_segments_before_the_tail_are_odd_full_short_final() {
    let tail = "
        10.0  c P 1460
        51.0  s .
        51.05 c P 200
        51.20 s P 300
    ";
    let report = Player::new().play(OPEN).play(tail).report();
    assert_eq!(stalls(&report), [(Kind::OddFullShortFinal, 41)]);
}

#[test]
fn a_typist_is_not_accused() {
    // Keys at odd times behind delayed ACKs, each echoed late enough for the ACK to go first.
    let mut player = Player::new();
    player.play(OPEN);
    let mut dice = 12_345_u32;
    for _ in 0..400 {
        dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let wait_us = 100 + (dice >> 8) % 150_000;
        let key = 40.0 + f64::from(wait_us) / 1e3;
        let script = format!(
            "0 c P 1\n40.0 s .\n{key} c P 1\n{} s P 2\n{} c .",
            key + 2.0,
            key + 2.1
        );
        player.play(&script).later(400);
    }
    assert_eq!(stalls(&player.report()), []);
}

#[test]
fn a_sender_that_does_not_hold_is_not_accused_of_holding() {
    let mut player = Player::new();
    player.play(OPEN);
    for _ in 0..20 {
        player
            .play("0 c P 50\n0.02 c P 60\n0.1 s .\n0.2 s P 10\n0.3 c .")
            .later(10);
    }
    // By accident right after a delayed ACK.
    player.play("0 c P 50\n40 s .\n40.05 c P 60\n40.2 s P 10");
    assert_eq!(stalls(&player.report()), []);
}

#[test]
fn acks_that_no_receiver_delays_and_yet_are_late_tell_of_the_path() {
    // The handshake is quick, as behind a middlebox; the ACK of two full segments takes as long as
    // that of one short segment.
    let late = "
        10.0   c P 1460
        10.01  c P 1460
        70.0   s .
        80.0   c P 100
        140.0  s .
        140.05 c P 200
        205.0  s P 300
    ";
    let report = Player::new().play(OPEN).play(late).report();
    assert_eq!(stalls(&report), []);
    assert!(innocent(&report).contains(&Lookalike::LateAck));
}

#[test]
fn a_sender_on_its_own_clock_keeps_nobody_waiting() {
    // A sample every 20 ms under Nagle: every second one leaves on the ACK of the first.
    let mut player = Player::new();
    player.play(OPEN).play("1 s P 20\n1.1 c P 48");
    for _ in 0..100 {
        player.play("41.1 s .\n41.15 c P 96").later(40);
    }
    let report = player.play("90 c F\n90.1 s F").report();
    assert_eq!(stalls(&report), []);
    assert_eq!(innocent(&report), [Lookalike::PeriodicSender]);
}

#[test]
fn memory_is_bounded_by_the_limits() {
    let mut player = Player::new();
    player.analyzer = Analyzer::new(Parameters {
        connection_limit: 10,
        finding_limit: 20,
        listed_limit: 30,
        ..Parameters::default()
    });
    for port in 1_000..2_000 {
        player.ports[0] = port;
        player.play(OPEN).play(STALL).later(100);
    }
    let report = player.report();
    assert_eq!(report.summary.connections, 1_000);
    assert_eq!(report.summary.stalls, 1_000);
    assert_eq!(report.findings.len(), 20);
    assert_eq!(report.summary.dropped_findings, 980);
    assert!(report.connections.len() <= 60);
    let listed = report.connections.len() as u64;
    assert_eq!(report.summary.unlisted_connections, 1_000 - listed);
}
