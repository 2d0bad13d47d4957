//! What becomes of a hold, at the bounds that the judge documents.

use super::checks::{at_once, largest_flight, loss, upon_release};
use super::evidence::{Evidence, TurnSeen};
use super::examine::{self, Ruling};
use super::lookalikes::Lookalike;
use crate::findings::tests::hold;
use crate::flow::half::tests::{changed, opened_with};
use crate::flow::half::{Half, Resent, Turn};
use crate::flow::hold::Hold;
use crate::flow::mark::Mark;
use tinygram_stalls::Kind;
use tinygram_stalls::thresholds::is_on_timer;

const MS: i64 = 1_000_000;

/// Returns a sender behind a way of so many milliseconds that its handshake measured.
fn behind(way_ms: u32) -> Half {
    changed(opened_with([4, 8, 0, 0]), |half| {
        half.path.handshake_ns = way_ms * 1_000_000;
        half.path.ack_min_ns = way_ms * 1_000_000;
        half.tally.acks = 10;
    })
}

fn evidence(half: &Half) -> Evidence<'_> {
    Evidence {
        half,
        blur_ns: 0,
        answered_ns: Some(1000 * MS),
        takes_turns: false,
        never_unasked: false,
        answers_ns: 0,
        relayed: false,
        is_private: false,
        delays_for_longer: false,
        ledger: None,
    }
}

/// Returns what becomes of a hold, and its kind.
fn ruling(evidence: &Evidence<'_>, hold: &Hold) -> (Ruling, Option<Kind>) {
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
        Ruling::RuledOut(lookalike) => lookalike.name().to_owned(),
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
            Ruling::RuledOut(Lookalike::SlowLink)
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
        Ruling::RuledOut(lookalike) => Some(lookalike),
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
        Ruling::RuledOut(Lookalike::Relay)
    ));
}

/// What the capturing host's own kernel sends to a relay, that kernel held.
#[test]
fn a_relay_stands_for_the_far_end_alone() {
    let half = behind(1);
    let ruled = |is_private, way_us: i64| {
        let evidence = Evidence {
            relayed: true,
            is_private,
            ..evidence(&half)
        };
        let hold = Hold {
            sender_distance_ns: Some(way_us * 1000),
            ..hold()
        };
        ruling(&evidence, &hold).0
    };
    assert_eq!(ruled(true, 40), Ruling::Accused);
    let relay = Ruling::RuledOut(Lookalike::Relay);
    assert_eq!((ruled(true, 41), ruled(false, 40)), (relay, relay));
}

/// Data 200 ms after the data before it, whatever its ACK does, keeps a clock of its own; data that follows the ACK as
/// closely each time does not, nor what left as sharply as can be measured.
#[test]
fn a_clock_of_its_own_varies_less_than_the_acks() {
    let seen = |reaction_us: &dyn Fn(i64) -> i64| {
        changed(behind(1), |half| {
            for n in 0..8 {
                let wait_us = 199_000 + 200 * n;
                let odds = half.odds_of_mut(false);
                odds.hit(300_000, true, 200 * MS);
                odds.came_behind(wait_us * 1000, reaction_us(wait_us) * 1000);
            }
        })
    };
    let ruled = |half: &Half, late_us: i64| {
        let hold = Hold {
            sender_distance_ns: Some(0),
            ack_wait_ns: 200 * MS,
            reaction_ns: late_us * 1000,
            off_ns: late_us * 1000,
            ..hold()
        };
        ruling(&evidence(half), &hold).0
    };
    let clock = seen(&|wait_us| 200_500 - wait_us);
    let periodic = Ruling::RuledOut(Lookalike::PeriodicSender);
    assert_eq!(ruled(&clock, 500), periodic);
    assert_eq!(ruled(&clock, 60), Ruling::Accused);
    let follows = seen(&|wait_us| 300 + wait_us % 100);
    assert_eq!(ruled(&follows, 500), Ruling::Accused);
}

