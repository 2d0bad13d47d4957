//! What is held, and what ends a hold, according to the counts of `--stats`.

use crate::programs::{best_of_three, counts_of, hostile_counts};
use crate::sink::Sink;

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn only_what_is_named_is_touched() {
    let segments = |only: &str| {
        let sink = Sink::start();
        let elsewhere = only.replace("PORT", &sink.port.to_string());
        let counts = hostile_counts("plain", &["--only", &elsewhere], &sink);
        counts["peers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|peer| peer["writes"].as_u64().unwrap())
            .sum::<u64>()
    };
    assert!(segments("PORT") > 0);
    assert!(segments("127.0.0.0/8") > 0);
    assert_eq!(segments("10.0.0.0/8"), 0);
}

#[test]
fn observe_changes_nothing_and_counts_what_would_change() {
    let sink = Sink::start();
    let counts = hostile_counts("options", &["--policy", "observe"], &sink);
    let peer = &counts["peers"][0];
    let count = |name: &str| peer[name].as_u64().unwrap();
    assert!(
        count("writes_held") > 20 && count("writes_merged") > 20,
        "{peer:#}"
    );
    // With Nagle's algorithm on, a frame takes two segments: the first write, then the rest.
    assert!(count("segments_sent") > 40, "{peer:#}");
}

#[test]
fn a_conversation_takes_one_segment_a_message() {
    // Until the watchdog runs, which is started when the program first waits while data is held.
    assert!(
        converses(&["--eager"])["writes_unwatched"]
            .as_u64()
            .unwrap()
            <= 3
    );
    converses(&[]);
}

/// 500 frames in 1,494 writes, of which all but a few leave in one segment each.
///
/// The number of those few depends on how soon the machine runs the threads. A thread that gets no
/// processor for a millisecond is rescued; a program that gets none for longer counts as idle, so
/// its watchdog rests. Each such event is counted, and may cost no more than the predictor's rules
/// allow.
fn converses(options: &[&str]) -> serde_json::Value {
    let sink = Sink::start();
    let counts = hostile_counts("plain", options, &sink);
    let peer = counts["peers"][0].clone();
    let count = |name: &str| peer[name].as_u64().unwrap();
    let (writes, segments) = (count("writes"), count("segments_sent"));
    assert_eq!(writes, 1494, "{peer:#}");
    // Each write is a segment unless it joined one; a rescue may separate the two. (The kernel may
    // also join writes that passed.)
    let rescues = count("watchdog_rescues");
    let unjoined = writes - count("writes_merged") + rescues;
    assert!((500..=unjoined).contains(&segments), "{peer:#}");
    // A write that passes unwatched is a segment of its own.
    let unwatched = count("writes_unwatched");
    // A rescue splits one frame in two. Two rescues of a thread that had its processor switch the
    // socket to NODELAY for the rest of the conversation.
    let gone_over = count("went_over_to_nodelay");
    assert!(2 * gone_over <= rescues, "{peer:#}");
    let at_most = 505 + unwatched + rescues + gone_over * writes;
    assert!(segments <= at_most, "{at_most}: {peer:#}");
    // Held data leaves with the third write and not when the program waits, except for the first
    // nine frames, as many after the five that take two writes or one, and as many after a rescue.
    let flushes = peer["flushes"].as_object().unwrap();
    let all: u64 = flushes.values().map(|count| count.as_u64().unwrap()).sum();
    let others = all - flushes["last-write"].as_u64().unwrap();
    assert!(others <= 9 * 6 + 10 * rescues, "{peer:#}");
    peer
}

/// A program that spins on a poll with timeout 0 has nothing to write: the poll flushes what is
/// held, not the watchdog.
///
/// Each of nine ways is told by itself. If a way did not flush, the watchdog would flush all that it
/// holds. On a crowded machine the watchdog comes, too, where a thread loses its processor in the
/// middle of an answer, and after some dozens of such rescues little is held; but most of what is
/// held leaves by the poll.
#[test]
fn a_poll_that_finds_nothing_flushes() {
    for way in ["0", "1", "2", "3", "4", "5", "6", "7", "8"] {
        best_of_three(|| {
            let sink = Sink::start();
            let counts = counts_of("polls-empty", &[way], &["--eager"], &sink);
            let peer = &counts["peers"][0];
            let flushes = peer["flushes"].as_object().unwrap();
            let all: u64 = flushes.values().map(|it| it.as_u64().unwrap()).sum();
            let rescues = peer["watchdog_rescues"].as_u64().unwrap();
            if all > 2 * rescues {
                Ok(())
            } else {
                Err(format!("way {way}: {rescues} of {all}: {peer:#}"))
            }
        });
    }
}

/// An answer that takes a millisecond or more to write leaves in segments of half a millisecond
/// each, and is not left to the watchdog. (That this always holds, by the clock, is a property of
/// the predictor. Here a thread may get no processor for longer, and after many such rescues
/// nothing is held.)
#[test]
fn an_answer_that_takes_long_to_write_is_not_left_to_the_watchdog() {
    let sink = Sink::start();
    let counts = hostile_counts("long-answers", &[], &sink);
    let peer = &counts["peers"][0];
    let count = |name: &str| peer[name].as_u64().unwrap();
    let by_itself = peer["flushes"]["long-answer"].as_u64().unwrap();
    assert!(by_itself > 0, "{peer:#}");
    let unjoined = count("writes") - count("writes_merged");
    // The ACK of a released piece also releases what is held by then: Linux forgets MSG_MORE when
    // an ACK arrives.
    let flushes = peer["flushes"].as_object().unwrap().values();
    let leaks: u64 = flushes.map(|it| it.as_u64().unwrap()).sum();
    assert!(
        count("segments_sent") <= unjoined + count("watchdog_rescues") + leaks,
        "{peer:#}"
    );
    if count("went_over_to_nodelay") == 0 {
        let explained = count("writes_unwatched") + count("writes") / 20;
        assert!(unjoined <= explained, "{peer:#}");
    }
}

/// The child's watchdog runs before its first answer.
#[test]
fn eager_holds_in_a_child_that_was_forked_for_a_connection() {
    best_of_three(|| {
        let sink = Sink::start();
        let counts = hostile_counts("forks-for-each", &["--eager"], &sink);
        let peer = &counts["peers"][0];
        // Twenty children of five frames each, in three writes each; the parent's frame may take
        // three.
        let segments = peer["segments_sent"].as_u64().unwrap();
        if segments <= 20 * (5 + 3) {
            Ok(())
        } else {
            Err(format!("{peer:#}"))
        }
    });
}
