use super::ack_policy::{AckPolicy, AckTimer};
use super::assembler::MAX_RANGES;
use super::*;
use crate::options::Options;
use crate::time::Duration;

#[test]
fn what_is_in_order_needs_no_place_among_the_ranges() {
    let mut receiver = Receiver::new(&ReceiverConfig {
        buffer: 60_000,
        window_cap: 60_000,
        mss: 1000,
        policy: AckPolicy::EverySecond,
        timer: AckTimer::PerConnection(Duration::from_millis(200)),
    });
    receiver.establish();
    let mut arrive = |start: u64, len: u32| {
        let segment = Segment {
            seq: Offset::new(start),
            ack: Offset::FIRST,
            len,
            window: 1000,
            flags: Flags::ACK,
            options: Options::default(),
        };
        receiver.on_data(&segment, Instant::ZERO);
        (receiver.nxt(), receiver.out_of_order().len())
    };
    // Every other octet from the 11th on, until no more ranges are kept.
    for range in 0..=MAX_RANGES as u64 {
        arrive(11 + 2 * range, 1);
    }
    assert_eq!(arrive(1, 5), (Offset::new(6), MAX_RANGES));
    // The next one fills the hole before the first range.
    assert_eq!(arrive(6, 5), (Offset::new(12), MAX_RANGES - 1));
}
