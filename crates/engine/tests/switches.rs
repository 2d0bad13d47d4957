//! What an application or a router changes during a connection, and the counters of it: things that
//! no script can state.

use tinygram_engine::connection::{Config, Connection};
use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::sender::congestion::restart::IdleRestart;
use tinygram_engine::sender::send_policy::Origin;
use tinygram_engine::sender::send_policy::{SendPolicy, Verdict, Why, from_fn};
use tinygram_engine::sender::{RtoRules, RttEstimator};
use tinygram_engine::{
    Duration, Events, Flags, Instant, Offset, Outbox, SackBlocks, Segment, Span,
};

const SIZES: Sizes = Sizes {
    mss: 1000,
    send_buffer: 60_000,
    receive_buffer: 60_000,
};

fn at_ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn octets(from: u64, to: u64) -> Span {
    Span::new(Offset::new(from), Offset::new(to))
}

/// A connection, its clock in milliseconds, and the segments that left.
struct Told {
    connection: Connection,
    out: Outbox,
    now: Instant,
}

impl Told {
    fn new(config: &Config) -> Self {
        Self {
            connection: Connection::established(config, 60_000),
            out: Outbox::new(),
            now: Instant::ZERO,
        }
    }

    fn modern(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Profile::MODERN
            .builder(SIZES)
            .send_policy(SendPolicy::Nagle)
            .build()
            .expect("sound");
        config.extensions.timestamps = false;
        config.extensions.linux.push_ends_writes = None;
        change(&mut config);
        Self::new(&config)
    }

    fn at(&mut self, millis: u64) -> &mut Self {
        while let Some(wakeup) = self.connection.next_wakeup()
            && wakeup <= at_ms(millis)
        {
            self.connection.on_wakeup(wakeup, &mut self.out);
        }
        self.now = at_ms(millis);
        self
    }

    fn writes(&mut self, octets: u64) -> &mut Self {
        self.connection
            .write(self.now, octets, false, &mut self.out);
        self
    }

    fn hears(&mut self, segment: &Segment) -> &mut Self {
        self.connection.on_segment(self.now, segment, &mut self.out);
        self
    }

    fn acked(&mut self, up_to: u64, sacks: &[Span]) -> &mut Self {
        let mut segment = data(1, 0);
        segment.ack = Offset::new(up_to);
        let mut blocks = SackBlocks::NONE;
        for block in sacks {
            blocks.push(*block);
        }
        segment.options.sack = blocks;
        self.hears(&segment)
    }

    /// Returns what left since the last call.
    fn left(&mut self) -> Vec<Span> {
        let segments = std::mem::take(&mut self.out.segments);
        segments.iter().map(Segment::data).collect()
    }

    fn acks(&mut self) -> usize {
        self.left().len()
    }
}

fn data(from: u64, len: u32) -> Segment {
    Segment {
        seq: Offset::new(from),
        ack: Offset::new(1),
        len,
        window: 60_000,
        flags: Flags::ACK,
        options: Default::default(),
    }
}

/// Setting TCP_QUICKACK sends a waiting ACK. If none waits, nothing is sent; clearing it sends
/// nothing.
#[test]
fn a_quick_ack_is_sent_where_one_waits() {
    let mut told = Told::new(&Profile::SOLARIS_7.builder(SIZES).build().expect("sound"));
    let quick = |told: &mut Told, on| {
        let Told {
            connection, out, ..
        } = told;
        connection.set_quick_ack(at_ms(1), on, out);
        told.acks()
    };
    assert_eq!(quick(&mut told, true), 0);
    told.at(1).hears(&data(1, 100));
    assert_eq!(told.acks(), 0);
    assert_eq!(quick(&mut told, false), 0);
    assert_eq!(quick(&mut told, true), 1);
    assert_eq!(quick(&mut told, true), 0);
}

/// Both directions are shut but the application still holds the socket: arriving data is refused
/// with a RST.
#[test]
fn data_that_nobody_will_read_is_refused() {
    let mut told = Told::modern(|_| ());
    told.connection.read_no_more();
    told.hears(&data(1, 100)).at(500);
    assert!(
        told.connection.receiver().nxt() == Offset::new(101),
        "one direction alone takes data"
    );
    told.out.segments.clear();
    let Told {
        connection, out, ..
    } = &mut told;
    connection.close(at_ms(500), out);
    out.segments.clear();
    out.take_events();
    told.hears(&data(101, 100));
    let reset = told
        .out
        .segments
        .iter()
        .any(|segment| segment.flags.has(Flags::RST));
    assert!(reset && told.out.take_events().has(Events::RESET));
}

