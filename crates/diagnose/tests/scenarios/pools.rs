//! Short connections show a stall once each, and far from the sender one event is not enough.
//! Connections of one program corroborate each other.

use tinygram_diagnose::{Lookalike, Report, Tier};

use crate::player::Player;

/// The client is 20 ms from the capture point. It holds 200 bytes until the ACK of 100.
pub(crate) const FAR: &str = "
    0     c S
    0.1   s S.
    20.1  c .
    30    c P 100
    71    s .
    92.6  c P 200
    92.8  s P 300
    112.9 c F
    113   s F
    133.1 c .
";

/// The same program, whose second piece takes its own time.
const UNLIKE: &str = "
    0     c S
    0.1   s S.
    20.1  c .
    30    c P 100
    71    s .
    131.1 c P 200
    131.3 s P 300
    151.4 c F
    151.5 s F
    171.6 c .
";

/// Returns the report on connections from these client ports to these server ports.
fn captured(connections: impl IntoIterator<Item = ([u16; 2], &'static str)>) -> Report {
    let mut player = Player::new();
    for (ports, script) in connections {
        player.ports = ports;
        player.play(script).later(1000);
    }
    player.report()
}

fn held(count: u16) -> impl Iterator<Item = ([u16; 2], &'static str)> {
    (0..count).map(|n| ([40_000 + n, 80], FAR))
}

/// Returns the number of stalls, and of pauses that nothing corroborated.
fn told(report: &Report) -> (u64, u32) {
    let uncorroborated = report.connections.iter();
    let of =
        |lookalike| move |c: &tinygram_diagnose::ConnectionReport| c.ruled_out.of(lookalike).count;
    (
        report.summary.stalls,
        uncorroborated.map(of(Lookalike::Uncorroborated)).sum(),
    )
}

fn unlike(count: u16) -> impl Iterator<Item = ([u16; 2], &'static str)> {
    (0..count).map(|n| ([50_000 + n, 80], UNLIKE))
}

/// The segments leave 1.6 ms from where the ACK puts them, and 63 ms lie between the pieces. An
/// accident falls within 1.9 ms once in 16 times, too often for a single event. By Poisson's law
/// two events where 0.12 are expected have a chance of one in 140, four where 0.25 are expected one
/// in 8,000.
#[test]
fn two_connections_show_what_one_does_not() {
    assert_eq!(told(&captured(held(1))), (0, 1));
    let two = captured(held(2));
    assert_eq!(told(&two), (2, 0));
    assert!(two.findings.iter().all(|f| f.tier() == Tier::Likely));
    let four = captured(held(4));
    assert!(four.findings.iter().all(|f| f.tier() == Tier::Certain));
    let costs: Vec<_> = two.connections.iter().map(|c| c.cost_ns).collect();
    assert_eq!(costs, [62_600_000; 2]);
}

/// In each of these an accident falls as close with a chance of one in 26: two events where 0.31
/// are expected are probably no accidents; where 1.6 are expected they may be.
#[test]
fn occasions_on_which_nothing_was_held_count_against_it() {
    let likely = captured(held(2).chain(unlike(5)));
    assert_eq!(told(&likely), (2, 0));
    assert!(likely.findings.iter().all(|f| f.tier() == Tier::Likely));
    let some = captured(held(2).chain(unlike(40)));
    assert_eq!(told(&some), (0, 2));
    assert!(
        some.findings.is_empty(),
        "an accident explains them as well"
    );
    // A pool begins with a suspect: what came before it is unknown.
    assert_eq!(told(&captured(unlike(40).chain(held(2)))), (2, 0));
}

/// A client is one program for each server; a server is one program for all its clients.
#[test]
fn programs_are_told_apart_by_the_server() {
    let servers = [80, 81, 82].map(|port| ([40_000, port], FAR));
    assert_eq!(told(&captured(servers)), (0, 3));
}

/// Connections whose server acknowledges after these times, and whose held segment passes so long after that, in
/// milliseconds. The client is 0.15 ms away.
fn late(times: impl IntoIterator<Item = (f64, f64)>) -> (u64, u32) {
    let mut player = Player::new();
    let mut thoughts = 0;
    for (n, (wait_ms, reaction_ms)) in times.into_iter().enumerate() {
        player.ports = [40_000 + n as u16, 22];
        let (ack_ms, held_ms) = (30.0 + wait_ms, 30.0 + wait_ms + reaction_ms);
        let (answer_ms, end_ms) = (held_ms + 0.1, held_ms + 0.3);
        let script = format!(
            "0 c S
             0.01 s S.
             0.16 c .
             30 c P 16
             {ack_ms} s .
             {held_ms} c P 56
             {answer_ms} s P 40
             {end_ms} c F"
        );
        player.play(&script).later(1000);
    }
    let report = player.report();
    for connection in &report.connections {
        thoughts += connection.ruled_out.of(Lookalike::ThinkTime).count;
    }
    (report.summary.stalls, thoughts)
}

/// A slow host takes 0.6 ms each time, and one connection shows it once. Together they show that it follows ACKs of 36
/// to 43 ms. Data 41.4 ms after the data before it follows nothing.
#[test]
fn a_slow_hosts_habit_shows_in_all_its_connections() {
    let follows = (0..8).map(|n| (36.0 + f64::from(n), 0.6));
    assert_eq!(late(follows), (8, 0));
    let clock = (0..8).map(|n| (40.0 + 0.1 * f64::from(n), 1.4 - 0.1 * f64::from(n)));
    assert_eq!(late(clock), (0, 8));
    // Three connections are too few to show a habit.
    assert_eq!(late((0..3).map(|n| (36.0 + f64::from(n), 0.6))), (0, 3));
}
