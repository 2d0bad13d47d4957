//! What a user or a peer may do that no rule foresaw: extreme numbers, buffers of no size, moments
//! that have come, duplicates with another window. Each story once went wrong.

use tinygram_engine::extensions::Keepalive;
use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::segment::Flags;
use tinygram_engine::sender::send_policy::{Offer, Rule, SendPolicy, Vars, Verdict, Why};
use tinygram_engine::{Connection, Duration, Events, Instant, Offset, Outbox, Segment, State};

const SIZES: Sizes = Sizes {
    mss: 1000,
    send_buffer: 10_000,
    receive_buffer: 20_000,
};

fn at_ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn of(profile: &Profile) -> Connection {
    let config = profile.builder(SIZES).build().unwrap();
    Connection::established(&config, 60_000)
}

/// A segment of the peer's, in order, that acknowledges all that was sent.
fn from_peer(connection: &Connection, len: u32, window: u32) -> Segment {
    Segment {
        seq: connection.receiver().nxt(),
        ack: connection.sender().vars().max,
        len,
        window,
        flags: Flags::ACK,
        options: tinygram_engine::options::Options::default(),
    }
}

#[test]
fn a_buffer_without_room_takes_nothing_in_any_profile() {
    for profile in Profile::LIST {
        let mut out = Outbox::new();
        let mut full = of(profile);
        // The peer's window closes what leaves; the rest fills the buffer.
        while full.write(Instant::ZERO, 5_000, false, &mut out) > 0 {}
        full.set_notsent_low_water(Some(1));
        let taken = full.write(Instant::ZERO, 50_000_000, false, &mut out);
        assert_eq!(taken, 0, "{} with a low water mark", profile.name);
        let mut none = of(profile);
        none.set_send_buffer(0);
        let taken = none.write(Instant::ZERO, u64::MAX, false, &mut out);
        assert!(taken <= 65_536, "{} took {taken}", profile.name);
    }
}

#[test]
fn a_write_of_all_octets_there_are_returns() {
    for profile in Profile::LIST {
        let taken = of(profile).write(Instant::ZERO, u64::MAX, false, &mut Outbox::new());
        assert!(taken < 1 << 20, "{} took {taken}", profile.name);
    }
}

#[test]
fn the_largest_numbers_are_bounded() {
    for profile in Profile::LIST {
        let config = profile.builder(SIZES).build().unwrap();
        let mut connection = Connection::established(&config, u64::MAX);
        let mut out = Outbox::new();
        connection.write(Instant::ZERO, 5_000, false, &mut out);
        assert_eq!(connection.sender().vars().wnd, 1 << 30);
    }
    for length in [
        Duration::from_secs(u64::MAX),
        Duration::from_millis(u64::MAX),
        Duration::from_micros(u64::MAX),
    ] {
        assert_eq!(length, Duration::from_nanos(u64::MAX));
    }
}

/// Holds every runt until a moment that it names by `after`.
#[derive(Clone, Debug)]
struct Until {
    after: Duration,
}

impl Rule for Until {
    fn decide(&self, _: &Offer, vars: &Vars) -> Verdict {
        Verdict::hold_until(Why::Unacknowledged, vars.now + self.after)
    }
}

/// Returns how often such a policy wakes the sender in a millisecond.
fn wakings_in_a_millisecond(after: Duration) -> u32 {
    let config = Profile::MODERN
        .builder(SIZES)
        .send_policy(SendPolicy::custom(Until { after }))
        .build()
        .unwrap();
    let mut connection = Connection::established(&config, 60_000);
    let mut out = Outbox::new();
    connection.write(Instant::ZERO, 100, false, &mut out);
    assert!(out.segments.is_empty(), "held");
    let mut wakings = 0;
    while let Some(next) = connection.next_wakeup()
        && next <= at_ms(1)
    {
        connection.on_wakeup(next, &mut out);
        wakings += 1;
        assert!(wakings < 10_000, "the policy occupies the processor");
    }
    wakings
}

#[test]
fn a_policy_that_names_the_present_is_asked_again_soon_and_not_forever() {
    for after in [Duration::ZERO, Duration::from_nanos(1)] {
        let wakings = wakings_in_a_millisecond(after);
        assert!((90..=101).contains(&wakings), "{after:?}: {wakings}");
    }
    assert_eq!(wakings_in_a_millisecond(Duration::from_micros(100)), 10);
}

