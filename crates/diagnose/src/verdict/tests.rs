//! What becomes of a hold, at the bounds that the judge documents.

use super::evidence::{Evidence, TurnSeen};
use super::examine::{self, Ruling};
use super::lookalikes::Lookalike;
use crate::findings::tests::hold;
use crate::flow::half::tests::{changed, opened_with};
use crate::flow::half::{Half, Turn};
use crate::flow::hold::Hold;
use crate::flow::mark::Mark;
use tinygram_stalls::Kind;
use tinygram_stalls::thresholds::is_on_timer;

const MS: i64 = 1_000_000;

/// Returns a sender behind a way of so many milliseconds that its handshake measured.
pub(super) fn behind(way_ms: u32) -> Half {
    changed(opened_with([4, 8, 0, 0]), |half| {
        half.path.handshake_ns = way_ms * 1_000_000;
        half.path.ack_min_ns = way_ms * 1_000_000;
        half.tally.acks = 10;
    })
}

pub(super) fn evidence(half: &Half) -> Evidence<'_> {
    Evidence {
        half,
        blur_ns: 0,
        answered_ns: Some(1000 * MS),
        takes_turns: false,
        never_unasked: false,
        answers_ns: 0,
        answers: 0,
        relayed: false,
        is_private: false,
        delays_for_longer: false,
        ledger: None,
    }
}

/// Returns what becomes of a hold, and its kind.
pub(super) fn ruling(evidence: &Evidence<'_>, hold: &Hold) -> (Ruling, Option<Kind>) {
    let turn = TurnSeen::default();
    let question = evidence.question(&turn, hold);
    let ruling = examine::of_a_turn(&question, &mut Vec::new());
    (ruling, question.kind)
}

/// Returns what is said of an ACK that took so long.
fn said(half: &Half, ack_wait_ns: i64) -> String {
    let hold = Hold {
        ack_wait_ns,
        ..hold()
    };
    let (ruling, kind) = ruling(&evidence(half), &hold);
    let kind = kind.map_or("nothing", Kind::name);
    match ruling {
        Ruling::Accused => format!("accused: {kind}"),
        Ruling::Suspected => format!("suspected: {kind}"),
        Ruling::RuledOut(check) => check.lookalike().name().to_owned(),
    }
}

const ACCUSED: &str = "accused: write-write-read";
const SUSPECTED: &str = "suspected: write-write-read";
/// A round trip that Nagle's rule alone may have cost.
const ROUND_TRIP: &str = "accused: nagle-round-trip";

/// Below 10 ms beyond the way an ACK is prompt; below 20 it is late for another reason than a timer.
#[test]
fn ten_and_twenty_milliseconds_beyond_the_way_part_prompt_odd_and_delayed() {
    let half = behind(5);
    assert_eq!(said(&half, 15 * MS - 1), ROUND_TRIP);
    assert_eq!(said(&half, 15 * MS), "late-ack");
    assert_eq!(said(&half, 25 * MS - 1), "late-ack");
    assert_eq!(said(&half, 25 * MS), ACCUSED);
}

/// Beyond a long way an ACK is late by a quarter of it, unless it is late by a known timer.
#[test]
fn a_quarter_of_a_long_way_is_no_delay_but_for_a_timers() {
    let half = behind(400);
    assert_eq!(said(&half, 400 * MS + 95 * MS - 1), ROUND_TRIP);
    assert_eq!(said(&half, 400 * MS + 95 * MS), ACCUSED);
    assert_eq!(said(&half, 400 * MS + 40 * MS), ACCUSED);
    assert_eq!(said(&half, 400 * MS + 70 * MS), ROUND_TRIP);
    // Less than the way itself: perhaps it has become slower.
    assert_eq!(said(&half, 400 * MS + 120 * MS), SUSPECTED);
}

/// Linux's 40 ms, BSD's 100, Windows' 200, each with what it may be late by.
#[test]
fn timers_in_use_are_known_by_their_length() {
    for (from_ms, to_ms) in [(33, 56), (95, 112), (185, 220)] {
        assert!(is_on_timer(from_ms * MS) && is_on_timer((to_ms + 1) * MS - 1));
        assert!(!is_on_timer(from_ms * MS - 1) && !is_on_timer((to_ms + 1) * MS));
    }
}