/// Linux's policy follows the switch: it acknowledges at once while it is on and delays while it is
/// off.
#[test]
fn the_policy_hears_of_the_quick_ack_switch() {
    let mut told = Told::new(&Profile::LINUX_6.builder(SIZES).build().expect("sound"));
    let mut at = 0;
    let mut takes = |told: &mut Told, number: u64| {
        at += 1;
        told.at(at).hears(&data(1 + 100 * number, 100));
        told.acks()
    };
    let Told {
        connection, out, ..
    } = &mut told;
    connection.set_quick_ack(Instant::ZERO, false, out);
    assert_eq!(takes(&mut told, 0), 0);
    let Told {
        connection, out, ..
    } = &mut told;
    connection.set_quick_ack(at_ms(2), true, out);
    assert_eq!(told.acks(), 1);
    assert_eq!(takes(&mut told, 1), 1);
}

/// TCP_USER_TIMEOUT, set on an established connection.
#[test]
fn a_user_timeout_ends_a_silence_that_began_before() {
    let ended = |limit: Option<u64>| {
        let mut told = Told::modern(|_| {});
        let limit = limit.map(Duration::from_secs);
        told.connection.set_user_timeout(limit);
        told.writes(10).at(29_000);
        let early = told.out.events.has(Events::TIMED_OUT);
        told.at(31_000);
        (early, told.out.events.has(Events::TIMED_OUT))
    };
    assert_eq!(ended(None), (false, false));
    assert_eq!(ended(Some(30)), (false, true));
    assert_eq!(ended(Some(10)), (true, true));
}

/// RFC 1191, section 6.5: segments that are too long are resent at once in shorter ones, and the
/// window stays. A limit no lower than before changes nothing.
#[test]
fn a_path_that_takes_less_has_it_sent_again_at_once() {
    let tells = |sack: bool, mss| {
        let mut told = Told::modern(|config| {
            config.extensions.sack = config.extensions.sack.filter(|_| sack);
        });
        told.writes(2000);
        assert_eq!(told.left(), [octets(1, 1001), octets(1001, 2001)]);
        let cwnd = told.connection.sender().vars().cwnd;
        let Told {
            connection, out, ..
        } = &mut told;
        connection.on_path_mss(at_ms(1), mss, out);
        assert_eq!(connection.sender().vars().cwnd, cwnd);
        (connection.sender().vars().mss, told.left())
    };
    for sack in [true, false] {
        assert_eq!(tells(sack, 1000), (1000, vec![]));
        assert_eq!(tells(sack, 1400), (1000, vec![]));
        let (mss, left) = tells(sack, 999);
        assert_eq!((mss, left[0]), (999, octets(1, 1000)));
    }
    let (mss, left) = tells(true, 500);
    assert_eq!(mss, 500);
    let again: Vec<_> = (0..4).map(|n| octets(1 + 500 * n, 501 + 500 * n)).collect();
    assert_eq!(left[..4], again);
    // Nothing is outstanding: nothing is sent.
    let mut told = Told::modern(|_| {});
    let Told {
        connection, out, ..
    } = &mut told;
    connection.on_path_mss(at_ms(1), 500, out);
    assert_eq!((connection.sender().vars().mss, told.left()), (500, vec![]));
}

/// A path limit known before the handshake applies to the connection: the initial window has as
/// many segments, but shorter ones.
#[test]
fn a_path_known_before_shortens_the_initial_window() {
    let known = |mss| {
        let config = Profile::MODERN.builder(SIZES).initial_cwnd(4000);
        let mut connection = Connection::new(&config.build().expect("sound"));
        connection.limit_path_mss(mss, Instant::FAR_FUTURE);
        let vars = connection.sender().vars();
        (vars.mss, vars.cwnd)
    };
    assert_eq!((known(1000), known(1500)), ((1000, 4000), (1000, 4000)));
    assert_eq!((known(999), known(500)), ((999, 3996), (500, 2000)));
}

