//! A service is seen under one setting, and what another would do is predicted; then it is done.

mod common;

use common::{Service, TICK, Truth, metered};
use tinygram_engine::Duration;
use tinygram_whatif::change::Change;
use tinygram_whatif::conversation::of_both_ends;
use tinygram_whatif::lateness::HostLoad;
use tinygram_whatif::offer::{At, Offer};
use tinygram_whatif::prediction::{self, Estimate, Prediction, Subject};
use tinygram_whatif::rules::Rules;
use tinygram_whatif::seen::End;

fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A server that answers in two writes, asked by a client that thinks for a while.
fn write_write_read() -> Service {
    Service {
        writes: [vec![50], vec![100, 200]],
        think: [millis(1), Duration::from_micros(50)],
        gap: Duration::from_micros(5),
        rtt: Duration::ZERO,
        turns: 400,
    }
}

/// Returns what is predicted of a service that was seen as it is.
fn foresee(service: &Service, change: &Change, at: At) -> (Prediction, Prediction) {
    foresee_at(None, service, change, at)
}

/// Returns the same of the turns that are measured at an end.
fn foresee_at(
    end: Option<usize>,
    service: &Service,
    change: &Change,
    at: At,
) -> (Prediction, Prediction) {
    let seen = service.run(&Default::default(), 1);
    let [client, server] = &seen.ends;
    let mut conversation = of_both_ends([client, server], 1448, true).expect("turns");
    if let Some(end) = end {
        conversation = conversation.measured_at(end);
    }
    let subject = Subject {
        conversation,
        rules: Default::default(),
        meant: [true; 2],
        netns: [0, 1],
    };
    let service = prediction::Service {
        subjects: vec![subject],
        tick_ns: TICK.as_nanos(),
        seed: 1,
    };
    let present = service.replay(HostLoad::AsSeen, |subject| subject.rules.clone());
    let offer = Offer {
        change: change.clone(),
        at,
    };
    let changed = service.replay(HostLoad::AsSeen, |subject| offer.rules(subject));
    (
        service.predict(&present, &present),
        service.predict(&present, &changed),
    )
}

/// Does it, with other random numbers.
fn done(service: &Service, change: &Change, at: At) -> Truth {
    let mut rules: [Rules; 2] = Default::default();
    change.apply(&mut rules[usize::from(at == At::Server)]);
    service.run(&rules, 2)
}

#[track_caller]
fn holds(service: &Service, change: &Change, at: At) {
    let (_, predicted) = foresee(service, change, at);
    let truth = done(service, change, at);
    agree(
        &format!("{change}"),
        predicted,
        [truth.quantile(0.5), truth.quantile(0.99), truth.segments],
    );
}

/// Asserts that p50, p99 and segments are close to the truth, and hold it in their intervals.
#[track_caller]
fn agree(change: &str, predicted: Prediction, truth: [f64; 3]) {
    let figures = predicted.figures;
    let figures = [
        ("p50", figures.p50_ms),
        ("p99", figures.p99_ms),
        ("segments", figures.segments),
    ];
    for ((name, figure), truth) in figures.into_iter().zip(truth) {
        let figure = figure.expect(name);
        let off = (figure.value - truth).abs() / truth;
        assert!(
            off < 0.1 || (figure.value - truth).abs() < 0.03,
            "{change} {name}: predicted {figure:?}, is {truth}"
        );
        assert!(
            (figure.low..=figure.high).contains(&truth),
            "{change} {name}: predicted {figure:?}, is {truth}"
        );
    }
}

#[test]
fn the_present_setting_is_replayed_as_it_was_seen() {
    let service = write_write_read();
    let (present, _) = foresee(&service, &Change::Nodelay(true), At::Server);
    let truth = done(&service, &Change::Nodelay(false), At::Server);
    let p50 = present.figures.p50_ms.expect("enough turns").value;
    assert!(truth.quantile(0.5) > 30.0, "it stalls");
    assert!((p50 / truth.quantile(0.5) - 1.0).abs() < 0.05, "{p50}");
}

#[test]
fn nodelay_ends_the_stall_of_two_writes() {
    holds(&write_write_read(), &Change::Nodelay(true), At::Server);
    let (_, predicted) = foresee(&write_write_read(), &Change::Nodelay(true), At::Server);
    assert_eq!(predicted.p99_change_ms.map(Estimate::sign), Some(-1));
}