/// A sender that has two segments more in flight at another time has no buffer of that size.
#[test]
fn more_in_flight_at_another_time_is_no_small_buffer() {
    let refuted = |peak_flight, room| {
        let half = changed(behind(1), |half| half.peak_flight = peak_flight);
        let hold = Hold {
            flight: 2000,
            room,
            ..hold()
        };
        largest_flight::is_exceeded(&half, &hold)
    };
    assert!(refuted(4000, 60_000) && !refuted(3999, 60_000));
    // A receiver's window may have been larger before.
    let small = Hold {
        flight: 500,
        room: 0,
        ..hold()
    };
    let half = changed(behind(1), |half| half.peak_flight = 60_000);
    assert!(!largest_flight::is_exceeded(&half, &small));
}

/// A client that asks a second later has not waited for tickets.
#[test]
fn tickets_are_awaited_by_who_goes_on_at_once() {
    let half = behind(1);
    let ruled = |answered_ms| {
        let evidence = Evidence {
            answered_ns: Some(40 * MS + answered_ms * MS),
            ..evidence(&half)
        };
        let tickets = true;
        ruling(&evidence, &Hold { tickets, ..hold() }).0
    };
    assert_eq!(ruled(4), Ruling::Accused);
    assert_eq!(ruled(1000), Ruling::RuledOut(Lookalike::NobodyWaited));
}

/// A sender on its own clock kept somebody waiting if the answer came at once: within 5 ms, four ways, or
/// the way and one and a half of the usual time for an answer.
#[test]
fn an_answer_at_once_answers_the_segment_before_it() {
    let at_once = |way_us: u32, answers_ns, after_ns| {
        let half = changed(Half::default(), |half| {
            half.path.handshake_ns = way_us * 1000;
        });
        let evidence = Evidence {
            answered_ns: Some(40 * MS + after_ns),
            answers_ns,
            ..evidence(&half)
        };
        let held = Mark {
            frame: 3,
            time_ns: 40 * MS,
        };
        evidence.answered_at_once(&Hold { held, ..hold() })
    };
    assert!(at_once(0, 0, 5 * MS - 1) && !at_once(0, 0, 5 * MS));
    assert!(at_once(2000, 0, 8 * MS - 1) && !at_once(2000, 0, 8 * MS));
    assert!(at_once(2000, 20 * MS, 32 * MS - 1) && !at_once(2000, 20 * MS, 32 * MS));
    assert!(at_once(0, 400 * MS, 500 * MS - 1) && !at_once(0, 400 * MS, 500 * MS));
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
        Ruling::RuledOut(lookalike) => lookalike,
        _ => panic!("no kind"),
    };
    assert_eq!(ruled(999), Lookalike::ZeroWindow);
    assert_eq!(ruled(1000), Lookalike::Uncorroborated);
}

/// What was sent again had arrived before, if its receiver says so, and delays ACKs for so long.
#[test]
fn what_was_sent_again_may_have_been_lost() {
    let half = |delayed_acks| {
        changed(behind(1), |half| {
            half.tally.delayed_acks = delayed_acks;
            half.path.delayed_ns = 270_000_000;
        })
    };
    let lost = |half: &Half, needlessly, after_ms| {
        let resent = Resent {
            mark: Mark::default(),
            after_ns: after_ms * MS,
            needlessly,
        };
        loss::is(
            &evidence(half),
            &Hold {
                resent: Some(resent),
                ..hold()
            },
        )
    };
    assert!(!loss::is(&evidence(&half(3)), &hold()));
    assert!(lost(&half(3), false, 200));
    assert!(!lost(&half(3), true, 540) && lost(&half(3), true, 541));
    assert!(!lost(&half(2), true, 541));
}

