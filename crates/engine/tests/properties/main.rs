//! Properties of every policy, whatever the network does and the applications ask for.
//!
//! The cases come from a fixed seed, so a run repeats itself. `PROPERTY_SEED=7` draws others and
//! `PROPERTY_CASES=1000` draws more; a failure prints the smallest case found and the command.

mod cases;
mod end;
mod invariants;
mod questions;
mod runner;
mod world;

use proptest::collection::vec;
use proptest::prelude::any;
use tinygram_engine::connection::Reason;
use tinygram_engine::extensions::Extensions;
use tinygram_engine::profile::Profile;
use tinygram_engine::receiver::ack_policy::{self, AckPolicy};
use tinygram_engine::receiver::assembler::Assembler;
use tinygram_engine::sender::TimerReason;
use tinygram_engine::sender::send_policy::{self, Rule, SendPolicy, Vars, Why};
use tinygram_engine::{Duration, Offset, Span};

use cases::{ACK_TIMER, BadPath, bad_path, bulk, storm, talk};
use questions::{moment, offer, vars};
use runner::check;
use world::Opening;

/// Whatever the network does, what was written is read, once and in order, and both ends reach
/// CLOSED. On the way the window never shrinks, no timer asks to be woken forever, nothing is
/// invented, and the connections' invariants hold.
#[test]
fn all_arrives_once_and_in_order() {
    for (policy, ack) in combinations() {
        let what = format!("{} x {}", policy.name, ack.name);
        check(
            "all_arrives_once_and_in_order",
            &what,
            12,
            &storm(),
            |storm| {
                let mut world = storm.world(policy, ack);
                world.run(storm.opening());
                world.assert_delivered();
            },
        );
    }
}

/// Every send policy with every ACK policy.
fn combinations() -> impl Iterator<
    Item = (
        &'static send_policy::Registered,
        &'static ack_policy::Registered,
    ),
> {
    let acks = |policy| AckPolicy::LIST.iter().map(move |ack| (policy, ack));
    SendPolicy::LIST.iter().flat_map(acks)
}

/// No policy deadlocks beyond the receiver's ACK timer. Precisely: on a network without loss,
/// between programs that read what they are sent and never promise data that does not come
/// (MSG_MORE without a next write, TCP_CORK that stays on), the sender's last-resort timers,
/// retransmission and persist, never have to act; and while a message is on its way, at most the
/// ACK timer's length passes between the sending of one segment and the next.
///
/// A small buffer may cost one such wait for every buffer-full, so the time of a message has no
/// bound; the time of a single stall has.
#[test]
fn no_stall_outlasts_the_ack_timer() {
    for (policy, ack) in combinations() {
        let what = format!("{} x {}", policy.name, ack.name);
        check(
            "no_stall_outlasts_the_ack_timer",
            &what,
            20,
            &talk(),
            |talk| {
                let mut world = talk.world(policy, ack);
                world.run(Opening::Active);
                world.assert_delivered();
                let last_resort = world.fired.iter().find(|(.., reason)| {
                    matches!(
                        reason,
                        Reason::Sender(TimerReason::Retransmit | TimerReason::Persist)
                    )
                });
                assert_eq!(last_resort, None, "a timer of last resort");
                let bound = ACK_TIMER + talk.setting.delay;
                let silence = world.longest_silence;
                assert!(silence <= bound, "{silence} without a segment");
            },
        );
    }
}

/// With nothing outstanding and the window open, no policy holds anything, except:
///
/// - if the application said that more follows (a write under way, MSG_MORE), in the variants with
///   MORE, DOUPNIK and LINUX; but never while that writer sleeps for space and would not copy if it
///   were woken;
/// - FLUSH-ON-BLOCK's runt of a writer that runs: for a millisecond after its last write, and for
///   at most ten in all;
/// - a runt that the window cuts short, in policies that leave those to the sender's silly window
///   avoidance: that is not the policy's decision, and the persist timer ends it;
/// - what TCP_CORK corks, under LINUX (no case here corks; `scenarios/linux` does).
#[test]
fn nothing_outstanding_nothing_held() {
    for (policy, ack) in combinations() {
        let what = format!("{} x {}", policy.name, ack.name);
        let may_hold: fn(Why, &Vars) -> bool = match policy.name {
            "flush-on-block" | "flush-on-block-eager" | "flush-on-block-simple" => {
                |why, vars| why == Why::WriterRuns || excused(why, vars)
            }
            _ => excused,
        };
        check(
            "nothing_outstanding_nothing_held",
            &what,
            12,
            &storm(),
            |storm| {
                let mut world = storm.world(policy, ack);
                world.may_hold_idle = may_hold;
                world.run(storm.opening());
            },
        );
    }
}

/// Returns whether something other than the policy causes a hold.
fn excused(why: Why, vars: &Vars) -> bool {
    match why {
        Why::MoreToCome | Why::NotEndOfData => vars.more_to_come && !vars.writer_deadlocks(),
        Why::WindowCuts => vars.written > vars.nxt + vars.wnd.min(vars.cwnd),
        _ => false,
    }
}

