use std::vec;
use std::vec::Vec;

use super::*;
use crate::debt::GRACE;

/// Plays intervals on a socket, each with this many writes of 100 bytes, and returns the decisions.
fn decided(memory: &mut Memory, rules: &Rules, intervals: &[usize]) -> Vec<Vec<Decision>> {
    let interval = |memory: &mut Memory, writes: usize| {
        (0..writes)
            .map(|nth| {
                memory.on_write(
                    rules,
                    Write {
                        len: 100,
                        same_interval: nth > 0,
                    },
                )
            })
            .collect()
    };
    intervals
        .iter()
        .map(|&writes| interval(memory, writes))
        .collect()
}

/// As [`decided`]; returns for each write whether it waited for others or others waited for it.
fn held(memory: &mut Memory, rules: &Rules, intervals: &[usize]) -> Vec<Vec<bool>> {
    decided(memory, rules, intervals)
        .iter()
        .map(|interval| interval.iter().map(|one| *one != Decision::Pass).collect())
        .collect()
}

/// Returns the number of segments of an answer: each write that is not held ends a segment, and so
/// does the wait.
fn segments(answer: &[Decision]) -> usize {
    let ended = answer.iter().filter(|one| **one != Decision::Hold).count();
    ended + usize::from(answer.last() == Some(&Decision::Hold))
}

/// Returns a socket that has written twice in an interval.
fn chatty(rules: &Rules) -> Memory {
    let mut memory = Memory::default();
    held(&mut memory, rules, &[2]);
    memory
}

#[test]
fn a_socket_that_answers_in_one_piece_is_never_held() {
    let mut memory = Memory::default();
    let all = held(&mut memory, &Rules::default(), &[1; 1000]);
    assert!(!all.into_iter().flatten().any(|held| held));
}

#[test]
fn a_chatty_socket_is_held_for_ever() {
    let rules = Rules::default();
    let all = held(&mut chatty(&rules), &rules, &[3; 1000]);
    assert!(all.into_iter().flatten().all(|held| held));
}

#[test]
fn after_eight_lone_writes_a_socket_passes_until_it_has_company() {
    let rules = Rules::default();
    let mut memory = chatty(&rules);
    let lone = held(&mut memory, &rules, &[1; 20]);
    let count = lone.iter().flatten().filter(|held| **held).count();
    assert_eq!(count, usize::from(HOPE));
    // The first of two writes has already left when the second shows that it was not alone.
    assert_eq!(
        held(&mut memory, &rules, &[2, 2]),
        [vec![false, true], vec![true, true]]
    );
}

#[test]
fn the_last_of_a_usual_number_takes_the_others_along() {
    use Decision::{Complete, Hold};
    let rules = Rules::default();
    let mut memory = chatty(&rules);
    let before = decided(&mut memory, &rules, &[3; 1 + CHANGE_DOUBT as usize]);
    assert!(before.iter().flatten().all(|one| *one == Hold));
    assert_eq!(
        decided(&mut memory, &rules, &[3, 2, 3]),
        [
            vec![Hold, Hold, Complete],
            vec![Hold, Hold],
            vec![Hold, Hold, Hold]
        ],
        "and after one of another length it must be learned anew"
    );
}

#[test]
fn an_answer_that_goes_on_is_held_again_and_the_number_doubted_for_long() {
    use Decision::{Complete, Hold};
    let rules = Rules::default();
    let mut memory = chatty(&rules);
    decided(&mut memory, &rules, &[3; 20]);
    assert_eq!(
        decided(&mut memory, &rules, &[5]),
        [vec![Hold, Hold, Complete, Hold, Hold]]
    );
    let after = decided(&mut memory, &rules, &[3; 100]);
    let doubted = after
        .iter()
        .take_while(|one| segments(one) == 1 && one[2] == Hold);
    assert_eq!(doubted.count(), 1 + usize::from(SURPRISE_DOUBT));
}