/// A flight of 10,000 bytes over a link that takes 2 us for a byte: 20 ms of the delay are its own.
#[test]
fn what_the_link_takes_for_the_flight_is_no_delay() {
    let half = changed(behind(0), |half| half.path.pace = 2000 * 16);
    let ruled = |ack_wait_ns| {
        let hold = Hold {
            ack_wait_ns,
            flight: 10_000,
            ..hold()
        };
        matches!(
            ruling(&evidence(&half), &hold).0,
            Ruling::RuledOut(check) if check.lookalike() == Lookalike::SlowLink
        )
    };
    assert!(ruled(40 * MS - 1));
    assert!(!ruled(40 * MS));
}

/// What RFC 1122 does not let wait was half as late.
#[test]
fn a_receiver_whose_prompt_acks_are_late_delays_nothing() {
    let half = |prompt_ms: u32| {
        changed(behind(4), |half| {
            half.path.prompt_ns = prompt_ms * 1_000_000;
        })
    };
    assert_eq!(said(&half(24), 44 * MS), ACCUSED);
    assert_eq!(said(&half(25), 44 * MS), "late-ack");
}

/// Where nothing but late ACKs tells of the way, three of them are no witnesses against a fourth if the
/// handshake was quick; without a handshake a timer's length makes it possible, no more.
#[test]
fn acks_alone_make_a_delay_possible_at_most() {
    // Every ACK took 60 ms, which is no timer's.
    let half = |handshake_ms: u32, acks: u32| {
        changed(Half::default(), |half| {
            half.path.handshake_ns = match handshake_ms {
                0 => u32::MAX,
                ms => ms * 1_000_000,
            };
            half.path.ack_min_ns = 60_000_000;
            half.tally.acks = acks;
        })
    };
    assert_eq!(said(&half(1, 3), 61 * MS), ACCUSED);
    assert_eq!(said(&half(1, 4), 61 * MS), SUSPECTED);
    assert_eq!(said(&half(1, 4), 41 * MS), ACCUSED);
    // 82 ms are 22 beyond 60, and less than half of them.
    assert_eq!(said(&half(0, 4), 82 * MS), "late-ack");
    assert_eq!(said(&half(0, 4), 119 * MS), "late-ack");
    assert_eq!(said(&half(0, 4), 120 * MS), ACCUSED);
    assert_eq!(said(&half(0, 4), 60 * MS + 40 * MS), ACCUSED);
    // Nothing at all tells of the way.
    assert_eq!(said(&Half::default(), 40 * MS), SUSPECTED);
    assert_eq!(said(&Half::default(), 60 * MS), "late-ack");
    // No timer is half a second long.
    let slow = changed(half(600, 4), |half| half.path.ack_min_ns = 600_000_000);
    assert_eq!(said(&slow, 1100 * MS - 1), SUSPECTED);
    assert_eq!(said(&slow, 1100 * MS), "late-ack");
}

/// Three late ACKs of one length, within a tenth, make a timer of their own.
#[test]
fn a_receivers_own_timer_is_known_by_its_other_late_acks() {
    let half = |delayed_acks, delayed_ms: u32| {
        changed(Half::default(), |half| {
            half.tally.delayed_acks = delayed_acks;
            half.path.delayed_ns = delayed_ms * 1_000_000;
        })
    };
    let own = |half: &Half, ack_wait_ns| {
        evidence(half).on_own_timer(&Hold {
            ack_wait_ns,
            ..hold()
        })
    };
    assert!(own(&half(3, 70), 70 * MS) && !own(&half(2, 70), 70 * MS));
    assert!(own(&half(3, 70), 77 * MS - 1) && !own(&half(3, 70), 77 * MS));
    assert!(own(&half(3, 70), 63 * MS + 1) && !own(&half(3, 70), 63 * MS));
    assert!(own(&half(3, 21), 21 * MS) && !own(&half(3, 20), 20 * MS));
}

