//! RFC 8985, section 6, worked by hand in milliseconds.

use super::*;
use crate::offset::Span;

fn at_ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// Returns segment `number`, of a thousand octets.
fn segment(number: u64) -> Span {
    Span::new(
        Offset::new(1 + 1000 * number),
        Offset::new(1001 + 1000 * number),
    )
}

#[derive(Default)]
struct Path {
    board: Scoreboard,
    rack: Rack,
    in_recovery: bool,
    srtt: Option<Duration>,
}

impl Path {
    fn sends(&mut self, at: u64, numbers: impl IntoIterator<Item = u64>) -> &mut Self {
        for number in numbers {
            self.board.sent(segment(number), at_ms(at));
        }
        self
    }

    fn sends_again(&mut self, at: u64, number: u64) -> &mut Self {
        self.board.sent_again(segment(number), at_ms(at));
        self
    }

    fn sacks(&mut self, at: u64, number: u64) -> &mut Self {
        self.sacks_with_echo(at, number, None)
    }

    fn sacks_with_echo(&mut self, at: u64, number: u64, age: Option<Duration>) -> &mut Self {
        let Self { board, rack, .. } = self;
        let fack = rack.fack();
        board.sacked(segment(number), |sent| {
            rack.delivered(sent, at_ms(at), age, fack);
        });
        self
    }

    /// Acknowledges everything up to the end of this segment.
    fn acks(&mut self, at: u64, number: u64) -> &mut Self {
        let Self { board, rack, .. } = self;
        let ack = segment(number).end;
        let fack = rack.fack();
        board.acked(ack, |sent| rack.delivered(sent, at_ms(at), None, fack));
        self
    }

    fn standing(&self, at: Instant) -> Standing {
        Standing {
            now: at,
            srtt: self.srtt,
            in_recovery: self.in_recovery,
        }
    }

    /// Returns the segments that are lost by then, and when to look again.
    fn lost(&mut self, at: u64) -> (Vec<u64>, Option<Instant>) {
        let standing = self.standing(at_ms(at));
        let again = self.rack.detect_loss(&mut self.board, &standing);
        (self.all_lost(), again)
    }

    fn all_lost(&self) -> Vec<u64> {
        let lost = self.board.iter().filter(|sent| sent.lost);
        lost.map(|sent| (sent.span.start.get() - 1) / 1000)
            .collect()
    }
}

/// Step 5: an overtaken segment is lost once it has been out for the newest round trip plus a
/// quarter of the least.
#[test]
fn what_was_overtaken_is_given_a_quarter_of_the_least_round_trip() {
    let mut path = Path::default();
    path.sends(0, 0..3).sacks(100, 1);
    assert_eq!(path.lost(124), (vec![], Some(at_ms(125))));
    // A segment that left after the delivered one is not judged.
    assert_eq!(path.lost(125), (vec![0], None));
    path.sends(200, [3, 4]).sacks(240, 4);
    // The least round trip is now 40 ms, and the newest one took 40 ms.
    assert_eq!(path.lost(249), (vec![0, 2], Some(at_ms(250))));
    assert_eq!(path.lost(250), (vec![0, 2, 3], None));
}

/// Step 1: the least round trip of the last 300 seconds, because routes change.
#[test]
fn the_least_round_trip_is_remembered_for_five_minutes() {
    let window_after = |at: u64| {
        let mut path = Path::default();
        path.sends(0, [0]).acks(100, 0);
        path.sends(1000, [1]).acks(1080, 1);
        path.sends(at - 200, [2, 3]).sacks(at, 3);
        let (_, again) = path.lost(at);
        again.expect("it waits").since(at_ms(at)).as_nanos() / 1_000_000
    };
    assert_eq!(window_after(5000), 20);
    // A later sample of 80 ms does not renew it.
    assert_eq!(window_after(301_079), 20);
    assert_eq!(window_after(301_080), 50);
}

/// Step 2: the ACK of a segment sent twice may be that of the original.
#[test]
fn a_retransmission_counts_if_its_ack_is_no_quicker_than_any() {
    let lost = |at: u64, age: Option<Duration>| {
        let mut path = Path::default();
        path.sends(0, [0]).sacks(100, 0);
        path.sends(200, [1, 2]).sends_again(400, 1);
        path.sacks_with_echo(at, 1, age).lost(at).0
    };
    assert_eq!((lost(499, None), lost(500, None)), (vec![], vec![2]));
    // The echo belongs to the original if it is older than the retransmission by more than a tick.
    let age = |nanos: u64| Some(Duration::from_millis(101) + Duration::from_nanos(nanos));
    assert_eq!((lost(500, age(0)), lost(500, age(1))), (vec![2], vec![]));
    // A retransmission gives no sample of the least round trip.
    let mut path = Path::default();
    path.sends(0, [0]).sends_again(50, 0).sacks(60, 0);
    assert_eq!(path.rack.min_rtt, None);
}

