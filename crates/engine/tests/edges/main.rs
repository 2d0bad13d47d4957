//! Tests each rule at its boundary: the octet, the segment and the millisecond at which its answer
//! changes.
//!
//! Scripts and properties do not cover these boundaries; mutants of the rules showed which.

mod acknowledgments;

use tinygram_engine::sender::congestion::{Ack, Congestion, Control as _, Window};
use tinygram_engine::sender::send_policy::{
    self, Because, BlockedOn, Moment, Offer, Rule as _, SendPolicy, Vars, Verdict, Why,
};
use tinygram_engine::sender::{Counters, RtoRules, RttEstimator};
use tinygram_engine::{Duration, Instant, Offset, Span};

const MSS: u32 = 1000;

fn at_ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn octets(from: u64, to: u64) -> Span {
    Span::new(Offset::new(from), Offset::new(to))
}

/// Octets `una..max` are unacknowledged; the application has written up to `written`.
fn vars(una: u64, max: u64, written: u64) -> Vars {
    let mut vars = Vars::new(Instant::ZERO, MSS);
    vars.una = Offset::new(una);
    (vars.nxt, vars.max) = (Offset::new(max), Offset::new(max));
    vars.written = Offset::new(written);
    (vars.wnd, vars.max_wnd, vars.cwnd, vars.ssthresh) = (60_000, 60_000, 60_000, 60_000);
    (vars.cluster, vars.capacity) = (8192, 60_000);
    vars
}

/// A runt that ends the buffer, in a pass that did not begin idle.
fn runt(vars: &Vars) -> Offer {
    let mut offer = Offer::new(Span::new(vars.nxt, vars.written), vars);
    offer.idle_on_entry = false;
    offer
}

fn sent(span: Span) -> Moment {
    Moment::Sent {
        span,
        short: span.len() < u64::from(MSS),
        because: Because::Idle,
    }
}

fn copied(pieces_before: u32, more_to_come: bool, more_on_entry: bool) -> Moment {
    Moment::ChunkCopied {
        more_to_come,
        pieces_before,
        more_on_entry,
    }
}

fn installed(policy: &str) -> send_policy::Installed {
    SendPolicy::named(policy).expect(policy).install()
}

/// A small segment up to octet 1101: it is outstanding until octet 1100 is acknowledged, and not after.
#[test]
fn minshall_waits_for_the_last_octet_of_the_small_segment_and_for_no_more() {
    let mut minshall = installed("minshall");
    minshall.observe(copied(0, false, false), &vars(1001, 1001, 1101));
    minshall.observe(sent(octets(1001, 1101)), &vars(1001, 1101, 1101));
    let verdict = |una| {
        let vars = vars(una, 1101, 1201);
        minshall.decide(&runt(&vars), &vars)
    };
    assert_eq!(verdict(1100), Verdict::hold(Why::SmallUnacknowledged));
    assert_eq!(verdict(1101), Verdict::Send(Because::NoSmallOutstanding));
}

/// MSMV's flag describes only the segment sent last.
#[test]
fn a_full_segment_clears_msmvs_flag() {
    let mut msmv = installed("msmv");
    let vars = vars(1001, 2101, 2201);
    let full = Verdict::Send(Because::PreviousFull);
    assert_eq!(msmv.decide(&runt(&vars), &vars), full);
    msmv.observe(sent(octets(1001, 1101)), &vars);
    let small = Verdict::hold(Why::PreviousSmall);
    assert_eq!(msmv.decide(&runt(&vars), &vars), small);
    msmv.observe(sent(octets(1101, 2101)), &vars);
    assert_eq!(msmv.decide(&runt(&vars), &vars), full);
}

/// Figure 4: EOM is set if the write's last piece follows other pieces or ends an unfinished write.
#[test]
fn either_way_of_being_long_ends_a_message() {
    let verdict = |policy: &str, moment| {
        let mut eom = installed(policy);
        let vars = vars(1001, 2001, 2101);
        eom.observe(moment, &vars);
        eom.decide(&runt(&vars), &vars)
    };
    for policy in ["eom", "e+m"] {
        let end = Verdict::Send(Because::EndOfData);
        assert_eq!(verdict(policy, copied(1, false, false)), end, "{policy}");
        assert_eq!(verdict(policy, copied(0, false, true)), end, "{policy}");
        let waits = Verdict::hold(Why::Unacknowledged);
        assert_eq!(verdict(policy, copied(0, false, false)), waits, "{policy}");
        assert_eq!(verdict(policy, copied(1, true, false)), waits, "{policy}");
    }
}

/// To the letter of figure 5, a write is judged on entry; in the results' reading, again after each
/// sleep.
#[test]
fn borman_judges_a_write_that_slept_again_but_not_to_the_letter() {
    let verdict = |policy: SendPolicy| {
        let mut borman = policy.install();
        borman.observe(
            Moment::WriteBegan { resumed: false },
            &vars(1001, 1001, 1001),
        );
        borman.observe(
            Moment::WriteBegan { resumed: true },
            &vars(1001, 2001, 2001),
        );
        let vars = vars(1001, 2001, 2101);
        borman.observe(copied(1, false, false), &vars);
        borman.decide(&runt(&vars), &vars)
    };
    let borman = SendPolicy::named("borman").expect("registered");
    assert_eq!(verdict(borman.clone()), Verdict::hold(Why::Unacknowledged));
    let letter = borman.to_the_letter();
    assert_eq!(verdict(letter), Verdict::Send(Because::EndOfData));
}

