//! Tests how the way in which a server waits decides what flush-on-block can do for it. The server
//! sleeps, spins on polls that find nothing, or computes after it has written its answer.

use std::sync::Arc;

use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_engine::{Config, Duration, Instant};
use tinygram_naglemark::workload::{Naglemark, Script, Waits, Writes};
use tinygram_sim::costs::HostCosts;
use tinygram_sim::medium::{Side, Wire};
use tinygram_sim::{Ended, Opening, World, WorldConfig};

/// Answers of four writes of 100 octets each.
const ANSWERS: usize = 200;

struct Came {
    /// The total time of the last half of the answers.
    late_half: Duration,
    /// The segments that carried data.
    segments: u64,
}

fn serve(policy: &str, waits: Waits) -> Came {
    let plan = Script {
        lengths: Arc::from(vec![400; ANSWERS]),
        request: 10,
        app_buffer: 100,
        read_size: u64::MAX,
        requests_per_connection: usize::MAX,
        set_up: Duration::ZERO,
        service: Duration::from_micros(20),
        // Longer than any server here computes, so that the server's computing alone delays nobody.
        think: match waits {
            Waits::ReadingAfter(_) => Duration::from_millis(10),
            _ => Duration::from_micros(20),
        },
        writes: Writes::Plain,
    };
    let wire = Wire::new(1_000_000_000, 78, 84, Duration::from_micros(20));
    let config = WorldConfig::over(
        wire,
        // If a poll cost nothing, the server would poll for ever at the same time.
        [HostCosts {
            read: Duration::from_micros(1),
            write: Duration::from_micros(1),
            ..HostCosts::NONE
        }; 2],
        1,
    );
    let server = Naglemark::server_that(waits, plan.clone());
    let mut world = World::new(config, [vec![Naglemark::client(plan)], vec![server]]);
    world.connect(Opening::Established, [end("off"), end(policy)]);
    assert_eq!(
        world.run(Instant::from_nanos(100_000_000_000)),
        Ended::Stopped
    );
    let programs = world.host(Side::Client).programs().next();
    let elapsed = programs.expect("the client").elapsed();
    assert_eq!(elapsed.len(), ANSWERS);
    let late_half = elapsed[ANSWERS / 2..]
        .iter()
        .fold(Duration::ZERO, |sum, one| sum + *one);
    let segments = world.host(Side::Server).sockets()[0]
        .counters()
        .data_segments;
    Came {
        late_half,
        segments,
    }
}

fn end(policy: &str) -> Config {
    let sizes = Sizes {
        mss: 1460,
        send_buffer: 65_536,
        receive_buffer: 65_535,
    };
    let mut config = (Profile::named("linux_6").expect("registered").config)(&sizes);
    config.sender.policy = SendPolicy::named(policy).expect(policy);
    config
}

#[test]
fn whoever_sleeps_or_spins_sends_an_answer_in_one_segment() {
    for waits in [Waits::Reading, Waits::Polling, Waits::Spinning] {
        let off = serve("off", waits);
        assert_eq!(off.segments, 4 * ANSWERS as u64, "{waits:?}");
        for policy in ["flush-on-block", "flush-on-block-eager"] {
            let came = serve(policy, waits);
            assert!(
                came.segments < ANSWERS as u64 + 70,
                "{policy}, {waits:?}: {}",
                came.segments
            );
            // A whole answer takes some microseconds longer on the wire than its last quarter.
            let longer = Duration::from_micros(5).times(ANSWERS as u64 / 2);
            let (late, allowed) = (came.late_half, off.late_half + longer);
            assert!(
                late <= allowed,
                "{policy}, {waits:?}: {late} against {allowed}"
            );
        }
    }
}

/// The watchdog comes twice, and then the socket's writes are no longer held: nothing is lost
/// compared with OFF.
#[test]
fn whoever_computes_with_its_answer_written_is_soon_left_alone() {
    let waits = Waits::ReadingAfter(Duration::from_millis(5));
    let off = serve("off", waits);
    let eager = serve("flush-on-block-eager", waits);
    assert_eq!(eager.late_half, off.late_half);
    let segments = eager.segments;
    assert!(segments > 4 * ANSWERS as u64 - 20, "{segments}");
    // Under the simple rule every answer loses a millisecond.
    let simple = serve("flush-on-block-simple", waits);
    assert!(
        simple.late_half > off.late_half + Duration::from_micros(900).times(ANSWERS as u64 / 2)
    );
}
