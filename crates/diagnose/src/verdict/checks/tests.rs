//! Single checks, at the bounds that they document.

use super::{at_once, largest_flight, loss, own_period, relay, tickets, upon_release};
use crate::findings::tests::hold;
use crate::flow::half::tests::changed;
use crate::flow::half::{Half, Resent};
use crate::flow::hold::Hold;
use crate::flow::mark::Mark;
use crate::verdict::evidence::Evidence;
use crate::verdict::examine::{self, Ruling};
use crate::verdict::tests::{behind, evidence, ruling};

const MS: i64 = 1_000_000;

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
    let relay = Ruling::RuledOut(&relay::CHECK);
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
    let periodic = Ruling::RuledOut(&own_period::CHECK);
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
    assert_eq!(ruled(1000), Ruling::RuledOut(&tickets::CHECK));
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
        .filter(|name| name != "mod" && name != "tests")
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

/// Collects the files in a folder and below it.
fn files(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

/// A check stands in this folder and nowhere else, so that whoever reads it has seen every place where a hold is demoted: a
/// tier follows from the answers of checks alone (`checked.rs`), and only a check counts as a lookalike (`RuledOut::add`).
#[test]
fn there_is_no_check_elsewhere() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    files(&source, &mut found);
    assert!(found.len() > 50);
    for path in found {
        let inside = path.strip_prefix(&source).expect("inside");
        let text = std::fs::read_to_string(&path).expect("text");
        let is_check = text.contains(concat!(": Check = ", "Check {"));
        let own = inside.starts_with("verdict/checks") && !inside.ends_with("tests.rs");
        assert!(own || !is_check, "{} has a check", inside.display());
        // Who decides does so by a check: a lookalike is named by checks, by what counts them and by what speaks of them.
        let names = text.contains(concat!("Effect::", "RulesOut(Lookalike"));
        assert!(own || !names, "{} rules out", inside.display());
    }
}

/// Whoever reads this folder knows every place where a hold is demoted: a check that is asked elsewhere than in `examine.rs`
/// names the file.
#[test]
fn a_check_names_the_files_that_ask_it() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let text = |path: &std::path::Path| std::fs::read_to_string(path).expect("text");
    let mut found = Vec::new();
    files(&source, &mut found);
    let mut asked = 0;
    for path in found {
        let inside = path.strip_prefix(&source).expect("inside");
        let name = inside
            .file_name()
            .and_then(|it| it.to_str())
            .expect("a name");
        // These write down what was said.
        let writes = ["ledger.rs", "connections.rs", "ruled_out.rs"].contains(&name);
        let own = inside.starts_with("verdict/checks") || name == "examine.rs";
        if own || writes || name == "tests.rs" {
            continue;
        }
        for check in text(&path).rsplit("::CHECK").skip(1) {
            let word = check
                .rsplit(|c: char| !c.is_alphanumeric() && c != '_')
                .next();
            let file = source.join(format!("verdict/checks/{}.rs", word.expect("a name")));
            let head: String = text(&file)
                .lines()
                .take_while(|line| line.starts_with("//!"))
                .collect();
            assert!(
                head.contains(name),
                "{} does not name {name}",
                file.display()
            );
            asked += 1;
        }
    }
    assert!(asked > 20, "{asked}");
}
