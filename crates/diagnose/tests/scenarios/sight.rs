//! What is said of a capture as a whole: whether it could have shown a stall, and what took the
//! time.

use tinygram_diagnose::{Dominant, Obstacle, Report, Sight, Verdict};

use crate::player::{OPEN, Player, STALL};

fn report(script: &str) -> Report {
    Player::new().play(script).report()
}

fn sight(script: &str) -> Sight {
    report(script).summary.sight
}

fn obstacles(report: &Report) -> Vec<Obstacle> {
    report.summary.obstacles().to_vec()
}

/// Data of the client's, a millisecond apart, from `at_ms` on.
fn data(at_ms: u32, segments: u32) -> String {
    let line = |n| format!("{}.1 c P 1000\n", at_ms + n);
    (0..segments).map(line).collect()
}

const MS: i64 = 1_000_000;

#[test]
fn an_end_that_was_never_heard_makes_its_connection_one_sided() {
    assert_eq!(sight(&data(0, 3)).one_direction, 3);
    let both = sight(&(data(0, 3) + "4 s ."));
    assert_eq!((both.data, both.one_direction), (3, 0));
    let of_two = |heard, unheard| {
        let mut player = Player::new();
        player.play(&data(0, unheard));
        player.ports[0] += 1;
        player.play(&(data(0, heard) + "50 s ."));
        player.report()
    };
    // "Most of it": more than half.
    assert_eq!(obstacles(&of_two(4, 4)), []);
    let most = of_two(4, 5);
    assert_eq!(obstacles(&most), [Obstacle::OneDirection]);
    assert_eq!(
        most.summary.verdict(),
        Verdict::CannotTell([Obstacle::OneDirection].into_iter().collect())
    );
    assert_eq!(
        (most.summary.sight.data, most.summary.sight.one_direction),
        (9, 5)
    );
}

/// A message without its answer, in a connection that goes on.
#[test]
fn a_segment_that_stands_alone_shows_nothing() {
    let of = |rest: &str| obstacles(&report(&format!("{OPEN}1 c P 10\n1.1 s .\n{rest}")));
    assert_eq!(of(""), [Obstacle::TooShort]);
    assert_eq!(of("2 s P 10"), []);
    assert_eq!(of("2 c P 10"), []);
    assert_eq!(of("2 c F"), []);
}

#[test]
fn three_gaps_and_a_tenth_of_the_data_are_many() {
    let gaps = |by_client: u32, by_server: u32, data_segments: u32| {
        let mut script = OPEN.to_owned() + "1 c P 10\n1.1 s P 10\n";
        for gap in 0..by_client {
            script += &format!("{gap}.2 c lost 10\n{}.2 c P 10\n", gap + 2);
        }
        for gap in 0..by_server {
            script += &format!("{gap}.2 s lost 10\n{}.2 s P 10\n", gap + 22);
        }
        script += &data(60, data_segments - 2 - by_client - by_server);
        let sight = sight(&script);
        assert_eq!(sight.data, u64::from(data_segments));
        sight.gappy
    };
    assert_eq!(gaps(3, 0, 29), 29);
    assert_eq!(gaps(3, 0, 30), 0);
    assert_eq!(gaps(2, 0, 6), 0);
    // Both directions count together.
    assert_eq!(gaps(2, 1, 29), 29);
    assert_eq!(gaps(1, 2, 30), 0);
}

/// Queues of one host lag behind each other by up to 10 ms.
#[test]
fn a_clock_steps_back_by_more_than_queues_lag() {
    let back = |to: &str| sight(&format!("{OPEN}20 c P 10\n{to} s P 20\n30 c P 10")).clock_steps;
    assert_eq!(back("10"), 0);
    assert_eq!(back("9.999"), 3);
}

/// A capture that was joined to itself, and begins behind the SYN. A server speaks first, so its answer to the
/// SYN comes again behind its data.
#[test]
fn the_same_conversation_at_an_earlier_time_is_another_one() {
    let script = "0 s S.\n60 c .\n100 s P 22\n190 c .\n190.1 s P 30\n250 c P 13\n251 s P 34";
    let mut player = Player::new();
    let begun = player.next;
    player.play(script);
    player.next = begun;
    let report = player.later(-44_600).play(script).report();
    assert_eq!(report.summary.connections, 2);
    let [first, second] = &report.connections[..] else {
        panic!("two connections are listed")
    };
    assert_eq!((first.frames, second.frames), (7, 7));
    assert_eq!(first.directions[0].retransmitted, 0);
    assert_eq!(first.directions[0].bytes, second.directions[0].bytes);
    let marks = report.findings.iter().flat_map(|finding| &finding.frames);
    assert!(marks.clone().all(|mark| mark.frame > 0), "{marks:?}");
}

