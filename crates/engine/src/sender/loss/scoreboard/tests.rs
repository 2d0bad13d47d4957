//! Whatever happens to a scoreboard, its sums are those of its entries.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::*;

struct Dice(SplitMix64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound
    }
}

fn octets(from: u64, to: u64) -> Span {
    Span::new(Offset::new(from), Offset::new(to))
}

fn check(board: &Scoreboard, told: u64) {
    let all = || board.sent.iter();
    let count = |is: fn(&Transmission) -> bool| all().filter(|t| is(t)).count() as u32;
    assert_eq!(
        board.pipe(),
        all().map(Transmission::in_flight).sum::<u64>()
    );
    assert_eq!(board.sacked_segments(), count(|t| t.sacked));
    assert_eq!(board.lost_segments(), count(|t| t.lost));
    assert_eq!(board.has_lost(), count(|t| t.lost) > 0);
    assert_eq!(board.segments(), all().count());
    assert_eq!(board.delivered(), told);
    assert_eq!(board.first_lost(), all().find(|t| t.lost).map(|t| t.span));
    let ends = all().zip(all().skip(1));
    for (one, next) in ends {
        assert!(
            one.span.end <= next.span.start && !one.span.is_empty(),
            "{board:?}"
        );
    }
    for entry in all() {
        assert!(!(entry.sacked && entry.lost) && entry.number <= board.count);
    }
}

/// Sums `is` over the entries that are not SACKed: the octets that an event newly delivers.
fn undelivered(board: &Scoreboard, is: impl Fn(&Transmission) -> u64) -> u64 {
    board.iter().filter(|t| !t.sacked).map(is).sum()
}

#[test]
fn sums_are_those_of_the_entries_in_any_order_of_events() {
    for seed in 0..300 {
        let mut dice = Dice(SplitMix64::seed_from_u64(seed));
        let mut board = Scoreboard::default();
        let (mut nxt, mut told) = (1, 0);
        for step in 0..120 {
            let now = Instant::from_nanos(step);
            let spans: Vec<Span> = board.iter().map(|t| t.span).collect();
            let any = |dice: &mut Dice| spans[dice.below(spans.len() as u64) as usize];
            match dice.below(8) {
                _ if spans.is_empty() => {
                    board.sent(octets(nxt, nxt + 100), now);
                    nxt += 100;
                }
                0 | 1 => {
                    let len = 1 + dice.below(150);
                    board.sent(octets(nxt, nxt + len), now);
                    nxt += len;
                }
                2 => {
                    // A span anywhere, also inside a segment.
                    let span = any(&mut dice);
                    let ack = span.start + dice.below(span.len() + 1);
                    told += undelivered(&board, |t| t.span.end.min(ack).since(t.span.start));
                    board.acked(ack, |t| assert!(!t.sacked));
                }
                3 => {
                    let (a, b) = (any(&mut dice), any(&mut dice));
                    let block = Span::new(a.start.min(b.start), a.end.max(b.end));
                    let whole =
                        |t: &Transmission| block.start <= t.span.start && t.span.end <= block.end;
                    told += undelivered(&board, |t| if whole(t) { t.span.len() } else { 0 });
                    board.sacked(block, |t| assert!(whole(t)));
                    assert!(board.iter().filter(|t| whole(t)).all(|t| t.sacked));
                }
                4 => {
                    let limit = any(&mut dice).start;
                    board.judge(|t| match t.span.start < limit {
                        true => Judged::Lost,
                        false => Judged::Enough,
                    });
                    let below = |t: &&Transmission| t.span.start < limit && !t.sacked;
                    assert!(board.iter().filter(below).all(|t| t.lost));
                }
                5 => {
                    let span = any(&mut dice);
                    let sent = board.iter().find(|t| t.span == span).expect("it is there");
                    if !sent.sacked {
                        let part = Span::new(span.start, span.start + 1 + dice.below(span.len()));
                        board.sent_again(part, now);
                        let sent = board.iter().find(|t| t.span == part).expect("its part");
                        assert!(sent.retransmitted && !sent.lost && sent.sent_at == now);
                        assert_eq!(sent.number, board.count);
                    }
                }
                6 => {
                    let last = board.last().expect("there is one");
                    board.split_last(last.start + dice.below(last.len() + 2));
                    assert_eq!(board.last().map(|t| t.end), Some(last.end));
                }
                _ => {}
            }
            check(&board, told);
        }
    }
}

/// Both parts of a split segment keep its state; a split at either end changes nothing.
#[test]
fn both_parts_of_a_segment_are_what_it_was() {
    let split = |at: u64, change: fn(&mut Scoreboard)| {
        let mut board = Scoreboard::default();
        board.sent(octets(1, 101), Instant::ZERO);
        change(&mut board);
        board.split_last(Offset::new(at));
        check(&board, board.delivered());
        (
            board.segments(),
            board.sacked_segments(),
            board.lost_segments(),
        )
    };
    assert_eq!(split(51, |_| {}), (2, 0, 0));
    assert_eq!(
        split(51, |board| board.sacked(octets(1, 101), |_| {})),
        (2, 2, 0)
    );
    assert_eq!(split(51, |board| board.judge(|_| Judged::Lost)), (2, 0, 2));
    assert_eq!(split(1, |_| {}), (1, 0, 0));
    assert_eq!(split(101, |_| {}), (1, 0, 0));
}

/// NextSeg, rules 3 and 4, and their answers after the peer reneges (RFC 2018, section 8).
#[test]
fn the_doubtful_and_the_last_are_told() {
    let mut board = Scoreboard::default();
    for start in [1, 101, 201, 301] {
        board.sent(octets(start, start + 100), Instant::ZERO);
    }
    assert_eq!(board.first_doubtful(), None);
    board.sacked(octets(201, 301), |_| {});
    assert_eq!(board.first_doubtful(), Some(octets(1, 101)));
    board.sent_again(octets(1, 101), Instant::ZERO);
    // Both copies may be in flight.
    assert_eq!(board.pipe(), 400);
    assert_eq!(board.first_doubtful(), Some(octets(101, 201)));
    board.judge(|_| Judged::Lost);
    assert_eq!(board.first_doubtful(), None);
    assert_eq!(board.last_unsacked(), Some(octets(301, 401)));
    board.sacked(octets(301, 401), |_| {});
    assert_eq!(board.last_unsacked(), Some(octets(101, 201)));
    // The peer acknowledges up to the segment it SACKed, but not that segment.
    board.acked(Offset::new(201), |_| {});
    board.mistrust_a_reneging_peer();
    assert_eq!((board.sacked_segments(), board.pipe()), (0, 200));
    assert_eq!(board.first_doubtful(), None);
    assert_eq!(board.last_unsacked(), Some(octets(301, 401)));
}
