//! When many short segments are a flood, and the cost reported: counted by hand.

use crate::player::{OPEN, Player};
use tinygram_diagnose::{Facts, Finding, Report, Tier};
use tinygram_stalls::flood::Flood;

/// Sends data of the client: `(gap in milliseconds, bytes)` each.
fn sent(data: impl IntoIterator<Item = (f64, u32)>) -> Report {
    let mut player = Player::new();
    player.play(OPEN);
    let mut now_ms = 100.0;
    for (n, (gap_ms, bytes)) in data.into_iter().enumerate() {
        // No clock shows the same gap all the time.
        now_ms += gap_ms + (n % 2) as f64 * 0.0003;
        player.play(&format!("{now_ms} c P {bytes}"));
    }
    player.report()
}

fn floods(data: impl IntoIterator<Item = (f64, u32)>) -> u64 {
    sent(data).summary.floods
}

/// Floods and remarks.
fn told(data: impl IntoIterator<Item = (f64, u32)>) -> usize {
    sent(data).findings.len()
}

/// `groups` of `members` segments a millisecond apart, with a pause before each group.
fn groups(groups: usize, members: usize, pause_ms: f64, bytes: u32) -> Vec<(f64, u32)> {
    let mut group = vec![(1.0, bytes); members];
    group[0].0 = pause_ms;
    group.repeat(groups)
}

/// A segment could have shared one with its predecessor; the first of all could not.
#[test]
fn fifty_segments_that_could_have_been_saved_are_a_flood() {
    assert_eq!(floods(vec![(1.0, 10); 51]), 1);
    assert_eq!(floods(vec![(1.0, 10); 50]), 0);
}

#[test]
fn what_is_ten_milliseconds_apart_is_not_waited_for() {
    assert_eq!(floods(vec![(9.9, 10); 60]), 1);
    assert_eq!(floods(vec![(10.0, 10); 60]), 0);
}

/// Two segments of together 1460 bytes could have been one; with one byte more they could not.
#[test]
fn only_what_fits_into_one_segment_could_have_shared_it() {
    let pairs = |first, second| {
        let pair = [(15.0, first), (1.0, second)];
        let tally = sent(pair.repeat(60));
        tally.connections[0].directions[0].clone()
    };
    assert_eq!(pairs(700, 760).segments, 120);
    let flood = |first, second| told([(15.0, first), (1.0, second)].repeat(60));
    // Each pair's mean payload exceeds the headers, so only tiny segments show the flood.
    assert_eq!((flood(30, 30), flood(30, 1460)), (1, 0));
}

/// Slow and in small groups: four segments could be saved in each group of five, or three in each
/// of four.
#[test]
fn a_slow_sender_floods_if_four_of_five_could_be_saved() {
    assert_eq!(floods(groups(13, 5, 1000.0, 10)), 1);
    assert_eq!(floods(groups(17, 4, 1000.0, 10)), 0);
}

/// 51 segments could be saved in 1.1 seconds, or in 1.7: the limit is forty a second.
#[test]
fn a_quick_sender_floods_from_forty_segments_a_second() {
    assert_eq!(floods(groups(17, 4, 62.0, 10)), 1);
    assert_eq!(floods(groups(17, 4, 97.0, 10)), 0);
}

#[test]
fn half_of_all_segments_must_be_ones_that_could_be_saved() {
    let pairs = groups(60, 2, 10.0, 10);
    assert_eq!(told(pairs), 1);
    // A pair and a single one: one of three could be saved.
    assert_eq!(told([(10.0, 10), (10.0, 10), (1.0, 10)].repeat(60)), 0);
}

/// A flood has at most as much payload as headers and framing: 78 bytes by Davids.
#[test]
fn a_flood_carries_no_less_headers_than_payload() {
    let quick = |bytes| floods(groups(40, 3, 12.0, bytes));
    assert_eq!((quick(78), quick(79)), (1, 0));
}