/// A writer that sleeps for space on an idle connection waits for what is in the buffer.
#[test]
fn flush_on_block_flushes_for_a_sleeping_writer_only_when_nothing_is_outstanding() {
    let verdict = |una| {
        let mut policy = installed("flush-on-block");
        policy.observe(
            Moment::WriteBegan { resumed: false },
            &vars(una, 2001, 2001),
        );
        let vars = vars(una, 2001, 2101);
        policy.observe(copied(0, true, false), &vars);
        let sleeps = Moment::AppBlocks {
            on: BlockedOn::Write,
            wrote: true,
        };
        policy.observe(sleeps, &vars);
        policy.decide(&runt(&vars), &vars)
    };
    assert_eq!(verdict(2001), Verdict::Send(Because::Blocked));
    assert!(matches!(verdict(1001), Verdict::Hold { .. }));
}

/// A user's own rule includes MORE only if it says so.
#[test]
fn a_rule_of_ones_own_has_more_only_if_it_says_so() {
    #[derive(Clone, Debug)]
    struct Own(bool);
    impl send_policy::Rule for Own {
        fn decide(&self, _: &Offer, _: &Vars) -> Verdict {
            Verdict::Send(Because::NoDelay)
        }
        fn includes_more(&self) -> bool {
            self.0
        }
    }
    for more in [false, true] {
        let installed = SendPolicy::custom(Own(more)).install();
        assert_eq!(installed.includes_more(), more);
    }
}

/// RFC 9438, section 4.3, on a path so short that the cubic function hardly moves. Reno's window
/// grows by alpha over cwnd with each segment; alpha is 0.53 below the window before the loss and 1
/// from there on.
#[test]
fn cubic_grows_as_reno_does_where_that_is_faster() {
    let mss = u64::from(MSS);
    let mut cubic = Congestion::named("cubic").expect("registered").install();
    let (mut cwnd, mut ssthresh) = (10 * mss, 1 << 40);
    let mut window = |cwnd: &mut u64, ack: Option<&Ack>| {
        let window = Window {
            cwnd,
            ssthresh: &mut ssthresh,
            mss,
            cap: 1 << 40,
        };
        match ack {
            Some(ack) => cubic.on_ack(window, ack),
            None => cubic.on_loss(window, 10 * mss),
        }
    };
    window(&mut cwnd, None);
    assert_eq!(cwnd, 7 * mss);
    let (mut reno, alpha) = (7.0_f64, 9.0 / 17.0);
    let mut grown_twice = false;
    for segment in 0..120 {
        let ack = Ack {
            octets: mss,
            flight: cwnd,
            now: Instant::from_nanos(1_000_000 + segment * 10_000),
            srtt: Some(Duration::from_micros(100)),
        };
        reno += if reno < 10.0 { alpha } else { 1.0 } / (cwnd as f64 / mss as f64);
        window(&mut cwnd, Some(&ack));
        let ours = cwnd as f64 / mss as f64;
        assert!((ours - reno).abs() < 0.01, "{segment}: {ours} {reno}");
        grown_twice |= ours > 12.0;
    }
    assert!(grown_twice, "{cwnd}");
}

/// A window at the threshold is no longer in slow start.
#[test]
fn cubic_leaves_slow_start_at_the_threshold() {
    let mss = u64::from(MSS);
    let mut cubic = Congestion::named("cubic").expect("registered").install();
    let (mut cwnd, mut ssthresh) = (20 * mss, 20 * mss);
    let window = Window {
        cwnd: &mut cwnd,
        ssthresh: &mut ssthresh,
        mss,
        cap: 1 << 40,
    };
    let ack = Ack {
        octets: mss,
        flight: 20 * mss,
        now: at_ms(1),
        srtt: Some(Duration::from_millis(1)),
    };
    cubic.on_ack(window, &ack);
    assert!(cwnd < 20 * mss + mss / 10, "{cwnd}");
}

/// RFC 6298, sections 2.2 and 2.3, worked by hand: 100 ms, then 200 ms.
#[test]
fn the_time_out_follows_two_round_trips_as_the_rfc_computes_it() {
    let mut rtt = RttEstimator::new(RtoRules {
        min: Duration::ZERO,
        margin: Duration::ZERO,
        granularity: Duration::from_millis(1),
        ..RtoRules::RFC_6298
    });
    let mut takes = |end: u64, from_ms: u64, ms: u64| {
        rtt.sent(Offset::new(end), at_ms(from_ms));
        rtt.acked(Offset::new(end), at_ms(from_ms + ms), None);
        rtt.rto()
    };
    // SRTT 100, RTTVAR 50.
    assert_eq!(takes(1000, 0, 100), Duration::from_millis(300));
    // RTTVAR 62.5, SRTT 112.5.
    assert_eq!(takes(2000, 500, 200), Duration::from_nanos(362_500_000));
}

#[test]
fn counters_add_up_field_by_field() {
    let count = |by: u64| {
        let mut holds = [0; Why::COUNTED];
        for (at, hold) in (10..).zip(&mut holds) {
            *hold = at * by;
        }
        Counters {
            data_segments: by,
            short_segments: 2 * by,
            data_octets: 3 * by,
            retransmitted_segments: 4 * by,
            empty_segments: 5 * by,
            timeouts: 6 * by,
            fast_retransmits: 7 * by,
            tail_probes: 8 * by,
            undone_reductions: 9 * by,
            holds,
        }
    };
    assert_eq!(count(3).and(&count(4)), count(7));
    assert_eq!(count(1).held(Why::Unacknowledged), 10);
    assert_eq!(count(1).held(Why::SmallUnacknowledged), 11);
    assert_eq!(Counters::default().held(Why::Pacing), 0);
}
