//! Tests at its bounds each question that decides whether a segment was held.

use tinygram_engine::options::Timestamps;
use tinygram_wire::decode::Segment;

use super::*;
use crate::flow::half::Release;
use crate::flow::half::tests::{changed, data, gist, mark};
use crate::flow::timer::pause as timer_pause;

const MS: i64 = 1_000_000;
const MSS: u32 = 1000;

/// Returns a sender that sent 100 bytes; a pure ACK of them came 40 ms later.
fn acknowledged() -> Half {
    changed(Half::default(), |half| {
        half.seen = true;
        (half.next, half.acked, half.turns.heard_to) = (101, 101, 1);
        half.sent = mark(1, 0);
        half.last_len = 100;
        half.released_flight = 100;
        half.release = Release {
            mark: mark(2, 40 * MS),
            wait_ns: 40 * MS,
            room: 5000,
            pure: true,
            whole: true,
            ..Release::default()
        };
    })
}

fn seen(pause: &Pause) -> &'static str {
    match pause {
        Pause::Held(_) => "held",
        Pause::Thought => "thought",
        Pause::Early => "early",
        Pause::Defied => "defied",
        Pause::None => "none",
    }
}

/// Returns what the pause before 200 bytes is that left at `at_ns`.
fn after(half: &Half, at_ns: i64) -> &'static str {
    seen(&pause(
        half,
        None,
        None,
        &gist(&data(101, 200)),
        mark(3, at_ns),
        MSS,
    ))
}

/// A first answer that comes a second after its question, or one after idleness 200 ms after it, may have been
/// sent before.
#[test]
fn what_comes_late_may_have_been_lost_before() {
    let timeout = |restarted, peak_opening, asked_ago_ns: i64| {
        let half = changed(acknowledged(), |half| {
            half.restarted = restarted;
            half.peak_opening = peak_opening;
            half.sent.time_ns += 5000 * MS;
            half.release.mark.time_ns += 5000 * MS;
            half.hear(&gist(&data(1, 9)), half.sent.time_ns - asked_ago_ns);
            half.turns.peer_spoke = false;
        });
        let segment = Segment {
            ack: 10,
            ..data(101, 200)
        };
        match pause(&half, None, None, &gist(&segment), mark(3, 5040 * MS), MSS) {
            Pause::Held(hold) => hold.timeout,
            _ => panic!("it was held"),
        }
    };
    let (no, perhaps) = (Timeout::No, Timeout::Perhaps);
    let first = |ms| timeout(false, 2 * MSS, ms * MS);
    assert_eq!((first(999), first(1000)), (no, perhaps));
    let later = |peak_opening, ms| timeout(true, peak_opening, ms * MS);
    assert_eq!(
        (later(2 * MSS, 199), later(2 * MSS, 200)),
        (no, Timeout::Yes)
    );
    assert_eq!(later(2 * MSS - 1, 200), perhaps);
}

#[test]
fn what_leaves_upon_a_late_ack_was_held() {
    let half = acknowledged();
    let Pause::Held(hold) = pause(
        &half,
        Some(2 * MS),
        None,
        &gist(&data(101, 200)),
        mark(3, 43 * MS),
        MSS,
    ) else {
        panic!("it was held");
    };
    assert_eq!((hold.trigger, hold.held), (mark(1, 0), mark(3, 43 * MS)));
    assert_eq!(
        (hold.trigger_len, hold.held_len, hold.flight),
        (100, 200, 100)
    );
    assert_eq!((hold.ack_wait_ns, hold.reaction_ns), (40 * MS, 3 * MS));
    assert_eq!((hold.off_ns, hold.room), (MS, 5000));
    assert!(!hold.fresh && !hold.prompt && !hold.repeated);
    // The reaction may take a tenth of the wait, and at least a millisecond.
    assert_eq!(after(&half, 44 * MS), "held");
    assert_eq!(after(&half, 45 * MS), "thought");
    let short = changed(acknowledged(), |half| {
        half.release.mark = mark(2, 5 * MS);
        half.release.wait_ns = 10 * MS;
    });
    assert_eq!(after(&short, 6 * MS), "held");
    assert_eq!(after(&short, 6 * MS + 1), "thought");
    // It may also take half of the way to the sender.
    let far = |at_ns| {
        let segment = data(101, 200);
        seen(&pause(
            &half,
            Some(60 * MS),
            None,
            &gist(&segment),
            mark(3, at_ns),
            MSS,
        ))
    };
    assert_eq!((far(130 * MS), far(130 * MS + 1)), ("held", "thought"));
}

