//! Paths that take less than the ends do, and tell it or not.

use tinygram_engine::connection::Connection;
use tinygram_engine::extensions::{Extensions, PathMtuSearch};
use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::sender::congestion::restart::IdleRestart;
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_engine::{Duration, Flags, Instant, Offset, Outbox, Segment};

const SIZES: Sizes = Sizes {
    mss: 1460,
    send_buffer: 1 << 16,
    receive_buffer: 1 << 16,
};
/// The time between two exchanges: a round trip takes two.
const TICK: Duration = Duration::from_millis(10);

/// A sender, a receiver, and the path between them.
struct World {
    sender: Connection,
    receiver: Connection,
    now: Instant,
    out: Outbox,
    /// The longest segment that the path takes, in octets, options included; longer ones vanish.
    takes: u32,
    /// What left the sender in the last exchange.
    left: Vec<Segment>,
    /// Octets that options take in each segment.
    options: u32,
}

impl World {
    fn new(takes: u32, change: impl FnOnce(&mut Extensions)) -> Self {
        let mut config = Profile::MODERN.builder(SIZES).build().expect("sound");
        config.sender.policy = SendPolicy::Off;
        config.extensions.timestamps = false;
        change(&mut config.extensions);
        let options = if config.extensions.timestamps { 12 } else { 0 };
        Self {
            sender: Connection::established(&config, SIZES.send_buffer),
            receiver: Connection::established(&config, SIZES.send_buffer),
            now: Instant::ZERO,
            out: Outbox::new(),
            takes,
            left: Vec::new(),
            options,
        }
    }

    /// The sender has opened the connection to the receiver, and knew until `until` that the path takes
    /// no segments above `known` octets.
    fn opened(known: u16, until: Instant, takes: u32) -> Self {
        let from_the_start = Some(PathMtuSearch::FROM_THE_START);
        let mut world = Self::new(takes, |extensions| {
            extensions.path_mtu_search = from_the_start;
        });
        let mut config = Profile::MODERN.builder(SIZES).build().expect("sound");
        config.sender.policy = SendPolicy::Off;
        config.extensions.timestamps = false;
        config.extensions.path_mtu_search = from_the_start;
        world.sender = Connection::new(&config);
        world.sender.limit_path_mss(known, until);
        world.sender.connect(Instant::ZERO, &mut world.out);
        let syn = Segment {
            seq: Offset::SYN,
            ack: Offset::FIRST,
            flags: Flags::SYN.with(Flags::ACK),
            ..world.out.segments[0]
        };
        let out = &mut world.out;
        world.sender.on_segment(Instant::ZERO, &syn, out);
        world.out.segments.clear();
        world
    }

    /// Makes exchanges up to `secs` seconds after the start; returns the longest segment that left.
    fn longest_until(&mut self, secs: u64) -> u32 {
        let end = Instant::ZERO + Duration::from_secs(secs);
        let mut longest = 0;
        while self.now < end {
            self.exchange();
            let lens = self.left.iter().map(|segment| segment.len);
            longest = longest.max(lens.max().unwrap_or(0));
        }
        longest
    }

    fn mss(&self) -> u32 {
        self.sender.sender().vars().mss
    }

    fn cwnd(&self) -> u64 {
        self.sender.sender().vars().cwnd
    }

    /// Writes as much as fits, and passes on what leaves.
    fn exchange(&mut self) {
        self.now += TICK;
        let (now, out) = (self.now, &mut self.out);
        while self.sender.next_wakeup().is_some_and(|at| at <= now) {
            self.sender.on_wakeup(now, out);
        }
        let space = self.sender.sender().space();
        if space > 0 {
            self.sender.write(now, space, false, out);
        }
        self.left = std::mem::take(&mut out.segments);
        let mut back = Outbox::new();
        for segment in &self.left {
            if segment.len + self.options <= self.takes {
                self.receiver.on_segment(now, segment, &mut back);
            }
        }
        let readable = self.receiver.receiver().readable();
        self.receiver.read(now, readable, &mut back);
        while self.receiver.next_wakeup().is_some_and(|at| at <= now) {
            self.receiver.on_wakeup(now, &mut back);
        }
        self.now += TICK;
        for segment in &back.segments {
            self.sender.on_segment(self.now, segment, out);
        }
    }

