//! Heidemann's problems with P-HTTP and their fixes, each as a short story.

use tinygram_engine::connection::Config;
use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::receiver::ack_policy::AckTimer;
use tinygram_engine::sender::congestion::restart::{IdleAfter, IdleRestart};
use tinygram_engine::{Duration, Instant};
use tinygram_sim::costs::HostCosts;
use tinygram_sim::medium::{Side, Wire};
use tinygram_sim::observer::Tap;
use tinygram_sim::workload::http::{Document, Http, HttpPlan, ServerHabits};
use tinygram_sim::{Ended, Opening, World, WorldConfig};

const LATE: Instant = Instant::from_nanos(600_000_000_000);
const NO_TIME: Duration = Duration::ZERO;

const fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Apache 1.1 as it was: headers flushed on their own, 4096 octets a write, Nagle.
const APACHE: ServerHabits = ServerHabits {
    buffer: 4096,
    headers_apart: true,
    nodelay: false,
    service: NO_TIME,
};
/// The fix of section 2.2.
const HEADERS_WITH_DATA: ServerHabits = ServerHabits {
    headers_apart: false,
    ..APACHE
};
/// The fixes of sections 2.2 and 2.3 together.
const BOTH_FIXES: ServerHabits = ServerHabits {
    nodelay: true,
    ..HEADERS_WITH_DATA
};

/// Returns what a client of this server sees for documents of these sizes: how long each one took,
/// and the lengths of the server's data segments.
fn visit(server: ServerHabits, persistent: bool, bodies: &[u64]) -> (Vec<Duration>, Vec<u32>) {
    let documents = bodies.iter().map(|body| document(*body, NO_TIME));
    run(server, persistent, documents.collect(), IdleRestart::None)
}

fn document(body: u64, pause: Duration) -> Document {
    Document {
        request: 52,
        headers: 226,
        body,
        pause,
    }
}

fn run(
    server: ServerHabits,
    persistent: bool,
    documents: Vec<Document>,
    restart: IdleRestart,
) -> (Vec<Duration>, Vec<u32>) {
    let plan = HttpPlan {
        documents: documents.into(),
        persistent,
        server,
        open: NO_TIME,
        close: NO_TIME,
        think: NO_TIME,
    };
    // A round trip of 2 ms; the hosts' work takes no time.
    let wire = Wire::new(100_000_000, 78, 84, millis(1));
    let config = WorldConfig::over(wire, [HostCosts::NONE; 2], 1);
    let programs = [vec![Http::client(plan.clone())], Http::server(&plan)];
    let mut world = World::watched(config, programs, Tap::default());
    for _ in 0..plan.connections() {
        world.connect(Opening::Handshake, [sun(restart), sun(restart)]);
    }
    assert_eq!(world.run(LATE), Ended::Stopped);
    let client = world.host(Side::Client).programs().next();
    let fetched = client.expect("a client").fetched().iter();
    let passed = world.observer().passed().into_iter();
    let data = passed.filter(|(from, frame)| *from == Side::Server && frame.segment.len > 0);
    (
        fetched.map(|got| got.ended.since(got.began)).collect(),
        data.map(|(_, frame)| frame.segment.len).collect(),
    )
}

/// SunOS 4.1 with a delayed-ACK timer for each connection, so that no tick comes by chance.
fn sun(restart: IdleRestart) -> Config {
    let profile = Profile::named("sunos_4_1").expect("registered");
    let mut config = (profile.config)(&Sizes {
        mss: 1460,
        send_buffer: 16_384,
        receive_buffer: 16_384,
    });
    config.receiver.timer = AckTimer::PerConnection(millis(200));
    config.sender.idle_restart = restart;
    config
}

/// Section 2.2: after the headers the initial window has room for one full segment, and the client
/// has too little to acknowledge. Sending the headers in the first full segment ends the stall.
#[test]
fn a_short_initial_segment_stalls_and_headers_with_the_data_do_not() {
    let page = [4 * 1460];
    let (elapsed, sent) = visit(APACHE, true, &page);
    assert!(elapsed[0] > millis(200), "{elapsed:?}");
    assert_eq!(sent, [226, 1460, 1460, 1460, 1460]);
    let (elapsed, sent) = visit(HEADERS_WITH_DATA, true, &page);
    assert!(elapsed[0] < millis(20), "{elapsed:?}");
    assert_eq!(sent, [1460, 1460, 1460, 1460, 226]);
}

/// Section 2.3: 4109 octets leave as 1460, 1460, 1176, and 13 that Nagle keeps until the odd
/// segment is acknowledged. Without Nagle, or if closing pushes them out, nothing waits.
#[test]
fn a_short_final_segment_stalls_and_without_nagle_or_with_a_close_it_does_not() {
    // The first document opens the window.
    let page = [20_000, 3883];
    let (elapsed, sent) = visit(HEADERS_WITH_DATA, true, &page);
    assert!(elapsed[1] > millis(200), "{elapsed:?}");
    assert_eq!(sent[sent.len() - 4..], [1460, 1460, 1176, 13]);
    let (elapsed, _) = visit(BOTH_FIXES, true, &page);
    assert!(elapsed[1] < millis(20), "{elapsed:?}");
    let (elapsed, _) = visit(HEADERS_WITH_DATA, false, &page);
    assert!(elapsed[1] < millis(20), "{elapsed:?}");
}

/// Each fix leaves the other's problem: a page that meets both problems needs both fixes.
#[test]
fn a_page_that_meets_both_problems_needs_both_fixes() {
    let page = [4 * 1460, 3883];
    let stalls = |server| {
        let (elapsed, _) = visit(server, true, &page);
        let stalled = elapsed.iter().filter(|time| **time > millis(200));
        stalled.count()
    };
    let nodelay = ServerHabits {
        nodelay: true,
        ..APACHE
    };
    assert_eq!(
        [APACHE, nodelay, HEADERS_WITH_DATA, BOTH_FIXES].map(stalls),
        [1, 1, 1, 0]
    );
}

/// Section 2.4: a connection that restarts from one segment after a pause is as slow as a fresh
/// one; one that does not restart is as fast as before.
#[test]
fn a_reset_window_costs_the_next_page_what_persistence_saved() {
    let after_a_pause = |restart| {
        let documents = vec![
            document(30_000, NO_TIME),
            document(16_000, NO_TIME),
            document(16_000, millis(30_000)),
        ];
        let (elapsed, _) = run(BOTH_FIXES, true, documents, restart);
        (elapsed[1], elapsed[2])
    };
    let (busy, idle) = after_a_pause(IdleRestart::None);
    assert_eq!(busy, idle);
    let (busy, idle) = after_a_pause(IdleRestart::OneSegment(IdleAfter::TimeOut));
    // The time of one segment and of the delayed ACK it waits for.
    assert!(busy < millis(10) && idle > millis(200), "{busy} {idle}");
    let (busy, idle) = after_a_pause(IdleRestart::Paced);
    assert!(idle < busy + millis(5), "{busy} {idle}");
}
