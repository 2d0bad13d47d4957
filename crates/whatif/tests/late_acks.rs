//! A path that carries acknowledgments late, as a busy host's does: how long a stall lasts contains how late the one came that ended
//! it, and a stall that does not happen has no such lateness.

mod turns;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tinygram_whatif::change::Change;
use tinygram_whatif::conversation::of_both_ends;
use tinygram_whatif::forecast::Forecast;
use tinygram_whatif::prediction::Subject;
use tinygram_whatif::rules::Rules;
use tinygram_whatif::seen::End;

use crate::turns::{MS, read, sent, write};

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
        asker.writes.push(write(now, 40, asked + 40, answered));
        asker
            .writes
            .push(write(now + 1, 400, asked + 440, answered));
        asker.sent.push(sent(now, 40, asked + 40));
        let first_ns = now + ONE_WAY;
        let acked_ns = first_ns + 40 * MS + below(4 * MS);
        let let_go_ns = acked_ns + ONE_WAY + below(LATEST);
        asker.sent.push(sent(let_go_ns, 400, asked + 440));
        let second_ns = let_go_ns + ONE_WAY;
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
    turns::foreseen(subject, Change::Nodelay(true))
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