    fn exchanges(&mut self, secs: u64) {
        let end = self.now + Duration::from_secs(secs);
        while self.now < end {
            self.exchange();
        }
    }

    fn timeouts(&self) -> u64 {
        self.sender.sender().counters().timeouts
    }

    /// Returns whether segments are as large as the path takes, within what a search leaves open.
    fn found(&self) -> bool {
        let size = self.mss() + self.options;
        size <= self.takes && self.takes.min(1460) - size < 8
    }
}

/// After a black hole the search finds the largest segments that the path takes (RFC 4821, section
/// 7.3), and no further timeout occurs. Without it the segments stay as small as the black hole made
/// them.
#[test]
fn after_a_black_hole_the_search_finds_what_the_path_takes() {
    for takes in [700, 1030, 1242, 1243, 1455] {
        for timestamps in [false, true] {
            let mut world = World::new(takes, |extensions| {
                extensions.timestamps = timestamps;
                // The search includes it.
                extensions.black_hole_detection = false;
            });
            world.exchanges(60);
            let timeouts = world.timeouts();
            assert!(timeouts > 0);
            assert!(world.found(), "{takes}, {timestamps}: {}", world.mss());
            world.exchanges(60);
            assert_eq!(world.timeouts(), timeouts);
        }
        let mut world = World::new(takes, |extensions| extensions.path_mtu_search = None);
        world.exchanges(120);
        let small = if takes < 1024 { 536 } else { 1024 };
        assert_eq!(world.mss(), small);
    }
}

/// From the start: no probe that is lost leads to a timeout or makes the window smaller, also if its
/// data does not leave again at once, because it is paced, and also without SACK.
#[test]
fn a_search_from_the_start_costs_no_timeout_and_no_window() {
    let paths = [1024, 1099, 1234, 1460, 9000];
    let kinds = [(false, true), (true, true), (false, false)];
    for (takes, (paced, sack)) in paths
        .into_iter()
        .flat_map(|it| kinds.map(|kind| (it, kind)))
    {
        let mut world = World::new(takes, |extensions| {
            extensions.path_mtu_search = Some(PathMtuSearch::FROM_THE_START);
            extensions.slow_start_exit = None;
            extensions.pacing = paced;
            extensions.sack = extensions.sack.filter(|_| sack);
        });
        assert_eq!(world.mss(), 1024);
        let mut cwnd = world.cwnd();
        for _ in 0..1000 {
            world.exchange();
            assert!(world.cwnd() >= cwnd, "{takes}");
            cwnd = world.cwnd();
        }
        assert_eq!(world.timeouts(), 0);
        assert!(world.found(), "{takes}: {}", world.mss());
    }
}

/// The path is searched again ten minutes later, because it may have changed (RFC 8899, section
/// 5.1.1).
#[test]
fn a_path_that_takes_more_later_is_found_out_after_ten_minutes() {
    let mut world = World::new(1100, |extensions| {
        extensions.path_mtu_search = Some(PathMtuSearch::FROM_THE_START);
    });
    world.exchanges(500);
    assert!(world.found());
    let before = world.mss();
    world.takes = 1460;
    world.exchanges(90);
    assert_eq!(world.mss(), before);
    world.exchanges(20);
    assert!(world.found(), "{}", world.mss());
}