#[test]
fn ten_stamps_on_whole_hundredths_tell_of_a_coarse_clock() {
    let stamped = |segments: u32, last: &str| {
        let line = |n| format!("{} c P 10\n", n * 10);
        let script: String = (0..segments - 2).map(line).collect();
        report(&(script + &format!("490 s .\n{last} c P 10")))
    };
    assert_eq!(obstacles(&stamped(10, "500")), [Obstacle::CoarseClock]);
    assert_eq!(obstacles(&stamped(9, "500")), []);
    assert_eq!(obstacles(&stamped(10, "505")), []);
    assert!(stamped(10, "505").summary.sight.fine_clock);
}

/// The stamps of so many frames, each so long after the one before, behind a handshake at the same pace.
fn paced(gaps_ms: &[f64]) -> String {
    let (mut at, mut script) = (0.0, String::from("0 c S\n"));
    for (n, gap) in gaps_ms.iter().enumerate() {
        at += gap;
        let line = match n {
            0 => "s S.",
            1 => "c .",
            // A message in two writes, its late ACK, and the answer to it.
            n => ["c P 14", "s .", "c P 8", "s P 100"][n % 4],
        };
        script += &format!("{at:.6} {line}\n");
    }
    script
}

#[test]
fn time_that_does_not_pass_or_passes_evenly_is_of_no_clock() {
    let of = |gaps: &[f64]| obstacles(&report(&paced(gaps)));
    for step in [0.0, 0.001, 1.0, 13.0, 50.0, 1000.0] {
        assert_eq!(of(&[step; 10]), [Obstacle::NoClock], "{step}");
        assert!(!of(&[step; 9]).contains(&Obstacle::NoClock), "{step}");
    }
    // Nearly all gaps, and two thirds of long ones.
    let all_but = |others: usize, step: f64| {
        let mut gaps = vec![step; 40];
        for n in 0..others {
            gaps[39 - 2 * n] += 0.5 + n as f64;
        }
        of(&gaps)
    };
    assert_eq!(all_but(2, 0.001), [Obstacle::NoClock]);
    assert_eq!(all_but(3, 0.001), []);
    assert_eq!(all_but(6, 5.0), [Obstacle::NoClock]);
    assert_eq!(all_but(8, 5.0), []);
    // A clock of milliseconds stands still in a burst, and goes on.
    assert_eq!(all_but(1, 0.0), []);
    // And for as long as a capture of a few frames takes.
    let within_a_ms = |frames: usize| {
        let mut player = Player::new();
        obstacles(
            &player
                .later(7)
                .play(&paced(&vec![0.0; frames - 1]))
                .report(),
        )
    };
    assert_eq!(within_a_ms(50), []);
    assert_eq!(within_a_ms(51), [Obstacle::NoClock]);
    // Bursts of a microsecond in a capture that has others.
    let burst = [0.001, 0.001, 0.001, 0.001, 0.012].repeat(9);
    assert_eq!(of(&burst), []);
}

/// What would be a stall accuses nobody where no clock has told it.
#[test]
fn nobody_is_accused_without_a_clock() {
    let mut player = Player::new();
    player.play(&paced(&[0.1; 120])).later(20);
    player.ports[0] += 1;
    player.play(OPEN).play(STALL);
    let even = player.report();
    let summary = &even.summary;
    assert_eq!(summary.verdict().name(), "cannot-tell");
    assert_eq!(
        (summary.stalls, summary.possible, summary.floods),
        (0, 0, 0)
    );
    assert_eq!((summary.cost_ns, summary.possible_ns), (0, 0));
    assert!(even.findings.is_empty());
    let connection = &even.connections[1];
    assert_eq!((connection.stalls, connection.cost_ns), (0, 0));
    assert_eq!(connection.ruled_out.iter().count(), 0);
    assert_eq!(connection.rtt_ns, None);
    assert_eq!(summary.sight.dominant(), None);
}

/// A stream's findings are kept back until there is a clock.
#[test]
fn findings_are_drained_when_a_clock_has_told_them() {
    let mut player = Player::new();
    player.play(&paced(&[0.1; 120])).later(20);
    player.ports[0] += 1;
    player.play(OPEN).play(STALL);
    let stalls = player.analyzer.summary().stalls;
    assert!(stalls > 0);
    assert!(!player.analyzer.summary().has_clock());
    assert!(player.analyzer.drain().is_empty());
    for n in 0..20 {
        player.play(&format!("{} s P 9", 60 + n * n));
    }
    assert!(player.analyzer.summary().has_clock());
    assert_eq!(player.analyzer.drain().len() as u64, stalls);
}