/// Who holds would not have sent what defied, and who goes on by a clock kept nobody waiting.
#[test]
fn who_does_not_hold_and_who_goes_on_alone_is_not_accused() {
    let ruled = |half: &Half, hold: &Hold| match ruling(&evidence(half), hold).0 {
        Ruling::RuledOut(check) => Some(check.lookalike()),
        _ => None,
    };
    let mut half = behind(1);
    half.odds_of_mut(false).hit(0, true, 40 * MS);
    half.odds_of_mut(true).hit(0, true, 40 * MS);
    let defied = |defied| Hold { defied, ..hold() };
    assert_eq!(ruled(&half, &defied(2)), None);
    assert_eq!(ruled(&half, &defied(3)), Some(Lookalike::NotHolding));
    // Or right behind the held segment: more often than it held, and twice.
    let ten_times_after = |hits: u32| {
        let half = changed(behind(1), |half| {
            half.tally.defied = 10;
            (0..hits).for_each(|_| half.odds_of_mut(false).hit(0, true, 40 * MS));
        });
        ruled(&half, &defied(0)) == Some(Lookalike::NotHolding)
    };
    assert!(ten_times_after(9) && !ten_times_after(10));
    let twice = |since| {
        let half = changed(behind(1), |half| half.tally.defied = since);
        ruled(&half, &defied(0)) == Some(Lookalike::NotHolding)
    };
    assert!(twice(2) && !twice(1));
    let clocked = |self_clocked, answers| {
        changed(half.clone(), |half| {
            half.tally.self_clocked = self_clocked;
            half.tally.answers = answers;
        })
    };
    assert_eq!(ruled(&clocked(5, 3), &hold()), None);
    assert_eq!(
        ruled(&clocked(6, 3), &hold()),
        Some(Lookalike::PeriodicSender)
    );
    let relayed = Evidence {
        relayed: true,
        ..evidence(&half)
    };
    assert!(matches!(
        ruling(&relayed, &hold()).0,
        Ruling::RuledOut(check) if check.lookalike() == Lookalike::Relay
    ));
}

/// A sender on its own clock kept somebody waiting if the answer came at once: within 5 ms, four ways, or
/// the way and one and a half of the usual time for an answer.
#[test]
fn an_answer_at_once_answers_the_segment_before_it() {
    let seldom = |self_clocked, way_us: u32, answers_ns, after_ns| {
        let half = changed(Half::default(), |half| {
            half.path.handshake_ns = way_us * 1000;
            half.tally.self_clocked = self_clocked;
        });
        let evidence = Evidence {
            answered_ns: Some(40 * MS + after_ns),
            answers_ns,
            answers: 3,
            ..evidence(&half)
        };
        let held = Mark {
            frame: 3,
            time_ns: 40 * MS,
        };
        evidence.answered_at_once(&Hold { held, ..hold() })
    };
    let at_once = |way_us, answers_ns, after_ns| seldom(0, way_us, answers_ns, after_ns);
    assert!(at_once(0, 0, 5 * MS - 1) && !at_once(0, 0, 5 * MS));
    assert!(at_once(2000, 0, 8 * MS - 1) && !at_once(2000, 0, 8 * MS));
    assert!(at_once(2000, 20 * MS, 32 * MS - 1) && !at_once(2000, 20 * MS, 32 * MS));
    assert!(at_once(0, 400 * MS, 500 * MS - 1) && !at_once(0, 400 * MS, 500 * MS));
    // A peer that leaves most turns unanswered has no usual time: 7 turns of the sender's own for 3 of its words.
    assert!(seldom(6, 0, 400 * MS, 500 * MS - 1) && !seldom(7, 0, 400 * MS, 5 * MS));
    assert!(seldom(7, 0, 400 * MS, 5 * MS - 1));
    let half = Half::default();
    let unanswered = Evidence {
        answered_ns: None,
        ..evidence(&half)
    };
    assert!(!unanswered.answered_at_once(&hold()));
    let clocked = changed(behind(1), |half| half.turns.turn = Turn::SelfClocked);
    assert_eq!(said(&clocked, 41 * MS), "nobody-waited");
}

/// A full segment that no rule explains waited for the window, or for something that nobody knows.
#[test]
fn what_no_kind_explains_is_the_windows_or_nobodys() {
    let half = behind(1);
    let full = Hold {
        held_len: 1000,
        flight: 70_000,
        fresh: false,
        ..hold()
    };
    let ruled = |room| match ruling(
        &evidence(&half),
        &Hold {
            room,
            ..full.clone()
        },
    )
    .0
    {
        Ruling::RuledOut(check) => check.lookalike(),
        _ => panic!("no kind"),
    };
    assert_eq!(ruled(999), Lookalike::ZeroWindow);
    assert_eq!(ruled(1000), Lookalike::Uncorroborated);
}
