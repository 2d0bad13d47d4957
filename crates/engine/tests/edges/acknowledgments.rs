//! Rules of the receiver at their boundaries: when an acknowledgment is due.

use tinygram_engine::receiver::ack_policy::{
    self, AckMoment, AckPolicy, AckTimer, AckVerdict, AckView, Arrival, Rule as _, SlowTick,
};
use tinygram_engine::{Duration, Instant, Offset};

use super::at_ms;

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