#[test]
fn a_user_timeout_ends_the_probing_of_an_idle_peer() {
    let keepalive = Keepalive {
        idle: Duration::from_secs(10),
        interval: Duration::from_secs(1),
        probes: 100,
    };
    let mut connection = of(&Profile::LINUX_6);
    let mut out = Outbox::new();
    connection.set_keepalive(Instant::ZERO, Some(keepalive));
    connection.set_user_timeout(Some(Duration::from_secs(13)));
    let mut ended = None;
    while let Some(next) = connection.next_wakeup() {
        connection.on_wakeup(next, &mut out);
        if out.take_events().has(Events::TIMED_OUT) {
            ended = Some(next);
        }
    }
    // Probes at 10, 11 and 12 s; at 13 s the peer has been silent for the user timeout.
    assert_eq!(ended, Some(at_ms(13_000)));
}

#[test]
fn a_user_timeout_gives_more_probes_than_their_number() {
    let keepalive = Keepalive {
        idle: Duration::from_secs(10),
        interval: Duration::from_secs(1),
        probes: 1,
    };
    let mut connection = of(&Profile::LINUX_6);
    let mut out = Outbox::new();
    connection.set_keepalive(Instant::ZERO, Some(keepalive));
    connection.set_user_timeout(Some(Duration::from_secs(20)));
    while connection
        .next_wakeup()
        .is_some_and(|at| at < at_ms(20_000))
    {
        let next = connection.next_wakeup().expect("just seen");
        connection.on_wakeup(next, &mut out);
    }
    assert_eq!(connection.state(), State::Established);
    assert_eq!(out.segments.len(), 10);
}

#[test]
fn a_duplicate_does_not_move_the_window() {
    for window in [50, 50_000] {
        let mut connection = of(&Profile::MODERN);
        let mut out = Outbox::new();
        let first = from_peer(&connection, 3, 1_000);
        connection.on_segment(at_ms(1), &first, &mut out);
        assert_eq!(connection.sender().vars().wnd, 1_000);
        connection.on_segment(at_ms(2), &Segment { window, ..first }, &mut out);
        assert_eq!(connection.sender().vars().wnd, 1_000, "moved to {window}");
    }
}

/// Tried on Linux 6.18: in ESTABLISHED, too, it answers with an ACK.
#[test]
fn linux_answers_an_acknowledgment_of_unsent_data() {
    let mut connection = of(&Profile::LINUX_6);
    let mut out = Outbox::new();
    let sane = from_peer(&connection, 0, 1_000);
    let ack = Offset::new(sane.ack.get() + 100);
    connection.on_segment(at_ms(1), &Segment { ack, ..sane }, &mut out);
    assert_eq!(out.segments.len(), 1);
    assert!(out.segments[0].flags.has(Flags::ACK));
}

/// Opens from SYN-SENT with something written, and closes before the answer.
#[test]
fn what_was_written_before_the_answer_follows_it_although_closed() {
    let config = Profile::MODERN.builder(SIZES).build().unwrap();
    let mut ends = [Connection::new(&config), Connection::new(&config)];
    let mut out = Outbox::new();
    ends[1].listen();
    ends[0].connect(Instant::ZERO, &mut out);
    assert_eq!(ends[0].write(Instant::ZERO, 300, false, &mut out), 300);
    ends[0].close(Instant::ZERO, &mut out);
    assert_eq!(ends[0].state(), State::SynSent);
    let mut end = 1;
    for turn in 0..20 {
        for segment in std::mem::take(&mut out.segments) {
            ends[end].on_segment(at_ms(turn), &segment, &mut out);
        }
        end = 1 - end;
    }
    assert_eq!(ends[1].read(at_ms(30), u64::MAX, &mut out), 300);
    assert_eq!(ends[1].state(), State::CloseWait);
}

#[test]
fn a_handshake_that_fails_after_a_close_is_reported() {
    let config = Profile::MODERN.builder(SIZES).build().unwrap();
    let mut connection = Connection::new(&config);
    let mut out = Outbox::new();
    connection.connect(Instant::ZERO, &mut out);
    connection.write(Instant::ZERO, 300, false, &mut out);
    connection.close(Instant::ZERO, &mut out);
    let _ = out.take_events();
    let refusal = Segment {
        seq: Offset::SYN,
        ack: Offset::FIRST,
        len: 0,
        window: 0,
        flags: Flags::RST.with(Flags::ACK),
        options: tinygram_engine::options::Options::default(),
    };
    connection.on_segment(at_ms(1), &refusal, &mut out);
    assert!(out.take_events().has(Events::RESET));
}

#[test]
fn nothing_written_means_nothing_to_keep() {
    let config = Profile::MODERN.builder(SIZES).build().unwrap();
    let mut connection = Connection::new(&config);
    let mut out = Outbox::new();
    connection.connect(Instant::ZERO, &mut out);
    connection.close(Instant::ZERO, &mut out);
    assert_eq!(connection.state(), State::Closed);
}