/// On a path that loses 8 of a hundred segments and delays 20, nobody stands still: the time without
/// a segment is at most four RTOs. Only timeouts after which nothing new was acknowledged count as
/// doublings of an RTO, so that a backoff which outlives its reason is found.
fn nobody_stands_still(cases: u32) {
    for profile in [&Profile::LINUX_6, &Profile::MODERN] {
        check(
            "a_bad_path_makes_nobody_stand_still",
            profile.name,
            cases,
            &bad_path(),
            |path| assert_keeps_moving(path, profile),
        );
    }
}

/// Asserts what [`nobody_stands_still`] says of one conversation.
fn assert_keeps_moving(path: &BadPath, profile: &Profile) {
    let mut world = path.world(profile);
    world.run(Opening::Active);
    world.assert_delivered();
    let (timeouts, wait) = (world.most_timeouts_waited, world.longest_wait);
    assert!(timeouts <= 4.0, "{timeouts} timeouts: {wait}");
}

/// Here several segments of one flight were lost, and every loss after the first doubled the timeout
/// once more although acknowledgments had come between: 12.9 s passed without a segment.
#[test]
fn a_flight_with_many_losses_does_not_stand_still() {
    for profile in [&Profile::LINUX_6, &Profile::MODERN] {
        assert_keeps_moving(&BadPath::with_many_losses(), profile);
    }
}

#[test]
fn a_bad_path_makes_nobody_stand_still() {
    nobody_stands_still(150);
}

/// The same in many cases.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn a_bad_path_makes_nobody_stand_still_in_ten_thousand_conversations() {
    nobody_stands_still(10_000);
}

/// The scoreboard and RACK reduce retransmissions: on a path that loses one segment in a hundred,
/// less than half as much is resent although it had arrived, and a transfer ends sooner; also if
/// one segment in a hundred is late, by up to one and a half round trips.
#[test]
fn with_sack_and_rack_little_is_sent_in_vain() {
    let sum = |extensions, reordering| {
        let (mut needless, mut time) = (0, Duration::ZERO);
        for seed in 0..100 {
            let mut world = bulk(extensions, reordering, seed);
            let began = world.now();
            world.run(Opening::Active);
            world.assert_delivered();
            needless += world.needless;
            time += world.now().since(began);
        }
        (needless, time)
    };
    let (plain, plain_time) = sum(Extensions::NONE, 0);
    let (rack, rack_time) = sum(Extensions::LINUX_6, 0);
    assert!(2 * rack < plain, "{rack} in vain, and {plain} without");
    assert!(rack_time < plain_time, "{rack_time}, and {plain_time}");
    let (plain, plain_time) = sum(Extensions::NONE, 10);
    let (rack, rack_time) = sum(Extensions::LINUX_6, 10);
    assert!(rack < plain, "{rack} in vain, and {plain} without");
    assert!(rack_time < plain_time, "{rack_time}, and {plain_time}");
}

/// Asked twice, a policy answers the same, and asking changes nothing: a policy that is asked all
/// the time gives the same answers as its twin that is only told what happens.
#[test]
fn asking_changes_nothing() {
    for policy in SendPolicy::LIST {
        let history = vec((moment(), vars(), any::<[bool; 4]>()), 1..40);
        check(
            "asking_changes_nothing",
            policy.name,
            200,
            &history,
            |history| {
                let (mut asked, mut told) = ((policy.make)().install(), (policy.make)().install());
                for (moment, vars, bits) in history {
                    asked.observe(*moment, vars);
                    told.observe(*moment, vars);
                    let offer = offer(vars, *bits);
                    let first = asked.decide(&offer, vars);
                    assert_eq!(first, asked.decide(&offer, vars), "asked twice");
                    assert_eq!(first, asked.clone().decide(&offer, vars), "a copy asked");
                }
                let (_, vars, bits) = history.last().expect("not empty");
                let offer = offer(vars, *bits);
                assert_eq!(asked.decide(&offer, vars), told.decide(&offer, vars));
            },
        );
    }
}

/// The assembler is a set of octets: what it remembers, and how far a stream gets, agrees with a
/// plain list of octets.
#[test]
fn the_assembler_is_a_set() {
    let spans = vec((0_u64..120, 1_u64..12, any::<bool>()), 1..40);
    check(
        "the_assembler_is_a_set",
        "assembler",
        2000,
        &spans,
        |spans| {
            let mut assembler = Assembler::default();
            let (mut here, mut next) = ([false; 140], 0_usize);
            for &(start, len, advances) in spans {
                let (start, end) = (start.max(next as u64), start + len);
                if start < end {
                    let span = Span::new(Offset::new(start), Offset::new(end));
                    assert!(assembler.insert(span), "fewer ranges than it keeps");
                    here[start as usize..end as usize].fill(true);
                }
                if advances {
                    next = assembler.advance(Offset::new(next as u64)).get() as usize;
                    let gap = here[next..].first();
                    assert_eq!(gap, Some(&false), "stopped at {next} too early");
                    assert!(
                        here[..next].iter().all(|&octet| octet),
                        "no gap before {next}"
                    );
                    here[..next].fill(true);
                }
                let kept: u64 = assembler.ranges().iter().map(|range| range.len()).sum();
                let ahead = here[next..].iter().filter(|&&octet| octet).count();
                assert_eq!(kept, ahead as u64);
            }
        },
    );
}