/// Between large segments neither their share nor the headers show tiny ones. Runs do: seventeen or
/// more segments, of at most 64 bytes on average.
#[test]
fn tiny_segments_between_large_ones_are_a_flood_by_themselves() {
    let among_large = |runs: Vec<(f64, u32)>| {
        let large = vec![(1.0, 1460); 200];
        floods(large.into_iter().chain(runs))
    };
    assert_eq!(among_large(groups(1, 51, 20.0, 64)), 1);
    assert_eq!(among_large(groups(1, 51, 20.0, 65)), 0);
    assert_eq!(among_large(groups(1, 50, 20.0, 64)), 0);
    assert_eq!(among_large(groups(4, 17, 20.0, 10)), 1);
    assert_eq!(among_large(groups(10, 16, 20.0, 10)), 0);
}

/// 100 segments of 50 bytes in 2 seconds: 99 could join the one before, and 4950 bytes fill three
/// segments of 1460, so 96 are saved, and with them 48 of the 50 ACKs.
#[test]
fn the_cost_of_a_flood_is_davids_formula() {
    let mut player = Player::new();
    player.play("0 c S\n0.1 s S.\n0.2 c .");
    for pair in 0..50 {
        let at_ms = 20.2 + 40.0 * f64::from(pair);
        player.play(&format!("{at_ms} c P 50\n{} c P 50", at_ms + 5.0));
        player.play(&format!("{} s .", at_ms + 5.1));
    }
    let report = player.report();
    // A pair every 40 ms is not a flood: each first write leaves at once.
    assert_eq!(report.summary.floods, 0);

    let mut player = Player::new();
    player.play("0 c S\n0.1 s S.\n0.2 c .");
    for pair in 0..50 {
        let at_ms = 10.0 + 10.0 * f64::from(pair);
        player.play(&format!("{at_ms} c P 50\n{} s .", at_ms + 0.2));
        player.play(&format!("{} c P 50", at_ms + 5.0));
    }
    let report = player.report();
    let [finding] = report.findings.as_slice() else {
        panic!("{:?}", report.findings);
    };
    let Facts::Flood(flood) = &finding.facts else {
        panic!("a flood");
    };
    let Flood {
        segments,
        short,
        bytes,
        saved,
        ..
    } = *flood;
    assert_eq!((segments, short, bytes, saved), (100, 100, 5000, 96));
    // Data: 78 bytes each; ACKs: 84. 50 ACKs for 100 segments are 2 for 4.
    let percent = (100.0 * 78.0 + 50.0 * 84.0) / 5000.0 * 100.0;
    assert!((flood.overhead_percent - percent).abs() < 1e-9, "{flood:?}");
    let percent = (4.0 * 78.0 + 2.0 * 84.0) / 5000.0 * 100.0;
    assert!(
        (flood.coalesced_percent - percent).abs() < 1e-9,
        "{flood:?}"
    );
    // From the SYN to the last segment are 505 ms.
    assert!(
        (flood.per_second - 99.0 / 0.505).abs() < 1e-6,
        "{}",
        flood.per_second
    );
    assert_eq!(
        finding.frames.iter().map(|m| m.frame).collect::<Vec<_>>(),
        [1, 153]
    );
    assert!(finding.habit().contains("100 segments of 50 bytes"));
}

/// Forty-one answers a second of two segments take twice the packets: a remark, which accuses nobody. Of three segments
/// each they are a flood.
#[test]
fn twice_the_packets_is_a_remark() {
    let answers = |members| sent(groups(60, members, 24.0 - members as f64, 10));
    let two = answers(2);
    assert_eq!((two.summary.floods, two.summary.possible), (0, 0));
    let remarks: Vec<_> = two.findings.iter().map(Finding::tier).collect();
    assert_eq!(remarks, [Tier::Possible]);
    let three = answers(3);
    assert_eq!(three.summary.floods, 1);
    assert!(three.findings.iter().all(|f| f.tier() == Tier::Certain));
}