/// At least a third of the time, and at least as long as the shortest delayed ACK.
#[test]
fn what_took_a_third_of_the_time_is_named() {
    let lost = |again: f64, last: f64| {
        let script = format!("0 c P 100\n{again} c P 100 again\n{last} s .");
        sight(&script).dominant()
    };
    assert_eq!(lost(200.0, 600.0), Some((Dominant::Loss, 200 * MS)));
    assert_eq!(lost(200.0, 600.001), None);
    assert_eq!(lost(10.0, 30.0), Some((Dominant::Loss, 10 * MS)));
    assert_eq!(lost(9.999, 20.0), None);
    assert_eq!(lost(350.0, 1000.0), Some((Dominant::Loss, 350 * MS)));
    let closed = "0 s P 10\n100 c . win 0\n600 c . win 60000\n900 s P 20";
    let closed = sight(closed);
    assert_eq!(closed.zero_window_ns, 500 * MS);
    assert_eq!(closed.lifetime_ns, 900 * MS);
    assert_eq!(closed.dominant(), Some((Dominant::ZeroWindow, 500 * MS)));
}

/// A segment that is sent again and again was lost for as long as the last time took, and no connection spends
/// more time than it lasts.
#[test]
fn the_time_until_lost_data_came_counts_once() {
    let script = "0 c P 100\n300 c P 100 again\n900 c P 100 again\n2100 c P 100 again\n2150 s .";
    let sight = sight(script);
    assert_eq!((sight.loss_ns, sight.lifetime_ns), (2_100 * MS, 2_150 * MS));
}

/// A clock that went back behind the first segment leaves no time, and no negative one; one that jumped ahead
/// within the handshake has measured no way.
#[test]
fn a_clock_that_jumps_leaves_no_negative_time_and_no_round_trip() {
    let mut player = Player::new();
    player.play("0 c P 10\n1 s P 10\n2 c P 10");
    let back = player.later(-6_800).play("0 s P 10\n1 c P 10").report();
    assert_eq!(back.connections[0].duration_ns(), 0);
    assert_eq!(back.summary.sight.lifetime_ns, 0);
    let ahead = report("0 c S\n5000 s S.\n5000.1 c .\n5001 c P 10\n10000 s .");
    assert_eq!(ahead.connections[0].rtt_ns, None);
    let slow = report("0 c S\n4000 s S.\n4000.1 c .\n4001 c P 10\n8001 s .");
    assert_eq!(slow.connections[0].rtt_ns, Some(4_000 * MS + MS / 10));
}

/// The server's time excludes the round trip; the client's pauses are not the server's.
#[test]
fn the_servers_time_is_from_request_to_answer_less_the_round_trip() {
    let asked = format!(
        "{OPEN}10 c P 100\n10.1 s .\n310.15 s P 100\n310.2 c .\n\
         700 c P 100\n700.1 s .\n900.15 s P 100\n900.2 c ."
    );
    let sight = sight(&asked);
    // 0.1 ms to the server and back, 0.05 ms to the client.
    assert_eq!(sight.server_ns, (300 + 200) * MS);
    assert_eq!(sight.dominant(), Some((Dominant::SlowServer, 500 * MS)));
}

/// Without a handshake an ACK that came with an answer does not tell the path: it waited for the server, and the client's
/// for the client.
#[test]
fn without_a_handshake_no_part_of_an_answer_is_the_paths() {
    let asked = "10 c P 100\n310 s P 100\n810 c P 100\n1010 s P 100\n1510 c P 100\n1810 s P 100";
    let begun = report(asked);
    assert_eq!(begun.summary.sight.server_ns, (300 + 200 + 300) * MS);
    let took = Some((Dominant::ServerOrPath, 800 * MS));
    assert_eq!(begun.summary.sight.dominant(), took);
    let row = &begun.connections[0];
    assert_eq!((row.rtt_ns, row.rtt_measured), (Some(700 * MS), false));
    let whole = report(&format!("{OPEN}{asked}"));
    let (row, sight) = (&whole.connections[0], &whole.summary.sight);
    assert_eq!(
        (row.rtt_ns, row.rtt_measured),
        (Some(150 * MS / 1000), true)
    );
    assert!(
        sight
            .dominant()
            .is_some_and(|(by, _)| by == Dominant::SlowServer)
    );
}

/// Two connections: their counts and times add up.
#[test]
fn the_sights_of_connections_add_up() {
    let mut player = Player::new();
    player.play("0 c P 10\n100 s .\n400 c P 10\n650 c P 10 again");
    player.ports[0] += 1;
    player.play("0 c P 10\n300 s . win 0\n350 s . win 9\n500 c P 10");
    let sight = player.report().summary.sight;
    assert_eq!(sight.data, 4);
    assert_eq!(sight.lifetime_ns, (650 + 500) * MS);
    assert_eq!((sight.loss_ns, sight.zero_window_ns), (250 * MS, 50 * MS));
}

