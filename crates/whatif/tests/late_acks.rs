//! A path that carries acknowledgments late, as a busy host's does: how long a stall lasts contains how late the one came that ended
//! it, and a stall that does not happen has no such lateness.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tinygram_engine::Duration;
use tinygram_whatif::change::Change;
use tinygram_whatif::conversation::of_both_ends;
use tinygram_whatif::forecast::{Forecast, forecast};
use tinygram_whatif::offer::AskedChanges;
use tinygram_whatif::prediction::{Service, Subject};
use tinygram_whatif::rules::Rules;
use tinygram_whatif::seen::{End, Read, Sent, Write};

const MS: u64 = 1_000_000;
const ONE_WAY: u64 = 10 * MS;
const TURNS: u64 = 300;
/// How late acknowledgments come at most; half of it at the median.
const LATEST: u64 = 12 * MS;

/// Requests in two writes, the second of which is held until the first is acknowledged: after 40 ms, and what is left of the
/// kernel's tick. Its acknowledgment comes late.
fn seen() -> [End; 2] {
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut below = |bound: u64| dice.next_u64() % bound;
    let [mut asker, mut answerer] = [End::default(), End::default()];
    let mut now = 1000 * MS;
    for turn in 0..TURNS {
        let (asked, answered) = (turn * 440, turn * 2);
        let write = |at_ns, length, end, read_until| Write {
            at_ns,
            length,
            end,
            read_until,
            more: false,
        };
        asker.writes.push(write(now, 40, asked + 40, answered));
        asker
            .writes
            .push(write(now + 1, 400, asked + 440, answered));
        let sent = |at_ns, length, end| Sent { at_ns, length, end };
        asker.sent.push(sent(now, 40, asked + 40));
        let first_ns = now + ONE_WAY;
        let acked_ns = first_ns + 40 * MS + below(4 * MS);
        let let_go_ns = acked_ns + ONE_WAY + below(LATEST);
        asker.sent.push(sent(let_go_ns, 400, asked + 440));
        let second_ns = let_go_ns + ONE_WAY;
        let read = |at_ns, length, end, late_ack_ns| Read {
            at_ns,
            length,
            end,
            late_ack_ns,
        };
        answerer.reads.push(read(first_ns, 40, asked + 40, None));
        let second = read(second_ns, 400, asked + 440, Some(acked_ns));
        answerer.reads.push(second);
        let answer = write(second_ns + 1, 2, answered + 2, asked + 440);
        answerer.writes.push(answer);
        answerer.sent.push(sent(second_ns + 1, 2, answered + 2));
        now = second_ns + ONE_WAY + 1;
        asker.reads.push(read(now, 2, answered + 2, None));
        now += 2 * MS;
    }
    [asker, answerer]
}

fn foreseen() -> Forecast {
    let [asker, answerer] = seen();
    let subject = Subject {
        conversation: of_both_ends([&asker, &answerer], 1448, false).expect("turns"),
        rules: [Rules::default(), Rules::default()],
        meant: [true, false],
        netns: [0, 1],
    };
    let service = Service {
        subjects: vec![subject],
        tick_ns: Duration::from_millis(4).as_nanos(),
        seed: 1,
    };
    let asked = AskedChanges {
        changes: &[Change::Nodelay(true)],
        by_target: true,
    };
    forecast(&[service], asked).expect("turns")
}

#[test]
fn a_stall_that_is_played_again_lasts_as_long_as_was_seen() {
    let forecast = foreseen();
    let present = forecast.present.figures;
    for (played, seen) in [
        (present.p50_ms, forecast.seen.p50_ms),
        (present.p99_ms, forecast.seen.p99_ms),
    ] {
        let played = played.expect("told").value;
        assert!((played - seen).abs() < 1.0, "{played} {seen}");
    }
}

#[test]
fn without_a_stall_there_is_no_lateness_of_what_ends_it() {
    let p50 = foreseen().rows[0].1.figures.p50_ms.expect("told");
    assert!((p50.value - 20.0).abs() < 0.1, "{p50:?}");
}
