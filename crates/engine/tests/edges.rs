//! Tests each rule at its boundary: the octet, the segment and the millisecond at which its answer
//! changes.
//!
//! Scripts and properties do not cover these boundaries; mutants of the rules showed which.

use tinygram_engine::receiver::ack_policy::{
    self, AckMoment, AckPolicy, AckTimer, AckVerdict, AckView, Arrival, Rule as _, SlowTick,
};
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

/// A receiver's view: the application has read all that arrived, and the window is open.
fn view(now: Instant, nxt: u64, capacity: u64) -> AckView {
    AckView {
        now,
        nxt: Offset::new(nxt),
        acked: Offset::new(nxt),
        advertised: Offset::new(nxt + capacity),
        could_advertise: Offset::new(nxt + capacity),
        unread: 0,
        capacity,
        mss: 1460,
    }
}

/// A Linux receiver that gets segments one after another.
struct Linux {
    rule: ack_policy::Installed,
    now: Instant,
    nxt: u64,
    acked: u64,
    capacity: u64,
}

impl Linux {
    fn with_buffer(capacity: u64) -> Self {
        Self {
            rule: AckPolicy::named("linux").expect("registered").install(),
            now: at_ms(1000),
            nxt: 1,
            acked: 1,
            capacity,
        }
    }

    /// Passes on a segment `gap_ms` after the one before; returns how long its ACK waits, or `None`
    /// if it leaves at once.
    fn takes(&mut self, gap_ms: u64, len: u32, push: bool) -> Option<Duration> {
        self.now += Duration::from_millis(gap_ms);
        self.nxt += u64::from(len);
        let arrival = Arrival {
            len,
            end: Offset::new(self.nxt),
            push,
        };
        let view = AckView {
            acked: Offset::new(self.acked),
            advertised: Offset::new(self.acked + self.capacity),
            ..view(self.now, self.nxt, self.capacity)
        };
        match self.rule.on_arrival(&arrival, &view) {
            AckVerdict::Now => {
                self.acks();
                None
            }
            AckVerdict::DelayUntil(at) => Some(at.since(self.now)),
            other => panic!("{other:?}"),
        }
    }

    fn acks(&mut self) {
        let view = view(self.now, self.nxt, self.capacity);
        self.acked = self.nxt;
        let sent = AckMoment::AckSent { with_data: false };
        self.rule.observe(sent, &view);
    }

    /// Passes on segments of 50 octets until one is not acknowledged at once.
    fn quick_acks(&mut self, gap_ms: u64) -> (usize, Duration) {
        for count in 0.. {
            if let Some(wait) = self.takes(gap_ms, 50, true) {
                return (count, wait);
            }
        }
        unreachable!("it never ends")
    }
}

/// `TCP_MAX_QUICKACKS`; less where the buffer holds fewer pairs of segments, and never less than two.
#[test]
fn linux_acknowledges_sixteen_segments_at_once() {
    let quick = |capacity| Linux::with_buffer(capacity).quick_acks(1).0;
    // The peer's MSS counts as 536 until more is known.
    assert_eq!(quick(1 << 20), 16);
    assert_eq!(quick(2 * 536 * 16), 16);
    assert_eq!(quick(2 * 536 * 16 - 1), 15);
    assert_eq!(quick(2 * 536 * 5), 5);
    assert_eq!(quick(536), 2);
}

/// The last quick ACK resets the delay to 40 ms. From then on it follows the gaps: half of the
/// delay plus the gap.
#[test]
fn linux_forgets_the_gaps_with_the_last_quick_ack() {
    let mut linux = Linux::with_buffer(1 << 20);
    assert_eq!(linux.quick_acks(30), (16, Duration::from_millis(50)));
    linux.acks();
    assert_eq!(linux.takes(30, 50, true), Some(Duration::from_millis(55)));
    linux.acks();
    // A gap of no more than 20 ms counts as 20.
    assert_eq!(
        linux.takes(1, 50, true),
        Some(Duration::from_nanos(47_500_000))
    );
    linux.acks();
    // A gap longer than the delay changes nothing.
    assert_eq!(
        linux.takes(90, 50, true),
        Some(Duration::from_nanos(47_500_000))
    );
}

/// Two unpushed segments of equal length are taken to be full-sized, so the second one is
/// acknowledged at once. Segments that are pushed, or shorter than the least MSS, are not.
#[test]
fn linux_guesses_the_peers_segments_by_two_of_a_length() {
    let waits = |lens: &[u32], push| -> Vec<bool> {
        let mut linux = Linux::with_buffer(1 << 20);
        linux.quick_acks(1);
        linux.acks();
        let waits = lens.iter().map(|len| linux.takes(1, *len, push).is_some());
        waits.collect()
    };
    assert_eq!(waits(&[200, 200], false), [true, false]);
    assert_eq!(waits(&[200, 200], true), [true, true]);
    assert_eq!(waits(&[200, 210], false), [true, true]);
    assert_eq!(waits(&[76, 76], false), [true, false]);
    // With its headers as long as a segment of 536 octets, a segment counts as full although it was
    // pushed. Then 530 octets are more than one segment.
    assert_eq!(
        waits(&[524, 524, 265, 265], true),
        [true, false, true, false]
    );
    assert_eq!(
        waits(&[523, 523, 265, 265], true),
        [true, false, true, true]
    );
    assert_eq!(waits(&[75, 75, 75], false), [true, true, true]);
}