/// Held, but nobody was seen to wait: 96 bytes every 40 ms, each released by the ACK of those
/// before.
#[test]
fn what_was_held_with_nobody_waiting_is_counted_apart() {
    let mut player = Player::new();
    player.play(OPEN).play("1 s P 20\n1.1 c P 48");
    for _ in 0..50 {
        player.play("41.1 s .\n41.15 c P 96").later(40);
    }
    let report = player.play("90 c F\n90.1 s F").report();
    let sight = report.summary.sight;
    assert_eq!(sight.unwatched, 50);
    // The first was held for 40.05 ms, each of the others for 40.
    assert_eq!(sight.unwatched_ns, 2_000 * MS + 50_000);
}

/// The ACKs come 39 to 39.9 ms after the data, and the data 40 ms after the data before, whatever the ACK did: a clock of
/// the sender's, and nothing was held. Data that follows each ACK by 100 us was.
#[test]
fn what_a_clock_sends_is_not_said_to_have_been_held() {
    let unwatched = |next: &dyn Fn(f64) -> f64| {
        let mut script = format!("{OPEN}1 s P 20\n1.1 c P 48\n");
        let mut sent_ms = 1.1;
        for n in 0..40 {
            let ack_ms = sent_ms + 39.0 + 0.1 * f64::from(n * 7 % 10);
            sent_ms = next(ack_ms).max(ack_ms + 0.05).min(sent_ms + 60.0);
            script += &format!("{ack_ms} s .\n{sent_ms} c P 96\n");
        }
        sight(&script).unwatched
    };
    let clock = |ack_ms: f64| ((ack_ms - 1.1) / 40.0).ceil() * 40.0 + 1.1;
    assert_eq!(unwatched(&clock), 0);
    assert_eq!(unwatched(&|ack_ms| ack_ms + 0.1), 40);
}

/// A segment that left two milliseconds after the ACK may have done so by accident.
#[test]
fn what_may_be_an_accident_is_not_said_to_have_been_held() {
    let unwatched = |late: &str| {
        let script =
            format!("{OPEN}1 s P 20\n1.1 c P 48\n41.1 s .\n{late} c P 96\n81.1 s .\n121.1 c P 96");
        sight(&script).unwatched
    };
    assert_eq!((unwatched("41.15"), unwatched("43.1")), (1, 0));
}

#[test]
fn sights_add_up_field_by_field() {
    let of = |by: u64| {
        let ns = by as i64;
        Sight {
            data: by,
            alone: 11 * by,
            one_direction: 2 * by,
            gappy: 3 * by,
            clock_steps: 4 * by,
            fine_clock: by == 3,
            lifetime_ns: 5 * ns,
            loss_ns: 6 * ns,
            zero_window_ns: 7 * ns,
            server_ns: 8 * ns,
            server_or_path_ns: 14 * ns,
            unwatched: 9 * by,
            unwatched_ns: 10 * ns,
            relayed: 12 * by,
            timed: 13 * by,
        }
    };
    let mut sum = of(3);
    sum += &of(4);
    assert_eq!(
        sum,
        Sight {
            fine_clock: true,
            ..of(7)
        }
    );
    let mut coarse = of(4);
    coarse += &of(5);
    assert!(!coarse.fine_clock);
    coarse += &of(3);
    assert!(coarse.fine_clock);
}

#[test]
fn each_share_has_its_words() {
    let all = [
        Dominant::Loss,
        Dominant::ZeroWindow,
        Dominant::SlowServer,
        Dominant::ServerOrPath,
    ];
    let named = ["loss", "zero-window", "slow-server", "server-or-path"];
    assert_eq!(all.map(Dominant::name), named);
    assert!(Dominant::Loss.sentence().contains("sent again"));
    assert!(Dominant::ZeroWindow.sentence().contains("closed window"));
    assert!(Dominant::SlowServer.sentence().contains("answered"));
}

/// An MSS option of 0 means nothing (Linux ignores it, too): the default holds, as without the option, and the SYN was seen.
#[test]
fn an_mss_of_zero_is_no_missing_syn() {
    for option in ["mss-zero", "mss 0"] {
        let mut player = Player::new();
        player.play(&format!("0.0 c S {option}\n0.1 s S. {option}\n0.15 c ."));
        player.play("1.0 c P 100\n1.1 s P 100\n1.2 c .");
        let report = player.report();
        let direction = &report.connections[0].directions[0];
        assert_eq!(
            (direction.mss, direction.mss_source),
            (536, "handshake"),
            "{option}"
        );
    }
}
