//! Both ends on one host: what a reader takes to wake up is no part of the way. An acknowledgment is there before the next small write,
//! so that a receiver that acknowledges at once makes a flood of small writes.

mod turns;

use tinygram_whatif::change::Change;
use tinygram_whatif::conversation::of_both_ends;
use tinygram_whatif::prediction::Subject;
use tinygram_whatif::rules::Rules;
use tinygram_whatif::seen::End;

use crate::turns::{MS, foreseen, read, sent, write};

const US: u64 = 1000;
/// From an acknowledgment's sending to that of the data that it lets go.
const WAY: u64 = 8 * US;
const WAKES: u64 = 30 * US;
const WRITES: u64 = 12;

/// Requests in twelve writes of 50 octets, 5 us apart; all but the first wait for the delayed acknowledgment of that one.
fn seen() -> [End; 2] {
    let [mut asker, mut answerer] = [End::default(), End::default()];
    let mut now = 1000 * MS;
    for turn in 0..100 {
        let (asked, answered) = (turn * 600, turn);
        for index in 0..WRITES {
            let at_ns = now + 5 * US * index + US;
            asker
                .writes
                .push(write(at_ns, 50, asked + 50 * (index + 1), answered));
        }
        asker.sent.push(sent(now, 50, asked + 50));
        answerer
            .reads
            .push(read(now + WAY + WAKES, 50, asked + 50, None));
        let acked_ns = now + 40 * MS + turn % 4 * MS;
        let let_go_ns = acked_ns + WAY;
        asker.sent.push(sent(let_go_ns, 550, asked + 600));
        let read_ns = let_go_ns + WAY + WAKES;
        answerer
            .reads
            .push(read(read_ns, 550, asked + 600, Some(acked_ns)));
        answerer
            .writes
            .push(write(read_ns + 2 * US, 1, answered + 1, asked + 600));
        answerer.sent.push(sent(read_ns + US, 1, answered + 1));
        now = read_ns + US + WAY + WAKES;
        asker.reads.push(read(now, 1, answered + 1, None));
        now += MS;
    }
    [asker, answerer]
}

/// Returns what was seen, of which the answerer is meant.
fn subject() -> Subject {
    let [asker, answerer] = seen();
    Subject {
        conversation: of_both_ends([&asker, &answerer], 1448, false).expect("turns"),
        rules: [Rules::default(), Rules::default()],
        meant: [false, true],
        netns: [0, 0],
    }
}

#[test]
fn an_ack_at_once_lets_each_small_write_go() {
    let forecast = foreseen(subject(), Change::Quickack(true));
    let present = forecast.present.figures.segments.expect("told");
    assert!((present.value - 3.0).abs() < 0.1, "{present:?}");
    let segments = forecast.rows[0].1.figures.segments.expect("told");
    assert!((segments.value - 13.0).abs() < 0.1, "{segments:?}");
}

#[test]
fn an_ack_that_leaves_with_a_read_comes_as_late_as_the_reader_wakes() {
    // The reader takes 38 us to wake, and the writes 60: a segment has the first, the next what is written until then, the third
    // the rest, and the fourth is the answer.
    let forecast = foreseen(subject(), Change::Pingpong(255));
    let segments = forecast.rows[0].1.figures.segments.expect("told");
    assert!((segments.value - 4.0).abs() < 0.1, "{segments:?}");
}
