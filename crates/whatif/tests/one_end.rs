//! Only the server's end is seen: the client's thinking, its delay of acknowledgments and the round trip are guessed.

mod common;

use common::{Service, TICK, Truth};
use tinygram_engine::Duration;
use tinygram_whatif::change::Change;
use tinygram_whatif::conversation::of_both_ends;
use tinygram_whatif::forecast::{Forecast, forecast};
use tinygram_whatif::guess::Guess;
use tinygram_whatif::offer::AskedChanges;
use tinygram_whatif::prediction::{self, Subject};
use tinygram_whatif::rules::Rules;

fn service(rtt: Duration) -> Service {
    Service {
        writes: [vec![50], vec![100, 200]],
        think: [Duration::from_millis(3), Duration::from_micros(200)],
        gap: Duration::from_micros(5),
        rtt,
        turns: 300,
    }
}

fn foresee(seen: &Truth, rtt: Duration, change: Change) -> Option<Forecast> {
    let here = &seen.ends[1];
    let services = Guess::all(rtt.as_nanos()).into_iter().map(|guess| {
        let client = guess.other_end(here);
        let conversation = of_both_ends([&client, here], 1448, true).expect("turns");
        prediction::Service {
            subjects: vec![Subject {
                conversation,
                rules: [guess.rules(), Rules::default()],
                meant: [false, true],
                netns: [0, 1],
            }],
            tick_ns: TICK.as_nanos(),
            seed: 1,
        }
    });
    let asked = AskedChanges {
        changes: &[change],
        by_target: true,
    };
    forecast(&services.collect::<Vec<_>>(), asked)
}

#[test]
fn what_the_server_does_is_told_whatever_the_client_is() {
    for rtt in [Duration::from_micros(100), Duration::from_millis(10)] {
        let service = service(rtt);
        let seen = service.run(&Default::default(), 1);
        let forecast = foresee(&seen, rtt, Change::Nodelay(true)).expect("turns");
        assert!(
            forecast.agree >= 1 && forecast.agree < forecast.of,
            "{forecast:?}"
        );
        let nodelay = Rules {
            nodelay: true,
            ..Rules::default()
        };
        let truth = service.run(&[Rules::default(), nodelay], 2).quantile(0.5);
        let p50 = forecast.rows[0].1.figures.p50_ms.expect("told");
        assert!((p50.low..=p50.high).contains(&truth), "{p50:?} {truth}");
    }
}

/// A client that acknowledges at once stalls nobody: the guess that it delays does not fit, and is dropped.
#[test]
fn a_guess_that_does_not_fit_is_dropped() {
    let rtt = Duration::from_micros(100);
    let service = Service {
        think: [Duration::from_millis(3), Duration::from_millis(2)],
        ..service(rtt)
    };
    let quick = Rules {
        pingpong: u8::MAX,
        ..Rules::default()
    };
    let seen = service.run(&[quick, Rules::default()], 1);
    assert!(seen.quantile(0.5) < 10.0);
    let forecast = foresee(&seen, rtt, Change::Nodelay(true)).expect("turns");
    assert!(
        forecast.agree >= 1 && forecast.agree < forecast.of,
        "{forecast:?}"
    );
    let p50 = forecast.rows[0].1.figures.p50_ms.expect("told");
    assert!(p50.high < 12.0, "{p50:?}");
}