/// Step 3: reordering is a delivery below the highest segment delivered; a second delivery of one
/// segment does not count.
#[test]
fn reordering_is_seen_where_a_lower_one_comes_later() {
    let mut path = Path::default();
    path.sends(0, 0..8).sacks(100, 5);
    let again = *path.board.iter().nth(5).expect("it was sent");
    let fack = path.rack.fack();
    path.rack.delivered(&again, at_ms(100), None, fack);
    assert_eq!(
        (path.rack.reordering_seen, path.rack.reordering()),
        (false, 0)
    );
    path.sacks(101, 4);
    assert_eq!(
        (path.rack.reordering_seen, path.rack.reordering()),
        (true, 2000)
    );
    path.sacks(102, 1).sacks(103, 2);
    assert_eq!(path.rack.reordering(), 5000);
    path.sacks(104, 6);
    assert_eq!(path.rack.reordering(), 5000);
    // A late delivery of a retransmission does not count.
    let mut path = Path::default();
    path.sends(0, 0..3)
        .sends_again(10, 0)
        .sacks(200, 2)
        .sacks(211, 0);
    assert!(!path.rack.reordering_seen);
}

/// Step 4: until reordering is seen, three SACKed segments or a recovery reduce the window to zero.
#[test]
fn without_reordering_three_segments_or_a_recovery_leave_no_patience() {
    let lost = |sacked: u64, in_recovery, reordered| {
        let mut path = Path {
            in_recovery,
            ..Path::default()
        };
        path.sends(0, 0..6);
        for number in 1..=sacked {
            path.sacks(100, number);
        }
        path.rack.reordering_seen = reordered;
        path.lost(100).0
    };
    assert_eq!(
        (lost(2, false, false), lost(3, false, false)),
        (vec![], vec![0])
    );
    assert_eq!(lost(1, true, false), [0]);
    assert_eq!(
        (lost(3, false, true), lost(1, true, true)),
        (vec![], vec![])
    );
}

/// A DSACK widens the window once per round trip; after sixteen recoveries without one it is narrow
/// again.
#[test]
fn a_needless_retransmission_widens_the_window_for_sixteen_recoveries() {
    let patience = |rack: &Rack, srtt: Option<u64>| {
        let mut path = Path {
            rack: *rack,
            srtt: srtt.map(Duration::from_millis),
            ..Path::default()
        };
        path.sends(0, [0, 1]).sacks(100, 1);
        let (_, again) = path.lost(100);
        again.expect("it waits").since(at_ms(100)).as_nanos() / 1_000_000
    };
    let mut rack = Rack::default();
    let offset = Offset::new;
    rack.duplicate_reported(offset(1000), offset(5000));
    assert_eq!(patience(&rack, None), 50);
    // In the same round trip, and then in the next.
    rack.duplicate_reported(offset(4999), offset(9000));
    assert_eq!(patience(&rack, None), 50);
    rack.duplicate_reported(offset(5000), offset(9000));
    assert_eq!(patience(&rack, None), 75);
    // "Bounded by SRTT."
    assert_eq!(
        (patience(&rack, Some(60)), patience(&rack, Some(80))),
        (60, 75)
    );
    for _ in 0..15 {
        rack.recovery_ended();
    }
    assert_eq!(patience(&rack, None), 75);
    let mut again = rack;
    rack.recovery_ended();
    assert_eq!(patience(&rack, None), 25);
    // A DSACK in time keeps it wide for sixteen more.
    again.duplicate_reported(offset(9000), offset(9500));
    again.recovery_ended();
    assert_eq!(patience(&again, None), 100);
}

/// Section 6.3: after a timeout the first segment is lost, and those that left long enough ago.
#[test]
fn a_time_out_spares_what_left_recently() {
    let mut path = Path::default();
    path.sends(0, [0]).sacks(100, 0);
    path.sends(1000, [1, 2]).sends(1900, [3]).sends(1876, [4]);
    path.board.acked(Offset::new(1001), |_| {});
    let standing = path.standing(at_ms(2000));
    // 100 ms of a round trip plus a quarter: what left by 1875 is overdue.
    path.rack
        .timed_out(&mut path.board, Offset::new(1001), &standing);
    assert_eq!(path.all_lost(), [1, 2]);
    let standing = path.standing(at_ms(2001));
    path.rack
        .timed_out(&mut path.board, Offset::new(1001), &standing);
    assert_eq!(path.all_lost(), [1, 2, 4]);
}
