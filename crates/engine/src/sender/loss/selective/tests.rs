//! What acknowledgments show, according to RFC 6675 and RFC 2883.

use super::heard::duplicate_among;
use super::*;
use crate::options::SackBlocks;

fn octets(from: u64, to: u64) -> Span {
    Span::new(Offset::new(from), Offset::new(to))
}

/// RFC 6675, section 4, `IsLost`: three segments above it, or more than two full segments' octets.
/// After the MSS has shrunk, one segment may hold that many.
#[test]
fn a_loss_is_told_by_three_segments_or_more_than_two_segments_octets() {
    let lost = |lens: &[u64], mss| {
        let mut board = Scoreboard::default();
        board.sent(octets(1, 101), Instant::ZERO);
        let mut at = 101;
        for len in lens {
            board.sent(octets(at, at + len), Instant::ZERO);
            at += len;
        }
        board.sacked(octets(101, at), |_| {});
        mark_by_dup_thresh(&mut board, mss);
        board.lost_segments()
    };
    assert_eq!((lost(&[1, 1], 1000), lost(&[1, 1, 1], 1000)), (0, 1));
    assert_eq!(
        (lost(&[1000, 1000], 1000), lost(&[1000, 1001], 1000)),
        (0, 1)
    );
    assert_eq!((lost(&[800], 400), lost(&[801], 400)), (0, 1));
}

/// A retransmission that is lost again is left to the timeout; segments above it are not judged.
#[test]
fn a_retransmission_is_not_deemed_lost_by_what_was_sacked_before() {
    let mut board = Scoreboard::default();
    for at in 0..6 {
        board.sent(octets(1 + 100 * at, 101 + 100 * at), Instant::ZERO);
    }
    board.sent_again(octets(1, 101), Instant::ZERO);
    board.sacked(octets(201, 501), |_| {});
    mark_by_dup_thresh(&mut board, 1000);
    let lost: Vec<_> = board.iter().map(|t| t.lost).collect();
    assert_eq!(lost, [false, true, false, false, false, false]);
}

/// RFC 2883, section 4: a duplicate lies below the acknowledgment or inside the second block.
#[test]
fn a_duplicate_lies_below_the_acknowledgment_or_in_the_second_block() {
    let duplicate = |given: &[Span]| {
        let mut blocks = SackBlocks::NONE;
        for block in given {
            blocks.push(*block);
        }
        duplicate_among(&blocks, Offset::new(1000)).is_some()
    };
    assert!(!duplicate(&[]));
    assert!(duplicate(&[octets(900, 1000)]) && !duplicate(&[octets(900, 1001)]));
    let second = octets(2000, 3000);
    assert!(duplicate(&[octets(2000, 3000), second]));
    assert!(duplicate(&[octets(2100, 2200), second]));
    assert!(!duplicate(&[octets(1999, 2200), second]));
    assert!(!duplicate(&[octets(2100, 3001), second]));
    assert!(!duplicate(&[second, octets(2100, 2200)]));
}
