//! The arguments of Doupnik's draft, section by section, simulated.

use tinygram_engine::Duration;
use tinygram_papers::doupnik::examples::{FORMS, MSS, Request, WRITE, octet_by_octet};

/// The half MSS at the end of it.
const TAIL: u32 = 730;

/// Section 1.4, first case, "all octets are allowed": strict Nagle sends three full segments, finds
/// unacknowledged data and holds the tail, waiting for more than "just the first or second
/// segments". All others send it, even BSD's form, whose pass began idle.
#[test]
fn strict_nagle_holds_the_tail_of_a_write() {
    let request = Request::of(&[WRITE]);
    for policy in FORMS.into_iter().chain(["nagle"]) {
        let made = request.made(policy);
        assert_eq!(made.segments, [MSS, MSS, MSS, TAIL], "{policy}");
        assert_eq!(made.stalled, policy == "strict-nagle", "{policy}");
    }
}

/// Section 1.4, second case: congestion avoidance allows two segments. 1.5 MSS "remain blocked and invisible
/// to Nagle tests" until an ACK comes; then strict Nagle sends one more and holds the tail.
#[test]
fn strict_nagle_holds_the_tail_that_was_blocked_at_first() {
    let request = Request {
        cwnd: 2 * u64::from(MSS),
        ..Request::of(&[WRITE])
    };
    for policy in FORMS {
        let made = request.made(policy);
        assert_eq!(made.segments, [MSS, MSS, MSS, TAIL], "{policy}");
        assert_eq!(made.stalled, policy == "strict-nagle", "{policy}");
    }
}

/// Section 1.5: liberal Nagle "blocks with a partial segment when the window size and congestion
/// avoidance combine to hold back data during the next to last transmission opportunity and only a
/// fraction of an MSS of data remain for the last".
#[test]
fn liberal_nagle_holds_the_tail_that_a_window_cut_off() {
    let request = Request {
        window: 3 * u64::from(MSS),
        ..Request::of(&[WRITE])
    };
    for policy in FORMS {
        let nagle = ["strict-nagle", "liberal-nagle"].contains(&policy);
        assert_eq!(request.stalls(policy), nagle, "{policy}");
    }
}

/// Section 1.5: liberal Nagle "may send small segments within application data" if the window is
/// not a multiple of the MSS; so does the liberal form of the new policy (rule 3, section 2.1).
#[test]
fn liberal_forms_send_small_segments_within_the_data() {
    let request = Request {
        window: 5000,
        ..Request::of(&[20_000])
    };
    for policy in FORMS {
        let segments = request.made(policy).segments;
        let inside = &segments[..segments.len() - 1];
        let small = inside.iter().any(|len| *len < MSS);
        assert_eq!(small, policy.contains("liberal"), "{policy}: {segments:?}");
    }
}

/// Section 2.3: "Strict Nagle and strict new policy transmitters join interior small pieces into
/// full segments"; the others send them as the kernel delivers them, in pieces of 2048 octets.
#[test]
fn strict_forms_join_the_pieces_of_a_write() {
    let request = Request {
        stack: "freebsd_3_2",
        ..Request::of(&[20_000])
    };
    for policy in FORMS {
        let segments = request.made(policy).segments;
        let small = segments.iter().filter(|len| **len < MSS).count();
        let strict = ["strict-nagle", "doupnik"].contains(&policy);
        assert_eq!(small <= 1, strict, "{policy}: {segments:?}");
    }
}

/// Section 2.3: "the classical case of write(small), write(small), read()".
#[test]
fn both_nagles_hold_the_second_of_two_small_writes() {
    let request = Request::of(&[100, 100]);
    for policy in FORMS {
        let nagle = ["strict-nagle", "liberal-nagle"].contains(&policy);
        assert_eq!(request.stalls(policy), nagle, "{policy}");
        // Two segments under all policies: the cure costs nothing here.
        assert_eq!(request.made(policy).segments, [100, 100], "{policy}");
    }
}

/// Section 2.2: "in the above case of one octet writing by the application, new policy and
/// non-Nagle modes behave alike: send tinygrams. Nagle modes group data to the extent that ACKs are
/// delayed." ACKs matter to Nagle alone.
#[test]
fn one_octet_writes_are_tinygrams_but_under_nagle() {
    let writes = 500;
    let (period, far) = (Duration::from_millis(1), Duration::from_millis(400));
    for policy in FORMS {
        let near = octet_by_octet(policy, writes, period, Duration::from_micros(100));
        let far = octet_by_octet(policy, writes, period, far);
        if policy.ends_with("nagle") {
            assert!(near < 10 && far < near, "{policy}: {near}, {far}");
        } else {
            assert_eq!((near, far), (500, 500), "{policy}");
        }
    }
}

/// Section 2.2: "the best strategy is for the application to write large components".
#[test]
fn an_application_that_buffers_needs_one_segment() {
    let request = Request::of(&[500]);
    for policy in FORMS {
        let made = request.made(policy);
        assert_eq!(made.segments, [500], "{policy}");
        assert!(!made.stalled, "{policy}");
    }
}

/// Section 2.3: "people don't type that fast compared to even 200ms delayed ACKs. Thus in practice
/// for human typing all three approaches and non-Nagle are about the same on the wire."
#[test]
fn a_typist_is_the_same_to_all() {
    let keys = 50;
    for policy in FORMS {
        let pause = Duration::from_millis(250);
        let sent = octet_by_octet(policy, keys, pause, Duration::from_millis(1));
        assert_eq!(sent, u64::from(keys), "{policy}");
    }
}

/// Section 2.3: "Strict Nagle induces a held-tail for each application buffer longer than one
/// segment", whatever the size; the new policy never does.
#[test]
fn strict_nagle_holds_every_tail() {
    for len in (1500..30_000).step_by(977) {
        let held = |policy| Request::of(&[len]).made(policy).held;
        assert!(held("strict-nagle") > 0, "{len}");
        assert_eq!(held("doupnik"), 0, "{len}");
    }
}