#[test]
fn a_bound_of_the_delayed_ack_leaves_a_remainder() {
    for ticks in [2, 3] {
        let bound = Duration::from_nanos(TICK.as_nanos() * ticks);
        holds(&write_write_read(), &Change::DelackMax(bound), At::Client);
    }
}

#[test]
fn a_threshold_of_three_leaves_a_third_of_the_stalls() {
    holds(&write_write_read(), &Change::Pingpong(3), At::Client);
    let (_, predicted) = foresee(&write_write_read(), &Change::Pingpong(3), At::Client);
    let p50 = predicted.figures.p50_ms.expect("enough turns");
    assert!(p50.value < 1.0, "{p50:?}");
}

#[test]
fn a_change_at_the_other_end_changes_nothing() {
    let (present, predicted) = foresee(&write_write_read(), &Change::Nodelay(true), At::Client);
    let p50 = |prediction: Prediction| prediction.figures.p50_ms.expect("enough turns").value;
    assert!((p50(present) / p50(predicted) - 1.0).abs() < 0.05);
    assert_eq!(predicted.p99_change_ms.map(Estimate::sign), Some(0));
}

#[test]
fn turns_are_measured_at_either_end_as_a_trial_does() {
    let service = write_write_read();
    let bound = Duration::from_nanos(TICK.as_nanos() * 2);
    for (change, at) in [
        (Change::Nodelay(true), At::Server),
        (Change::DelackMax(bound), At::Client),
    ] {
        let truth = done(&service, &change, at);
        for end in [0, 1] {
            let (present, predicted) = foresee_at(Some(end), &service, &change, at);
            let p50 = present.figures.p50_ms.expect("enough turns").value;
            // From the client's request to the first half of the answer there is no stall.
            assert!((p50 > 40.0) == (end == 1), "{end}: {p50}");
            let metered = metered(&truth.ends[end]);
            let at = |share: f64| metered[(share * (metered.len() - 1) as f64).round() as usize];
            // Nobody asks again after the last answer: as the server sees it, that turn does not end.
            let begun = metered.len() + end;
            let segments = truth.ends[end].sent.len() as f64 / begun as f64;
            let what = format!("{change} at {end}");
            agree(&what, predicted, [at(0.5), at(0.99), segments]);
        }
    }
}

/// The ends are not recorded from the same moment, and what is on its way then was not seen to leave.
#[test]
fn a_recording_may_begin_in_the_middle_of_a_turn() {
    let service = Service {
        rtt: millis(20),
        writes: [vec![50, 60, 70], vec![300]],
        ..write_write_read()
    };
    let seen = service.run(&Default::default(), 1);
    let begun_ns = seen.ends[0].writes[30].at_ns + 1;
    for later_ns in [0, 5_000_000, 15_000_000, 25_000_000] {
        let asker = cut(&seen.ends[0], begun_ns);
        let answerer = cut(&seen.ends[1], begun_ns + later_ns);
        let conversation = of_both_ends([&asker, &answerer], 1448, false).expect("turns");
        let one_way_ms = conversation.one_way_ns as f64 / 1e6;
        assert!((9.9..10.2).contains(&one_way_ms), "{one_way_ms}");
        let longest = conversation.turns.iter().map(|turn| turn.seen_ns).max();
        let p50_ns = (seen.quantile(0.5) * 1e6) as u64;
        assert!(longest < Some(2 * p50_ns), "{longest:?}");
        let lates = conversation.turns.iter().map(|turn| turn.late.ns);
        assert!(lates.max() < Some(1_000_000), "{later_ns}");
    }
}

/// Returns what was seen of an end from then on.
fn cut(end: &End, from_ns: u64) -> End {
    End {
        writes: (end.writes.iter().copied())
            .filter(|write| write.at_ns >= from_ns)
            .collect(),
        reads: (end.reads.iter().copied())
            .filter(|read| read.at_ns >= from_ns)
            .collect(),
        sent: (end.sent.iter().copied())
            .filter(|segment| segment.at_ns >= from_ns)
            .collect(),
    }
}

#[test]
fn few_turns_say_nothing() {
    let service = Service {
        turns: 12,
        ..write_write_read()
    };
    let (_, predicted) = foresee(&service, &Change::Nodelay(true), At::Server);
    assert_eq!(predicted.figures.p50_ms, None);
    assert_eq!(predicted.p99_change_ms, None);
}