/// A router's report bounds the search (RFC 4821, section 7.6.2), and what is known of the path
/// before the first segment counts more than the size with which a search begins.
#[test]
fn a_routers_report_bounds_the_search() {
    let mut world = World::new(1100, |extensions| {
        extensions.path_mtu_search = Some(PathMtuSearch::FROM_THE_START);
    });
    // As if a router had reported 1100 octets for the first probe.
    let (now, out) = (world.now, &mut world.out);
    world.sender.on_path_mss(now, 1100, out);
    let mut largest = 0;
    for _ in 0..500 {
        world.exchange();
        let lens = world.left.iter().map(|segment| segment.len);
        largest = largest.max(lens.max().unwrap_or(0));
    }
    assert!(world.found());
    assert!(largest <= 1100, "{largest}");

    let mut config = Profile::MODERN.builder(SIZES).build().expect("sound");
    config.extensions.path_mtu_search = Some(PathMtuSearch::FROM_THE_START);
    let mss = |known| {
        let mut connection = Connection::new(&config);
        if let Some(mss) = known {
            connection.limit_path_mss(mss, Instant::FAR_FUTURE);
        }
        let mut out = Outbox::new();
        connection.connect(Instant::ZERO, &mut out);
        let syn = Segment {
            seq: Offset::SYN,
            ack: Offset::FIRST,
            flags: Flags::SYN.with(Flags::ACK),
            ..out.segments[0]
        };
        connection.on_segment(Instant::ZERO, &syn, &mut out);
        connection.sender().vars().mss
    };
    assert_eq!(
        (mss(None), mss(Some(1200)), mss(Some(600))),
        (1024, 1188, 588)
    );
}

/// A limit whose time is over leaves room for one of the larger segments in the window, and in the
/// window after an idle time.
#[test]
fn the_window_has_room_for_the_segments_that_return() {
    let mut config = Profile::MODERN.builder(SIZES).build().expect("sound");
    config.sender.initial_cwnd = 1460;
    config.sender.idle_restart = IdleRestart::Reset;
    config.sender.policy = SendPolicy::Off;
    config.extensions = Extensions {
        path_mss_expires: true,
        ..Extensions::NONE
    };
    let at = |secs| Instant::ZERO + Duration::from_secs(secs);
    let mut connection = Connection::new(&config);
    connection.limit_path_mss(500, at(600));
    let mut out = Outbox::new();
    connection.connect(Instant::ZERO, &mut out);
    let mut peer = Segment {
        seq: Offset::SYN,
        ack: Offset::FIRST,
        flags: Flags::SYN.with(Flags::ACK),
        ..out.segments[0]
    };
    connection.on_segment(Instant::ZERO, &peer, &mut out);
    out.segments.clear();
    let vars = connection.sender().vars();
    assert_eq!((vars.mss, vars.cwnd), (500, 500));
    connection.write(at(601), 1460, false, &mut out);
    let lens: Vec<_> = out.segments.iter().map(|segment| segment.len).collect();
    assert_eq!(lens, [1460]);
    // Idle for so long that the window is the initial one again.
    (peer.seq, peer.ack, peer.flags) = (Offset::FIRST, Offset::new(1461), Flags::ACK);
    connection.on_segment(at(602), &peer, &mut out);
    out.segments.clear();
    connection.write(at(1000), 1460, false, &mut out);
    assert_eq!(out.segments[0].len, 1460);
    assert_eq!(connection.sender().vars().cwnd, 1460);
}

/// A black hole that was met after a router's report: when the report's time is over, the large
/// segments do not come back.
#[test]
fn a_black_hole_outlasts_a_routers_report() {
    let mut world = World::new(1200, |extensions| extensions.path_mtu_search = None);
    let (now, out) = (world.now, &mut world.out);
    world.sender.on_path_mss(now, 1200, out);
    world.exchanges(10);
    assert_eq!(world.mss(), 1200);
    world.takes = 1100;
    world.exchanges(60);
    let timeouts = world.timeouts();
    assert_eq!(world.mss(), 1024);
    world.exchanges(600);
    assert_eq!((world.mss(), world.timeouts()), (1024, timeouts));
}