#[test]
fn no_pattern_of_answers_costs_a_segment_in_sixty_five() {
    let rules = Rules::default();
    let mut dice = 1_u64;
    let mut roll = || {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        dice >> 40
    };
    let mut patterns: Vec<Vec<usize>> = vec![
        [10, 11].repeat(5_000),
        [[10; 9].as_slice(), &[11]].concat().repeat(1_000),
        [[10; 64].as_slice(), &[11]].concat().repeat(200),
        [[10; 65].as_slice(), &[11]].concat().repeat(200),
        [[10; 20], [11; 20]].concat().repeat(300),
        (2..300).collect(),
        vec![300; 1_000],
    ];
    patterns.extend([2, 5, 9, 20, 100].map(|rarity| {
        let mut answer = || 10 + usize::from(roll() % rarity == 0);
        (0..10_000).map(|_| answer()).collect()
    }));
    for pattern in patterns {
        let all = decided(&mut chatty(&rules), &rules, &pattern);
        let more: usize = all.iter().map(|answer| segments(answer) - 1).sum();
        let bound = pattern.len() / (1 + usize::from(SURPRISE_DOUBT)) + 1;
        assert!(
            more <= bound,
            "{more} of {}: {:?}",
            pattern.len(),
            &pattern[..12]
        );
    }
}

/// Plays a service's connections, one after the other, each through these intervals; returns whether the
/// first write of each was held.
fn first_held(habit: &mut Habit, connections: usize, intervals: &[usize]) -> Vec<bool> {
    let rules = Rules::default();
    (0..connections)
        .map(|_| {
            let mut memory = habit.fresh(&rules);
            let mut first = None;
            for &interval in intervals {
                let held = held(&mut memory, &rules, &[interval]);
                first = first.or(Some(held[0][0]));
                *habit = habit.after_write(
                    &memory,
                    Write {
                        len: 100,
                        same_interval: false,
                    },
                );
            }
            first.unwrap()
        })
        .collect()
}

#[test]
fn a_connection_begins_as_the_others_of_its_service_did() {
    let mut habit = Habit::default();
    assert_eq!(first_held(&mut habit, 3, &[2]), [false, true, true]);
    let lone = first_held(&mut habit, 20, &[1]);
    assert_eq!(lone.iter().filter(|held| **held).count(), usize::from(HOPE));
    assert!(lone[0] && !lone[19]);
}

#[test]
fn a_long_life_teaches_nothing_of_how_the_next_begins() {
    let mut habit = Habit::default();
    first_held(&mut habit, 1, &[2]);
    let mut long = vec![2; usize::from(YOUTH_INTERVALS)];
    long.extend([1; 20]);
    first_held(&mut habit, 1, &long);
    assert_eq!(first_held(&mut habit, 1, &[2]), [true]);
}

#[test]
fn large_writes_are_never_held_but_count_as_company() {
    let rules = Rules::default();
    let mut memory = chatty(&rules);
    let large = Write {
        len: rules.hold_below,
        same_interval: false,
    };
    assert_eq!(memory.on_write(&rules, large), Decision::Pass);
    let small = Write {
        len: rules.hold_below - 1,
        same_interval: true,
    };
    assert_eq!(memory.on_write(&rules, small), Decision::Hold);
}

/// Returns how many answers of two writes in a row were not held.
fn passed(memory: &mut Memory, rules: &Rules, at_most: usize) -> usize {
    (0..at_most)
        .take_while(|_| !held(memory, rules, &[2])[0][0])
        .count()
}

#[test]
fn a_second_rescue_among_a_thousand_answers_ends_the_holding_each_time_for_longer() {
    let rules = Rules::default();
    let mut memory = chatty(&rules);
    assert!(held(&mut memory, &rules, &[2])[0][0]);
    assert!(!memory.on_rescue(false), "one is forgiven");
    assert!(held(&mut memory, &rules, &[2])[0][0]);
    // The ninth time was once permanent.
    for doubling in 0..12 {
        assert!(memory.on_rescue(false), "doubling {doubling}");
        let doubling = doubling.min(9);
        let penance = (GRACE as usize) << doubling;
        let left = passed(&mut memory, &rules, usize::MAX);
        assert!((penance - 3..=penance).contains(&left), "{left}");
    }
}

#[test]
fn a_rescue_now_and_then_is_forgiven() {
    let rules = Rules::default();
    let mut memory = chatty(&rules);
    for _ in 0..100 {
        let all = held(&mut memory, &rules, &[2; GRACE as usize]);
        assert!(all.into_iter().flatten().all(|held| held));
        memory.on_rescue(false);
    }
}