/// One full segment and an octet is not two.
#[test]
fn back_to_back_acknowledges_two_full_segments_and_no_fewer_octets() {
    let verdict = |lens: &[u32]| {
        let mut rule = AckPolicy::named("back-to-back")
            .expect("registered")
            .install();
        let mut last = AckVerdict::Nothing;
        for (at, len) in (0..).zip(lens) {
            let arrival = Arrival {
                len: *len,
                end: Offset::new(1),
                push: false,
            };
            last = rule.on_arrival(&arrival, &view(at_ms(at), 1, 1 << 16));
        }
        last
    };
    assert_eq!(verdict(&[1460, 1460]), AckVerdict::Now);
    assert!(matches!(verdict(&[1460, 1459]), AckVerdict::DelayUntil(_)));
}

/// The delay is one and a half gaps, smoothed as a round trip is; a pause of more than 50 ms is not
/// a gap.
#[test]
fn back_to_back_waits_by_the_gaps_between_segments() {
    let mut rule = AckPolicy::named("back-to-back")
        .expect("registered")
        .install();
    let mut now = Duration::ZERO;
    let mut waits = |gap_us: u64| {
        now += Duration::from_micros(gap_us);
        let now = Instant::ZERO + now;
        let view = view(now, 1, 1 << 16);
        let arrival = Arrival {
            len: 10,
            end: Offset::new(1),
            push: false,
        };
        let verdict = rule.on_arrival(&arrival, &view);
        rule.observe(AckMoment::AckSent { with_data: false }, &view);
        match verdict {
            AckVerdict::DelayUntil(until) => until.since(now).as_nanos() / 1000,
            other => panic!("{other:?}"),
        }
    };
    waits(0);
    assert_eq!(waits(8000), 12_000);
    // 7/8 of 8 ms and 1/8 of 16.
    assert_eq!(waits(16_000), 13_500);
    assert_eq!(waits(50_001), 13_500);
    assert_eq!(waits(50_000), (7 * 9000 + 50_000) / 8 * 3 / 2);
}

/// RFC 1122, section 4.2.3.3: a window update is due after two segments or half of the buffer,
/// whichever is less.
#[test]
fn a_window_update_is_worth_two_segments_or_half_the_buffer() {
    #[derive(Clone, Debug)]
    struct Own;
    impl ack_policy::Rule for Own {
        fn on_arrival(&mut self, _: &Arrival, _: &AckView) -> AckVerdict {
            AckVerdict::Nothing
        }
    }
    let after_a_read = |advance: u64, capacity| {
        let usual = view(Instant::ZERO, 1, capacity);
        let view = AckView {
            advertised: Offset::new(1 + capacity - advance),
            ..usual
        };
        AckPolicy::custom(Own).install().on_read(&view)
    };
    assert_eq!(after_a_read(2920, 60_000), AckVerdict::Now);
    assert_eq!(after_a_read(2919, 60_000), AckVerdict::Nothing);
    assert_eq!(after_a_read(2000, 4000), AckVerdict::Now);
    assert_eq!(after_a_read(1999, 4000), AckVerdict::Nothing);
}

fn slow(period_ms: u64, share_per_mille: u32, seed: u64) -> AckTimer {
    AckTimer::Cyclic {
        period: Duration::from_millis(200),
        phase: Duration::ZERO,
        slow: Some(SlowTick {
            period: Duration::from_millis(period_ms),
            share_per_mille,
            seed,
        }),
    }
}

#[test]
fn a_timer_is_valid_that_fires_now_and_then() {
    assert!(slow(500, 600, 1).is_valid() && slow(500, 1000, 1).is_valid());
    assert!(!slow(500, 1001, 1).is_valid());
    assert!(!slow(0, 600, 1).is_valid());
    let never = AckTimer::Cyclic {
        period: Duration::ZERO,
        phase: Duration::ZERO,
        slow: None,
    };
    assert!(!never.is_valid());
}

/// SplitMix64's finaliser (Steele, Lea & Flood 2014) of seed and time decides which slow ticks
/// flush. The values are those of another implementation, so a seed's run stays the same.
#[test]
fn the_slow_ticks_that_flush_are_those_of_the_seed() {
    let flush = |seed| -> String {
        let ticks = (0..24).map(|n| 500 + 1000 * n);
        ticks
            .map(|tick| {
                let deadline = slow(500, 600, seed).deadline(at_ms(tick - 50));
                if deadline == at_ms(tick) { '1' } else { '0' }
            })
            .collect()
    };
    assert_eq!(flush(1), "001111100111101101011100");
    assert_eq!(flush(2), "110110011101101111110010");
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