/// What a router reported as too large is sent again, and the window stays (RFC 1191, section 6.5),
/// also if it does not leave at once, because it is paced.
#[test]
fn what_was_too_large_for_a_router_is_no_congestion() {
    for paced in [false, true] {
        let mut world = World::new(1460, |extensions| {
            extensions.pacing = paced;
            extensions.slow_start_exit = None;
        });
        for _ in 0..10 {
            world.exchange();
        }
        world.takes = 1000;
        let mut cwnd = world.cwnd();
        let (now, out) = (world.now, &mut world.out);
        world.sender.on_path_mss(now, 1000, out);
        for _ in 0..100 {
            world.exchange();
            assert!(world.cwnd() >= cwnd, "{paced}: {} {cwnd}", world.cwnd());
            cwnd = world.cwnd();
        }
        assert_eq!(world.timeouts(), 0);
    }
}

/// A limit that expires while the path is searched makes larger sizes worth a probe, no more: the
/// segments do not become larger than the path takes.
#[test]
fn a_limit_that_expires_during_a_search_is_searched_beyond() {
    let until = Instant::ZERO + Duration::from_secs(595);
    let mut world = World::opened(1200, until, 1310);
    world.exchanges(60);
    assert!(world.found(), "{}", world.mss());
    let cwnd = world.cwnd();
    let largest = world.longest_until(650);
    assert!(world.found(), "{}", world.mss());
    assert!(
        largest > 1310,
        "{largest}: the whole range is searched again"
    );
    assert_eq!(world.timeouts(), 0);
    assert!(world.cwnd() >= cwnd);
}

/// What is known of the path bounds a search from below: the first probe is larger.
#[test]
fn a_search_begins_above_what_is_known() {
    for known in [1100, 1300, 1400] {
        let mut world = World::opened(known, Instant::FAR_FUTURE, 1460);
        world.exchanges(10);
        assert!(world.found(), "{known}: {}", world.mss());
    }
}

/// The first probe is the middle of the range, unless segments are as large already.
#[test]
fn a_search_halves_the_range() {
    let base = PathMtuSearch::FROM_THE_START.base_mss;
    for (known, low) in [(1100_u16, base), (1300, 1300)] {
        let mut world = World::opened(known, Instant::FAR_FUTURE, 1460);
        let larger = |segment: &&Segment| segment.len > u32::from(known);
        let probe = loop {
            match world.out.segments.iter().find(larger) {
                Some(segment) => break segment.len,
                None => world.exchange(),
            }
        };
        assert_eq!(probe, u32::midpoint(low, 1460), "{known}");
    }
}

/// Larger segments are not tried for ten minutes after a router's report, however long ago the search
/// began (RFC 8201, section 4: five at least).
#[test]
fn a_routers_report_puts_off_the_next_search() {
    let mut world = World::new(1460, |extensions| {
        extensions.path_mtu_search = Some(PathMtuSearch::FROM_THE_START);
    });
    world.longest_until(590);
    assert!(world.found());
    let (now, out) = (world.now, &mut world.out);
    world.takes = 1000;
    world.sender.on_path_mss(now, 1000, out);
    // What left before the report, which is still to be passed on.
    world.exchange();
    let largest = world.longest_until(1189);
    assert_eq!((largest, world.mss()), (1000, 1000));
    world.takes = 1460;
    world.longest_until(1200);
    assert!(world.found(), "{}", world.mss());
}

/// A probe that arrives although a router reported that the path takes less does not undo the report;
/// without SACK everything leaves again, and what is acknowledged may have been in either segment.
#[test]
fn a_report_outweighs_the_probe_on_its_way() {
    for sack in [false, true] {
        let mut world = World::new(9000, |extensions| {
            extensions.path_mtu_search = Some(PathMtuSearch::FROM_THE_START);
            extensions.sack = extensions.sack.filter(|_| sack);
        });
        let probes = |segment: &Segment| segment.len > 1024;
        while !world.out.segments.iter().any(probes) {
            world.exchange();
        }
        assert_eq!(world.mss(), 1024);
        let (now, out) = (world.now, &mut world.out);
        world.sender.on_path_mss(now, 700, out);
        for _ in 0..50 {
            world.exchange();
            assert_eq!(world.mss(), 700, "{sack}");
        }
    }
}