#[test]
fn only_a_late_pure_ack_of_everything_releases() {
    let unlike = |change: fn(&mut Half)| after(&changed(acknowledged(), change), 40 * MS);
    assert_eq!(unlike(|_| {}), "held");
    assert_eq!(unlike(|half| half.release.wait_ns = 10 * MS), "held");
    assert_eq!(unlike(|half| half.release.wait_ns = 10 * MS - 1), "none");
    assert_eq!(unlike(|half| half.release.pure = false), "none");
    assert_eq!(unlike(|half| half.next = 102), "none");
    assert_eq!(unlike(|half| half.disturbed = true), "none");
    assert_eq!(unlike(|half| half.release.mark.frame = 1), "none");
    assert_eq!(unlike(|half| half.flight_defied = true), "defied");
    assert_eq!(unlike(|half| half.waited_flight = 100), "held");
    // Captured beside the receiver, the ACK is prompt; the sender must be far enough away to make
    // it late there.
    let prompt = changed(acknowledged(), |half| half.release.wait_ns = 0);
    let segment = data(101, 200);
    let far = |ns| {
        seen(&pause(
            &prompt,
            Some(ns),
            None,
            &gist(&segment),
            mark(3, 50 * MS),
            MSS,
        ))
    };
    assert_eq!((far(10 * MS), far(10 * MS - 1)), ("held", "none"));
}

/// Data that acknowledges something new is an answer, unless the ACK before it was late or the
/// acknowledged data came so long before that ACK that an answer would have left before it.
#[test]
fn behind_a_prompt_ack_what_has_news_of_the_peer_is_an_answer() {
    let answer = |half: &Half| {
        let segment = Segment {
            ack: 2,
            ..data(101, 200)
        };
        seen(&pause(
            half,
            None,
            None,
            &gist(&segment),
            mark(3, 40 * MS),
            MSS,
        ))
    };
    assert_eq!(answer(&acknowledged()), "held");
    let asked = |at_ns| {
        changed(acknowledged(), |half| {
            half.path.handshake_ns = 35_000_000;
            half.hear(&gist(&data(1, 1)), at_ns);
        })
    };
    let prompt = asked(35 * MS + 1);
    assert_eq!(answer(&prompt), "none");
    assert_eq!(answer(&asked(35 * MS)), "held");
    // Without news of data that came before the ACK, its sender had not got the ACK either.
    assert_eq!(after(&prompt, 40 * MS), "thought");
}

/// Larger segments are open, and the ACK covered the short one before them.
#[test]
fn the_ack_of_a_short_one_releases_another() {
    let half = changed(acknowledged(), |half| {
        half.next = 2101;
        half.last_len = 2000;
        half.flight = 2100;
        half.release.pure = false;
        half.release.whole = false;
        half.release.short = true;
    });
    let segment = data(2101, 200);
    let Pause::Held(hold) = pause(&half, None, None, &gist(&segment), mark(3, 40 * MS), MSS) else {
        panic!("it was held");
    };
    assert!(hold.prompt);
    assert_eq!(hold.flight, 2100);
    let answer = Segment { ack: 2, ..segment };
    let half = changed(half, |half| half.hear(&gist(&data(1, 1)), 36 * MS));
    assert_eq!(
        seen(&pause(
            &half,
            None,
            None,
            &gist(&answer),
            mark(3, 40 * MS),
            MSS
        )),
        "none"
    );
}