#[test]
fn a_crowded_machine_is_no_habit_but_spinning_on_it_is() {
    let rules = Rules::default();
    let mut memory = chatty(&rules);
    for _ in 0..1000 {
        let all = held(&mut memory, &rules, &[2; 100]);
        assert!(all.into_iter().flatten().all(|held| held));
        memory.on_rescue(true);
    }
    let rescues = (0..10_000).filter(|_| {
        let was_held = held(&mut memory, &rules, &[2])[0][1];
        if was_held {
            memory.on_rescue(true);
        }
        was_held
    });
    assert!(rescues.count() < 60);
}

#[test]
fn short_connections_are_not_each_rescued_anew() {
    let rules = Rules::default();
    let mut service = Habit::default();
    let mut rescues = 0;
    for _ in 0..10_000 {
        let mut memory = Habit::unpack(service.pack()).fresh(&rules);
        for same_interval in [false, true] {
            let write = Write {
                len: 100,
                same_interval,
            };
            let decision = memory.on_write(&rules, write);
            service = service.after_write(&memory, write);
            if decision == Decision::Hold && same_interval {
                memory.on_rescue(false);
                service = service.after_rescue(false);
                rescues += 1;
            }
        }
    }
    assert!(rescues <= 6, "{rescues} of 10,000 connections");
}

#[test]
fn a_sleeping_watchdog_is_woken_by_busy_programs_and_for_long_answers() {
    let rules = Rules::default();
    let first = Write {
        len: 100,
        same_interval: false,
    };
    let more = Write {
        same_interval: true,
        ..first
    };
    let mut memory = Memory::default();
    held(&mut memory, &rules, &[2, 2]);
    assert!(
        !memory.is_worth_waking(&rules, first, || false),
        "now and then"
    );
    assert!(memory.is_worth_waking(&rules, first, || true), "busy");
    assert!(
        !memory.is_worth_waking(&rules, more, || true),
        "the second write of an answer says nothing of how many answers there are"
    );
    held(&mut memory, &rules, &[12, 1]);
    assert!(
        memory.is_worth_waking(&rules, first, || false),
        "long answers"
    );
    held(&mut memory, &rules, &[2, 8]);
    assert!(memory.is_worth_waking(&rules, more, || false), "the eighth");
}

#[test]
fn the_eager_hold_from_the_first_write_and_still_tire_of_lone_ones() {
    let rules = Rules {
        eager: true,
        ..Rules::default()
    };
    let mut memory = Habit::default().fresh(&rules);
    let first = Write {
        len: 100,
        same_interval: false,
    };
    assert!(memory.is_worth_waking(&rules, first, || false));
    let lone = held(&mut memory, &rules, &[1; 20]);
    let count = lone.iter().flatten().filter(|held| **held).count();
    assert_eq!(count, usize::from(HOPE));
}

#[test]
fn policies_differ_only_here() {
    for (policy, small, bulk) in [
        (Policy::FlushOnBlock, true, false),
        (Policy::Observe, true, false),
        (Policy::CorkUntilBlock, true, true),
        (Policy::Nodelay, false, false),
    ] {
        let rules = Rules {
            policy,
            ..Rules::default()
        };
        let decide = |len| {
            chatty(&rules).on_write(
                &rules,
                Write {
                    len,
                    same_interval: false,
                },
            ) == Decision::Hold
        };
        assert_eq!((decide(1), decide(100_000)), (small, bulk), "{policy:?}");
    }
}

#[test]
fn packing_loses_nothing() {
    let mut debt = Debt::default();
    for _ in 0..40 {
        debt.grow(false);
        let mut purse = Purse::default();
        purse.pays_for_a_flush();
        let memory = Memory {
            writes: 255,
            usual: 254,
            hope: HOPE,
            age: YOUTH_INTERVALS,
            doubt: SURPRISE_DOUBT,
            open: true,
            purse,
            debt,
        };
        assert_eq!(Memory::unpack(memory.pack()), memory);
        let habit = Habit { hope: HOPE, debt };
        assert_eq!(Habit::unpack(habit.pack()), habit);
    }
    assert_eq!(Memory::unpack(0), Memory::default());
    assert_eq!(Habit::unpack(0), Habit::default());
}