/// Fisk and Feng, section 3: after each round trip the buffer is twice what was read in it plus
/// sixteen segments; it never shrinks and never exceeds its maximum.
#[test]
fn the_receive_buffer_grows_with_what_is_read_in_a_round_trip() {
    let mut told = Told::modern(|config| {
        config.receiver.buffer = 20_000;
        config.receiver.window_cap = 1 << 20;
        config.extensions.receive_buffer_most = Some(50_000);
    });
    // A round trip of 100 ms.
    told.writes(10).at(100).acked(11, &[]);
    let mut next = 1;
    let mut reads = |told: &mut Told, at: u64, count: u64| {
        told.at(at);
        for _ in 0..count {
            told.hears(&data(next, 1000));
            next += 1000;
        }
        let Told {
            connection,
            out,
            now,
        } = told;
        connection.read(*now, 1 << 20, out);
        told.connection.receiver().capacity()
    };
    assert_eq!(reads(&mut told, 200, 5), 20_000);
    // Nothing changes within the round trip; at its end the size is 2 * 3000 + 16 * 1000 octets.
    assert_eq!(reads(&mut told, 299, 2), 20_000);
    assert_eq!(reads(&mut told, 300, 1), 22_000);
    assert_eq!(reads(&mut told, 400, 1), 22_000);
    assert_eq!(reads(&mut told, 500, 12), 40_000);
    assert_eq!(reads(&mut told, 600, 20), 50_000);
    // A size set by the application ends the growth.
    told.connection.set_receive_buffer(30_000);
    assert_eq!(reads(&mut told, 700, 20), 30_000);
    assert_eq!(reads(&mut told, 800, 20), 30_000);
}

/// A loss repaired, a tail probed, a timeout, a closed window probed, two holds: each counted once.
#[test]
fn what_happened_is_counted() {
    let mut told = Told::modern(|config| config.sender.idle_restart = IdleRestart::None);
    told.writes(1000).writes(5500).at(100);
    let sender = |told: &Told| *told.connection.sender().counters();
    assert_eq!(sender(&told).held(Why::Unacknowledged), 1);
    assert_eq!(
        (sender(&told).data_segments, sender(&told).short_segments),
        (6, 0)
    );
    // The first one is lost; the runt waits until the last one is acknowledged.
    told.acked(1, &[octets(1001, 4001)]);
    assert_eq!(sender(&told).fast_retransmits, 1);
    assert_eq!(sender(&told).retransmitted_segments, 1);
    told.at(200).acked(6001, &[]);
    assert_eq!(
        (sender(&told).data_segments, sender(&told).short_segments),
        (8, 1)
    );
    assert_eq!(sender(&told).data_octets, 7500);
    assert_eq!(sender(&told).held(Why::Unacknowledged), 1);
    // Nobody answers: a probe, then timeouts.
    // Nothing was measured, so each takes a second.
    told.at(2300);
    let counted = sender(&told);
    assert_eq!((counted.tail_probes, counted.timeouts), (1, 1));
    assert_eq!(counted.retransmitted_segments, 3);
    assert_eq!(counted.empty_segments, 0);
    // An ACK of ours.
    told.hears(&data(1, 1000)).hears(&data(1001, 1000));
    assert_eq!(sender(&told).empty_segments, 1);
}

/// A closed window is probed with an octet, or with nothing but a FIN.
#[test]
fn probes_are_counted_by_what_they_carry() {
    let closed = |octets: u64, close: bool| {
        let mut told = Told::modern(|_| {});
        let mut shut = data(1, 0);
        shut.window = 0;
        told.hears(&shut).writes(octets);
        if close {
            told.connection.close(Instant::ZERO, &mut told.out);
        }
        told.at(1100);
        let counted = *told.connection.sender().counters();
        (
            counted.data_octets,
            counted.short_segments,
            counted.empty_segments,
        )
    };
    assert_eq!(closed(10, false), (1, 1, 0));
    assert_eq!(closed(0, true), (0, 0, 1));
}

/// The connection reports how often the timeout was doubled, until a measurement ends the backoff.
#[test]
fn the_backoff_is_told() {
    let mut rtt = RttEstimator::new(RtoRules::RFC_6298);
    assert_eq!((rtt.backoff(), rtt.unanswered()), (0, 0));
    rtt.timed_out();
    rtt.timed_out();
    assert_eq!((rtt.backoff(), rtt.unanswered()), (2, 2));
    assert_eq!(rtt.rto(), Duration::from_secs(4));
    // Karn: an ACK alone does not end the backoff.
    rtt.acked(Offset::new(100), at_ms(1), None);
    assert_eq!((rtt.backoff(), rtt.unanswered()), (2, 0));
    rtt.sent(Offset::new(200), at_ms(10));
    rtt.acked(Offset::new(200), at_ms(20), None);
    assert_eq!(rtt.backoff(), 0);
}