/// If a sender echoes the timestamps of pure ACKs, data with an older echo was sent before the ACK
/// arrived.
#[test]
fn a_sender_that_has_not_seen_the_ack_was_not_released_by_it() {
    let held_behind = |data_stamp, echoes_acks, echo| {
        let half = changed(acknowledged(), |half| {
            half.echoes_acks = echoes_acks;
            half.data_stamp = data_stamp;
            half.release.stamp = Some(70);
        });
        let mut segment = data(101, 200);
        segment.options.timestamps = Some(Timestamps { value: 1, echo });
        seen(&pause(
            &half,
            None,
            None,
            &gist(&segment),
            mark(3, 40 * MS),
            MSS,
        ))
    };
    let held = |echoes_acks, echo| held_behind(0, echoes_acks, echo);
    assert_eq!((held(true, 70), held(true, 69)), ("held", "thought"));
    assert_eq!(held(false, 69), "held");
    assert_eq!(held(true, 71), "held");
    // An echo that is newer than all data of the peer is that of an ACK before.
    assert_eq!(held_behind(68, false, 69), "thought");
    assert_eq!(held_behind(69, false, 69), "held");
    assert_eq!(held_behind(68, false, 70), "held");
}

/// A handshake may have waited for ARP or a radio: what echoes the ACK itself has followed it, on a way that is shorter. Without
/// such an echo it had left before.
#[test]
fn a_sender_that_echoes_the_ack_has_seen_it_however_long_the_handshake_took() {
    let after = |data_stamp, echo, reaction_ns: i64| {
        let half = changed(acknowledged(), |half| {
            half.data_stamp = data_stamp;
            half.release.stamp = Some(70);
        });
        let mut segment = data(101, 200);
        segment.options.timestamps = Some(Timestamps { value: 1, echo });
        let at = mark(3, 40 * MS + reaction_ns);
        let distance = Some(25 * MS / 10);
        seen(&pause(&half, distance, Some(0), &gist(&segment), at, MSS))
    };
    let quick = 145 * MS / 100;
    assert_eq!(after(60, 70, quick), "held");
    assert_eq!(
        (after(60, 60, quick), after(70, 70, quick)),
        ("early", "early")
    );
    assert_eq!(after(0, 70, quick), "early");
}

#[test]
fn a_first_flight_and_one_after_silence_are_fresh() {
    let fresh = |bytes, restarted| {
        let half = changed(acknowledged(), |half| {
            half.tally.bytes = bytes;
            half.restarted = restarted;
        });
        match pause(
            &half,
            None,
            None,
            &gist(&data(101, 200)),
            mark(3, 40 * MS),
            MSS,
        ) {
            Pause::Held(hold) => hold.fresh,
            _ => panic!("it was held"),
        }
    };
    assert!(fresh(100, false) && fresh(200, true));
    assert!(!fresh(200, false));
}

/// Compares the reaction with the way from the capture point to the sender and back.
#[test]
fn a_reaction_is_off_by_what_the_way_does_not_explain() {
    assert_eq!(off_by(5 * MS, None, None), Some(5 * MS));
    assert_eq!(off_by(5 * MS, Some(3 * MS), None), Some(2 * MS));
    assert_eq!(off_by(3 * MS, Some(3 * MS), None), Some(0));
    // A little too early: by a difference of clocks, by three tenths of the way, or by what is
    // exact.
    assert_eq!(off_by(0, Some(50_000), Some(0)), Some(50_000));
    assert_eq!(off_by(7 * MS, Some(10 * MS), None), Some(3 * MS));
    assert_eq!(off_by(7 * MS - 1, Some(10 * MS), None), Some(7 * MS - 1));
    assert_eq!(off_by(9 * MS, Some(10 * MS), Some(MS)), Some(MS));
    // It had left before the ACK could arrive; a short way is measured too roughly to say so.
    assert_eq!(off_by(9 * MS - 1, Some(10 * MS), Some(MS)), None);
    assert_eq!(off_by(0, Some(2 * MS), Some(MS)), Some(0));
    assert_eq!(off_by(0, Some(2 * MS + 1), Some(MS)), None);
}

/// An unknown timer is recognised by three tails in a row that waited equally long.
#[test]
fn a_timer_of_any_length_is_known_by_its_punctuality() {
    let tails = |waits: &[i64]| {
        let mut half = changed(acknowledged(), |half| {
            half.last_len = 2000;
            half.release.mark = mark(2, 10 * MS);
        });
        let each = waits.iter().map(|&at_ns| {
            let pause = timer_pause(
                &mut half,
                None,
                0,
                &gist(&data(101, 200)),
                mark(3, at_ns),
                MSS,
            );
            matches!(pause, Pause::Held(_))
        });
        each.collect::<Vec<_>>()
    };
    let second = 1000 * MS;
    assert_eq!(tails(&[second; 4]), [false, false, true, true]);
    assert_eq!(tails(&[second, second + MS, second]), [false; 3]);
    assert_eq!(
        tails(&[second, second + MS - 1, second]),
        [false, false, true]
    );
    assert_eq!(tails(&[190 * MS - 1; 4]), [false; 4]);
    assert_eq!(tails(&[1100 * MS; 4]), [false; 4]);
}

