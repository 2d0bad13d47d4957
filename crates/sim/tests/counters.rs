//! Queue counters on pure ACKs: what they cost the segments with data, which is nothing, and what they tell.

use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::queues::QueueCounters;
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_engine::{Config, Duration, Instant, Options, Segment};
use tinygram_sim::costs::HostCosts;
use tinygram_sim::medium::{MediumFrame, Side, Wire};
use tinygram_sim::observer::SentFrames;
use tinygram_sim::workload::exchange::Exchange;
use tinygram_sim::{Ended, Opening, World, WorldConfig};

/// An end of Linux's kind, which offers queue counters or not.
fn end(policy: &str, counts: bool) -> Config {
    let sizes = Sizes {
        mss: 1460,
        send_buffer: 65_536,
        receive_buffer: 65_535,
    };
    let mut config = (Profile::LINUX_6.config)(&sizes);
    config.sender.policy = SendPolicy::named(policy).expect(policy);
    config.extensions.queue_counters |= counts;
    config
}

/// Returns all frames of thirty exchanges: two writes each way, of which one is more than two segments.
fn frames(policy: &str, counts: bool) -> Vec<(Side, MediumFrame)> {
    let wire = Wire::new(100_000_000, 78, 84, Duration::from_millis(2));
    let config = WorldConfig::over(wire, [HostCosts::NONE; 2], 1);
    let client = Exchange::asks(0, vec![300, 50], 4000, 30);
    let server = Exchange::answers(0, vec![700, 3300], 350);
    let mut world = World::watched(config, [vec![client], vec![server]], SentFrames::default());
    world.connect(Opening::Established, [(); 2].map(|()| end(policy, counts)));
    let late = Instant::ZERO + Duration::from_secs(600);
    assert_eq!(world.run(late), Ended::Stopped);
    world.into_observer().sent
}

fn without_counters(segment: &Segment) -> Segment {
    Segment {
        options: Options {
            counters: None,
            ..segment.options
        },
        ..*segment
    }
}

/// With every policy each segment has the same octets and leaves at the same time with counters and without.
#[test]
fn no_segment_moves_for_them() {
    let older = SendPolicy::LIST
        .iter()
        .map(|it| it.name)
        .filter(|name| *name != "toggle-both-ends");
    for policy in older {
        let seen = |counts| frames(policy, counts).into_iter();
        let bare =
            |(side, frame): (Side, MediumFrame)| (side, frame.at, without_counters(&frame.segment));
        let plain: Vec<_> = seen(false).map(bare).collect();
        assert!(seen(true).map(bare).eq(plain), "{policy}");
        assert!(seen(false).all(|(_, frame)| frame.segment == without_counters(&frame.segment)));
    }
}

/// Each pure ACK has them, and nothing else does. A policy that looks at them needs no switch, and its segments are as long as
/// others'.
#[test]
fn pure_acks_carry_them_and_nothing_else_does() {
    let longest = |frames: &[(Side, MediumFrame)]| {
        let lengths = frames.iter().map(|(_, frame)| frame.segment.len);
        lengths.max()
    };
    let full = longest(&frames("off", false));
    for (policy, counts) in [("off", true), ("toggle-both-ends", false)] {
        let frames = frames(policy, counts);
        assert_eq!(longest(&frames), full);
        let mut told = 0;
        for (_, MediumFrame { segment, .. }) in &frames {
            let options = segment.options;
            assert_eq!(
                options.counters.is_some(),
                segment.is_pure_ack(),
                "{segment}"
            );
            told += u32::from(options.counters.is_some());
        }
        assert!(told > 0, "{policy}");
    }
}

/// The client's last ACK tells that all answers were read at once, and that its requests waited for their acknowledgment for a
/// round trip at least; the server's ACKs likewise.
#[test]
fn they_tell_how_long_octets_waited() {
    let frames = frames("off", true);
    let told = |side: Side| {
        let own = frames.iter().filter(|(from, _)| *from == side);
        let mut reports = own.filter_map(|(_, frame)| frame.segment.options.counters);
        reports.next_back().expect("it acknowledged")
    };
    let client = told(Side::Client);
    let passed = client
        .unacknowledged
        .since(QueueCounters::NONE.unacknowledged);
    let waited = passed.wait().expect("it was acknowledged");
    assert!((4_000_000..50_000_000).contains(&waited), "{waited}");
    assert_eq!(client.unread.area, 0);
    assert!(client.unread.left > 3000, "{client}");
}
