//! A service whose sockets let segments leave at a rate: what NODELAY does to it is predicted, and then it is done.

mod common;
mod turns;

use common::{Service, Truth};
use tinygram_engine::sender::congestion::{Ack, Congestion, Control, Window};
use tinygram_engine::{Config, Duration};
use tinygram_whatif::change::Change;
use tinygram_whatif::conversation::of_both_ends;
use tinygram_whatif::pacing::Pacing;
use tinygram_whatif::prediction::{Prediction, Subject};
use tinygram_whatif::rules::Rules;

/// Thirty small writes 20 ms away.
fn thirty() -> Service {
    Service {
        writes: [vec![50; 30], vec![400]],
        think: [Duration::from_millis(2), Duration::ZERO],
        gap: Duration::from_micros(5),
        rtt: Duration::from_millis(20),
        turns: 200,
    }
}

/// In octets per second; 50 octets take 250 us.
const RATE: u64 = 200_000;

/// A window that does not move, and a rate, as with `SO_MAX_PACING_RATE`.
#[derive(Clone, Debug)]
struct AtARate;

impl Control for AtARate {
    fn on_ack(&mut self, _: Window<'_>, _: &Ack) {}

    fn on_loss(&mut self, _: Window<'_>, _: u64) {}

    fn on_timeout(&mut self, _: Window<'_>, _: u64) {}

    fn pacing_rate(&self) -> Option<u64> {
        Some(RATE)
    }
}

fn paced(config: &mut Config) {
    config.extensions.pacing = true;
    config.sender.congestion = Congestion::custom(AtARate);
}

/// Predicts what NODELAY does at the client, from what was seen without it.
fn foreseen(service: &Service, pacing: Option<Pacing>) -> Prediction {
    let seen = service.run_with(&Default::default(), 1, paced);
    foreseen_of(&seen, pacing, Change::Nodelay(true))
}

/// Predicts what a change does at the client of what was seen.
fn foreseen_of(seen: &Truth, pacing: Option<Pacing>, change: Change) -> Prediction {
    let [client, server] = &seen.ends;
    let rules = Rules {
        pacing,
        ..Rules::default()
    };
    let subject = Subject {
        conversation: of_both_ends([client, server], 1448, true).expect("turns"),
        rules: [rules.clone(), rules],
        meant: [true, false],
        netns: [0, 1],
    };
    turns::foreseen(subject, change).rows[0].1
}

#[test]
fn what_is_written_while_the_rate_forbids_leaves_together() {
    let service = thirty();
    let mut rules: [Rules; 2] = Default::default();
    Change::Nodelay(true).apply(&mut rules[0]);
    let truth = service.run_with(&rules, 2, paced);
    assert!(truth.segments < 6.0, "{}", truth.segments);
    let predicted = foreseen(&service, Pacing::of(&[Some(RATE)], false)).figures;
    for (name, figure, truth) in [
        ("p50", predicted.p50_ms, truth.quantile(0.5)),
        ("segments", predicted.segments, truth.segments),
    ] {
        let figure = figure.expect(name);
        let off = (figure.value - truth).abs() / truth;
        assert!(off < 0.1, "{name}: predicted {figure:?}, is {truth}");
        assert!(
            (figure.low..=figure.high).contains(&truth),
            "{name}: predicted {figure:?}, is {truth}"
        );
    }
    // Without the rate each write would be a segment.
    let unpaced = foreseen(&service, None).figures.segments.expect("turns");
    assert!(unpaced.low > truth.segments * 2.0, "{unpaced:?}");
}

/// BBR's rate follows what it has in flight, which NODELAY changes; below 1.2 Mbit/s it sends one segment at a time.
#[test]
fn bbr_becomes_as_fast_as_it_has_more_in_flight() {
    // All is written before the rate lets a second segment leave.
    let service = Service {
        gap: Duration::from_micros(1),
        ..thirty()
    };
    let slow = [Some(142_000)];
    let as_bound = foreseen(&service, Pacing::of(&slow, false)).figures;
    let by_bbr = foreseen(&service, Pacing::of(&slow, true)).figures;
    let [as_bound, by_bbr] = [as_bound, by_bbr].map(|figures| figures.p50_ms.expect("turns"));
    assert!((20.0..24.0).contains(&as_bound.value), "{as_bound:?}");
    // What is left of a segment waits as long as the segment takes, until the rate is higher.
    assert!((20.0..24.0).contains(&by_bbr.value), "{by_bbr:?}");
    assert!(by_bbr.high > 30.0, "{by_bbr:?}");
}

/// A segment takes a microsecond at the rates of a local connection. A host that takes no time at all would let the next answer
/// wait for it, and gather it.
#[test]
fn the_rate_of_a_local_connection_gathers_nothing() {
    let service = Service {
        writes: [vec![40, 400], vec![2]],
        think: [Duration::ZERO; 2],
        rtt: Duration::ZERO,
        ..thirty()
    };
    let seen = service.run(&Default::default(), 1);
    let local = Pacing::of(&[Some(200_000_000)], true);
    // It changes nothing at this end.
    let figures = foreseen_of(&seen, local, Change::Nodelay(false)).figures;
    let segments = figures.segments.expect("turns");
    assert!(segments.low > 2.9, "{segments:?}");
    let p50 = figures.p50_ms.expect("turns");
    assert!(p50.low > 30.0, "it stalls as before: {p50:?}");
}