/// The timer is 200 ms plus the round trip, smoothed with late ACKs, in steps of the kernel's tick.
#[test]
fn a_cork_is_ended_by_the_retransmission_timer() {
    let full = changed(acknowledged(), |half| {
        half.last_len = 2000;
        half.release.mark = mark(2, 10 * MS);
    });
    let at = |half: &Half, rtt_ms: i64, at_ns, len| {
        seen(&timer_pause(
            &mut half.clone(),
            None,
            rtt_ms * MS,
            &gist(&data(101, len)),
            mark(3, at_ns),
            MSS,
        ))
    };
    let usual = |at_ns| at(&full, 10, at_ns, 200);
    assert_eq!((usual(206 * MS), usual(206 * MS - 1)), ("held", "none"));
    // 80 ms of late ACKs and three ticks.
    assert_eq!((usual(292 * MS), usual(292 * MS + 1)), ("held", "none"));
    // A long way: a quarter more is allowed.
    let far = |at_ns| at(&full, 100, at_ns, 200);
    assert_eq!((far(337 * MS), far(337 * MS + 1)), ("held", "none"));
    assert_eq!((far(296 * MS), far(296 * MS - 1)), ("held", "none"));
    assert_eq!(at(&full, 10, 220 * MS, 1000), "none");
    assert_eq!(at(&full, 10, 220 * MS, 999), "held");
    let unlike = |change: fn(&mut Half)| at(&changed(full.clone(), change), 10, 220 * MS, 200);
    assert_eq!(unlike(|_| {}), "held");
    assert_eq!(unlike(|half| half.last_len = 1999), "none");
    assert_eq!(unlike(|half| half.turns.peer_between = true), "none");
    assert_eq!(unlike(|half| half.disturbed = true), "none");
    assert_eq!(unlike(|half| half.next = 102), "none");
    // An ACK in the last quarter may be what released it.
    assert_eq!(
        unlike(|half| half.release.mark.time_ns = 164_999_999),
        "held"
    );
    assert_eq!(
        unlike(|half| half.release.mark.time_ns = 165_000_000),
        "none"
    );
}

/// 100 bytes and a full segment behind them, both acknowledged near the capture point, 30 ms from
/// the sender; then 200 bytes that passed `after_ns` after the ACK of the 100.
fn far_behind_a_short_one(after_ns: i64, full_len: u32) -> &'static str {
    let one_ms = |n| n * MS;
    let mut half = acknowledged();
    half.short = crate::flow::half::ShortOne {
        sent: mark(1, 0),
        acked: mark(2, 10_000),
        len: 100,
    };
    half.sent = mark(3, one_ms(5));
    half.last_len = full_len;
    half.release.mark = mark(4, one_ms(5) + 10_000);
    half.release.wait_ns = 10_000;
    half.path.handshake_ns = 10_000;
    seen(&pause(
        &half,
        Some(one_ms(30)),
        Some(one_ms(1)),
        &gist(&data(half.next, 200)),
        mark(5, after_ns),
        MSS,
    ))
}

#[test]
fn minshalls_rule_is_seen_from_afar() {
    assert_eq!(far_behind_a_short_one(30 * MS + 10_000, MSS), "held");
    // At most an eighth of the way early, and not behind only a short segment.
    assert_eq!(far_behind_a_short_one(26 * MS, MSS), "thought");
    assert_eq!(far_behind_a_short_one(27 * MS, 100), "thought");
    // Too early for the ACK of the last short segment to have arrived: this sender does not hold.
    assert_eq!(far_behind_a_short_one(20 * MS, 100), "early");
    assert_eq!(far_behind_a_short_one(30 * MS + 10_000, 100), "thought");
}