/// A user's function may look at anything, so it is asked again when a thread is about to sleep.
/// Plain Nagle and the policies at a message's end need not be.
#[test]
fn only_rules_that_may_heed_it_are_asked_when_a_thread_sleeps() {
    let asked_again = |policy: SendPolicy| {
        let mut told = Told::modern(|config| config.sender.policy = policy);
        told.writes(10).writes(10);
        told.left();
        told.connection.app_blocks(
            at_ms(1),
            tinygram_engine::sender::send_policy::BlockedOn::Read,
            true,
            &mut told.out,
        );
        told.left()
    };
    let when_reading = from_fn(|_, vars| match vars.reader_blocked {
        true => Verdict::Send(tinygram_engine::sender::send_policy::Because::Blocked),
        false => Verdict::hold(Why::Unacknowledged),
    });
    assert_eq!(asked_again(SendPolicy::custom(when_reading)).len(), 1);
    assert_eq!(asked_again(SendPolicy::Nagle).len(), 0);
    for policy in ["e+m+d", "dldet"] {
        let policy = SendPolicy::named(policy).expect("registered");
        assert_eq!(asked_again(policy.clone()).len(), 1, "{policy:?}");
    }
}

#[test]
fn a_policy_says_where_it_comes_from() {
    let label = |name: &str| {
        let entry = SendPolicy::LIST.iter().find(|entry| entry.name == name);
        entry.expect("listed").origin.label()
    };
    assert_eq!(label("e+m"), "Mogul & Minshall");
    assert_eq!(label("doupnik"), "Doupnik");
    assert_eq!(label("linux"), "Linux");
    assert_eq!(label("flush-on-block"), "tinygram");
    assert_eq!(Origin::User.label(), "library user");
}

/// A runt that is asked about again has waited since it was first held, and is counted once.
#[test]
fn a_runt_is_held_once_however_often_it_is_asked_about() {
    let mut told = Told::modern(|_| {});
    told.writes(10)
        .at(1)
        .writes(10)
        .at(2)
        .writes(10)
        .at(3)
        .writes(10);
    let sender = told.connection.sender();
    let hold = sender.hold().expect("it is held");
    assert_eq!((hold.start, hold.since), (Offset::new(11), at_ms(1)));
    assert_eq!(sender.counters().held(Why::Unacknowledged), 1);
    // Held for another reason: a new hold, with the same start.
    told.connection.set_cork(at_ms(4), true, &mut told.out);
    told.at(5).writes(10);
    let sender = told.connection.sender();
    let hold = sender.hold().expect("it is held");
    assert_eq!((hold.why, hold.since), (Why::Corked, at_ms(1)));
    assert_eq!(sender.counters().held(Why::Corked), 1);
    // A runt held behind an acknowledgment is a separate hold.
    told.connection.set_cork(at_ms(6), false, &mut told.out);
    told.at(7).acked(11, &[]).at(8).writes(10);
    let hold = told.connection.sender().hold().expect("it is held");
    assert_eq!((hold.why, hold.since), (Why::Unacknowledged, at_ms(8)));
    assert_eq!(
        told.connection
            .sender()
            .counters()
            .held(Why::Unacknowledged),
        3
    );
}

/// A FIN without data counts as a segment without data.
#[test]
fn a_fin_alone_is_counted_as_an_empty_segment() {
    let mut told = Told::modern(|_| {});
    told.writes(10);
    told.connection.close(at_ms(1), &mut told.out);
    let counted = *told.connection.sender().counters();
    assert_eq!((counted.data_segments, counted.empty_segments), (1, 1));
}

/// TCP_NOTSENT_LOWAT: whether more is accepted depends on what has not left, not on what is
/// unacknowledged.
#[test]
fn a_writer_waits_until_what_it_wrote_has_left() {
    let mut told = Told::modern(|config| config.sender.initial_cwnd = 1000);
    told.connection.set_notsent_low_water(Some(3000));
    told.writes(6000);
    assert!(!told.connection.is_writable());
    let refused = told.connection.write(told.now, 1000, false, &mut told.out);
    assert_eq!(refused, 0);
    told.out.take_events();
    told.at(10).acked(1001, &[]);
    assert!(!told.connection.is_writable(), "3000 octets have not left");
    assert!(!told.out.take_events().has(Events::WRITABLE));
    told.at(20).acked(3001, &[]);
    assert!(told.connection.is_writable(), "all has left");
    assert!(told.out.take_events().has(Events::WRITABLE));
    told.connection.set_notsent_low_water(None);
    told.writes(10_000);
    assert!(told.connection.is_writable());
}