/// Within 240 us, three times what the capture point blurs, or a 200th of the wait; or most others are, or follow
/// ACKs that vary, behind a late ACK; or it was ready.
#[test]
fn what_was_held_leaves_upon_its_release() {
    let half = behind(5);
    let left = |half: &Half, late_us: i64, blur_ns: i64| {
        let late_ns = late_us * 1000;
        let hold = Hold {
            sender_distance_ns: Some(0),
            reaction_ns: late_ns,
            off_ns: late_ns,
            more_ready: false,
            prompt: false,
            ack_wait_ns: 36 * MS,
            ..hold()
        };
        upon_release::is(&Evidence::of(half, blur_ns), &hold)
    };
    assert!(left(&half, 240, 0) && !left(&half, 241, 0));
    assert!(left(&half, 600, 200_000) && !left(&half, 601, 200_000));
    let steady = changed(half.clone(), |half| {
        for _ in 0..4 {
            half.odds_of_mut(false).hit(60_000, true, 40 * MS);
        }
    });
    assert!(left(&steady, 3000, 0));
    let following = changed(half.clone(), |half| {
        for n in 0..4 {
            let odds = half.odds_of_mut(false);
            odds.hit(2 * MS, true, 40 * MS);
            odds.came_behind((40 + n) * MS, 2 * MS);
        }
    });
    assert!(left(&following, 2000, 0) && !left(&following, 2001, 0));
    let long = |late_us: i64| Hold {
        sender_distance_ns: Some(0),
        reaction_ns: late_us * 1000,
        off_ns: late_us * 1000,
        more_ready: false,
        ack_wait_ns: 200 * MS,
        ..hold()
    };
    let left_long = |late_us| upon_release::is(&Evidence::of(&half, 0), &long(late_us));
    assert!(left_long(1000) && !left_long(1001));
    let ready = Hold {
        reaction_ns: 9 * MS,
        off_ns: 9 * MS,
        more_ready: true,
        ..hold()
    };
    assert!(upon_release::is(&Evidence::of(&half, 0), &ready));
}

/// Beside the sender: within 90 us after the ACK and twice the way, or three times what the capture point blurs, unless
/// it was ready or the ACK was prompt. Of four holds and more, three of four decide for all.
#[test]
fn a_kernel_beside_the_capture_point_lets_go_at_once() {
    let half = behind(0);
    let after = |way_us: Option<i64>, reaction_us: i64| Hold {
        sender_distance_ns: way_us.map(|us| us * 1000),
        reaction_ns: reaction_us * 1000,
        off_ns: (reaction_us - way_us.unwrap_or(0)) * 1000,
        more_ready: false,
        prompt: false,
        ..hold()
    };
    let left = |half: &Half, hold: &Hold| at_once::is(&Evidence::of(half, 0), hold);
    assert!(left(&half, &after(Some(0), 90)) && !left(&half, &after(Some(0), 91)));
    assert!(left(&half, &after(Some(40), 170)) && !left(&half, &after(Some(40), 171)));
    assert!(left(&half, &after(Some(41), 900)) && left(&half, &after(None, 900)));
    let blurred = |us| at_once::is(&Evidence::of(&half, 50_000), &after(Some(0), us));
    assert!(blurred(150) && !blurred(151));
    let slow = after(Some(0), 200);
    let ready = Hold {
        more_ready: true,
        ..slow.clone()
    };
    let prompt = Hold {
        prompt: true,
        ..slow.clone()
    };
    assert!(left(&half, &ready) && left(&half, &prompt));
    let habit = |at_once: usize| {
        changed(half.clone(), |half| {
            for n in 0..4 {
                half.odds_of_mut(false).hit(60_000, n < at_once, 40 * MS);
            }
        })
    };
    assert!(left(&habit(3), &slow));
    assert!(!left(&habit(2), &after(Some(0), 10)));
}

/// Each check has a file of its name, asks a question, and says what either answer means.
#[test]
fn every_check_is_a_file_and_a_question() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/verdict/checks");
    let files: std::collections::BTreeSet<String> = std::fs::read_dir(folder)
        .expect("the checks")
        .filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.replace('_', "-")))
        .filter(|name| name != "mod")
        .collect();
    let names = examine::checks()
        .map(|check| check.name.to_owned())
        .collect();
    assert_eq!(files, names);
    for check in examine::checks() {
        assert!(check.asks.ends_with('?'), "{}", check.name);
        assert_ne!(check.passed, check.failed, "{}", check.name);
    }
}
