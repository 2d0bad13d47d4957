//! Rules that a library user defines: each is installed only by its trait, has a memory, and
//! decides like one of the engine's. Each is a twin of one of the engine's rules, so both must send
//! the same segments.

use std::collections::VecDeque;

use tinygram_engine::connection::{Config, InvalidConfig};
use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::receiver::ack_policy::{
    self, AckMoment, AckPolicy, AckTimer, AckVerdict, AckView, Arrival, SlowTick,
};
use tinygram_engine::sender::congestion::{Ack, Congestion, Control, Window};
use tinygram_engine::sender::send_policy::{
    Because, Moment, Offer, Rule, SendPolicy, Vars, Verdict, Why,
};
use tinygram_engine::socket::copy_rule::{self, CopyRule, CopyView, Mclbytes, Step};
use tinygram_engine::{Connection, Duration, Instant, Outbox, Segment};

const SIZES: Sizes = Sizes {
    mss: 1000,
    send_buffer: 10_000,
    receive_buffer: 20_000,
};

/// MSMV: one bit of memory.
#[derive(Clone, Debug, Default)]
struct TwinOfMsmv {
    previous_small: bool,
}

impl Rule for TwinOfMsmv {
    fn decide(&self, offer: &Offer, _: &Vars) -> Verdict {
        match (offer.idle_on_entry, self.previous_small) {
            (true, _) => Verdict::Send(Because::Idle),
            (false, false) => Verdict::Send(Because::PreviousFull),
            (false, true) => Verdict::hold(Why::PreviousSmall),
        }
    }

    fn observe(&mut self, moment: Moment, vars: &Vars) {
        if let Moment::Sent { short, .. } = moment {
            self.previous_small = short && !vars.buffered().is_multiple_of(vars.cluster);
        }
    }
}

/// Every second full-sized segment: a count.
#[derive(Clone, Debug, Default)]
struct TwinOfEverySecond {
    unacknowledged: u64,
}

impl ack_policy::Rule for TwinOfEverySecond {
    fn on_arrival(&mut self, arrival: &Arrival, view: &AckView) -> AckVerdict {
        self.unacknowledged += u64::from(arrival.len);
        match self.unacknowledged >= 2 * u64::from(view.mss) {
            true => AckVerdict::Now,
            false => AckVerdict::Delay,
        }
    }

    fn on_read(&mut self, _: &AckView) -> AckVerdict {
        AckVerdict::Nothing
    }

    fn observe(&mut self, moment: AckMoment, _: &AckView) {
        if let AckMoment::AckSent { .. } = moment {
            self.unacknowledged = 0;
        }
    }
}

/// Slow start alone, and a memory of what it has seen.
#[derive(Clone, Debug, Default)]
struct TwinOfSlowStart {
    octets: u64,
}

impl Control for TwinOfSlowStart {
    fn on_ack(&mut self, window: Window<'_>, ack: &Ack) {
        self.octets += ack.octets;
        *window.cwnd = (*window.cwnd + ack.octets.min(window.mss)).min(window.cap);
    }

    fn on_loss(&mut self, _: Window<'_>, _: u64) {
        unreachable!("nothing is lost here");
    }

    fn on_timeout(&mut self, _: Window<'_>, _: u64) {
        unreachable!("nothing is lost here");
    }
}

/// Not a twin: its effect must show.
#[derive(Clone, Debug)]
struct NeverGrows;

impl Control for NeverGrows {
    fn on_ack(&mut self, _: Window<'_>, _: &Ack) {}
    fn on_loss(&mut self, _: Window<'_>, _: u64) {}
    fn on_timeout(&mut self, _: Window<'_>, _: u64) {}
}

#[derive(Debug)]
struct TwinOfWholeWrite;

impl copy_rule::Rule for TwinOfWholeWrite {
    fn step(&self, view: &CopyView) -> Step {
        match view.space() {
            0 => Step::Sleep,
            space => Step::Copy(view.remaining.min(space)),
        }
    }
}

fn rules() -> Config {
    let builder = Profile::SOLARIS_7
        .builder(SIZES)
        .send_policy(SendPolicy::Msmv)
        .initial_cwnd(2000);
    builder.build().expect("a sound configuration")
}

/// What two ends with these rules send, segment by segment, where one of them writes every 8 ms to the
/// other, which is 2 ms away.
fn conversation(config: &Config) -> Vec<String> {
    const EVERY: Duration = Duration::from_millis(8);
    const DELAY: Duration = Duration::from_millis(2);
    let writes = [300, 40, 2500, 7, 7, 4100, 1000, 12, 3000, 5];
    let mut to_write = writes.iter();
    let mut ends = [(); 2].map(|()| Connection::established(config, 20_000));
    let mut line: VecDeque<(Instant, usize, Segment)> = VecDeque::new();
    let (mut now, mut next_write) = (Instant::ZERO, Some(Instant::ZERO));
    let (mut out, mut sent) = (Outbox::new(), Vec::new());
    let (mut written, mut read) = (0, 0);
    while next_write.is_some() || read < written {
        let arrival = line.front().map(|(at, ..)| *at);
        let timers = ends.iter().filter_map(Connection::next_wakeup);
        now = timers
            .chain(arrival)
            .chain(next_write)
            .min()
            .expect("something is to come")
            .max(now);
        let end = if arrival == Some(now)
            && let Some((_, end, segment)) = line.pop_front()
        {
            ends[end].on_segment(now, &segment, &mut out);
            end
        } else if next_write == Some(now) {
            let octets = to_write.next();
            written += ends[0].write(now, octets.copied().unwrap_or(0), false, &mut out);
            next_write = octets.map(|_| now + EVERY);
            0
        } else {
            let end = usize::from(ends[0].next_wakeup() != Some(now));
            ends[end].on_wakeup(now, &mut out);
            end
        };
        read += ends[1].read(now, if end == 1 { u64::MAX } else { 0 }, &mut out);
        for segment in out.segments.drain(..) {
            sent.push(format!("{now} {end} {segment}"));
            line.push_back((now + DELAY, 1 - end, segment));
        }
    }
    sent
}

#[test]
fn a_twin_sends_what_the_engines_own_rule_sends() {
    static WHOLE_WRITE: TwinOfWholeWrite = TwinOfWholeWrite;
    let own = conversation(&rules());
    let of = |change: &dyn Fn(&mut Config)| {
        let mut config = rules();
        change(&mut config);
        conversation(&config)
    };
    let policy = SendPolicy::custom(TwinOfMsmv::default());
    assert_eq!(of(&|it| it.sender.policy = policy.clone()), own);
    let policy = AckPolicy::custom(TwinOfEverySecond::default());
    assert_eq!(of(&|it| it.receiver.policy = policy.clone()), own);
    let control = Congestion::custom(TwinOfSlowStart::default());
    assert_eq!(of(&|it| it.sender.congestion = control.clone()), own);
    assert_eq!(of(&|it| it.copy_rule = CopyRule::custom(&WHOLE_WRITE)), own);
    // And it matters which rule is installed.
    assert_ne!(of(&|it| it.sender.policy = SendPolicy::Off), own);
    assert_ne!(of(&|it| it.receiver.policy = AckPolicy::EverySegment), own);
    assert_ne!(
        of(&|it| it.sender.congestion = Congestion::custom(NeverGrows)),
        own
    );
    let clusters = CopyRule::Mclbytes(Mclbytes {
        cluster: 512,
        low_water: Mclbytes::LOW_WATER,
    });
    assert_ne!(of(&|it| it.copy_rule = clusters), own);
}

/// A rule's memory belongs to one connection: another with the same configuration has its own.
#[test]
fn two_connections_do_not_share_a_memory() {
    let config = Profile::MODERN.builder(SIZES);
    let policy = SendPolicy::custom(TwinOfMsmv::default());
    let config = config.send_policy(policy).build().expect("sound");
    let mut out = Outbox::new();
    let [mut first, mut second] = [(); 2].map(|()| Connection::established(&config, 20_000));
    let mut runts = |connection: &mut Connection, writes: u64| {
        for _ in 0..writes {
            connection.write(Instant::ZERO, 10, false, &mut out);
        }
        std::mem::take(&mut out.segments).len()
    };
    // The first remembers its small segment and holds; the second has sent none.
    assert_eq!(runts(&mut first, 3), 1);
    assert_eq!(runts(&mut second, 1), 1);
}

#[test]
fn names_are_read_and_printed_and_an_unknown_one_says_which_there_are() {
    for entry in SendPolicy::LIST {
        for name in [entry.name, entry.label] {
            let policy: SendPolicy = name.parse().expect("listed");
            assert_eq!(policy.to_string(), entry.name);
        }
    }
    for entry in AckPolicy::LIST {
        assert_eq!(
            entry.name.parse::<AckPolicy>().expect("listed").to_string(),
            entry.name
        );
    }
    for profile in Profile::LIST {
        assert_eq!(
            profile.name.parse::<Profile>().expect("listed").to_string(),
            profile.name
        );
    }
    let unknown = "nagel"
        .parse::<SendPolicy>()
        .expect_err("misspelt")
        .to_string();
    assert!(
        unknown.starts_with("no send policy is called `nagel`; there are nagle, "),
        "{unknown}"
    );
    let control = "reno".parse::<Congestion>().expect("listed");
    assert_eq!(control.name(), "reno");
}

#[test]
fn a_configuration_that_cannot_work_is_refused_with_the_reason() {
    for profile in Profile::LIST {
        profile.builder(SIZES).build().expect(profile.name);
    }
    let wrong = |change: &dyn Fn(&mut Config)| {
        let mut config = rules();
        change(&mut config);
        config
            .to_builder()
            .build()
            .expect_err("it cannot work")
            .to_string()
    };
    let builder = Profile::MODERN.builder(Sizes { mss: 0, ..SIZES });
    assert_eq!(
        builder.build().err(),
        Some(InvalidConfig::Mss { octets: 0 })
    );
    assert_eq!(
        wrong(&|it| it.receiver.buffer = 0),
        "a receive buffer of 0 octets; it is at least 1"
    );
    assert_eq!(
        wrong(&|it| it.sender.rto.min = it.sender.rto.max + Duration::from_secs(1)),
        "a retransmission time-out of at least 61 s and at most 60 s"
    );
    wrong(&|it| it.sender.buffer = 0);
    wrong(&|it| it.sender.mss = 65_536);
    wrong(&|it| it.sender.initial_cwnd = 0);
    wrong(&|it| it.sender.cwnd_cap = 0);
    wrong(&|it| it.receiver.window_cap = (1 << 30) + 1);
    let slow = SlowTick {
        period: Duration::from_millis(500),
        share_per_mille: 1001,
        seed: 1,
    };
    wrong(&|it| {
        it.receiver.timer = AckTimer::Cyclic {
            period: Duration::from_millis(200),
            phase: Duration::ZERO,
            slow: Some(slow),
        };
    });
}

#[test]
#[should_panic(expected = "connect: the connection is open")]
fn a_connection_is_opened_once() {
    let mut connection = Connection::new(&rules());
    let mut out = Outbox::new();
    connection.connect(Instant::ZERO, &mut out);
    connection.connect(Instant::ZERO, &mut out);
}

#[derive(Debug)]
struct CopiesTooMuch;

impl copy_rule::Rule for CopiesTooMuch {
    fn step(&self, view: &CopyView) -> Step {
        Step::Copy(view.remaining + 1)
    }
}

#[test]
#[should_panic(expected = "CopiesTooMuch copies 11 of 10 octets")]
fn a_copy_rule_that_copies_what_is_not_there_is_told_so() {
    static WRONG: CopiesTooMuch = CopiesTooMuch;
    let builder = Profile::MODERN.builder(SIZES);
    let config = builder.copy_rule(CopyRule::custom(&WRONG)).build();
    let mut connection = Connection::established(&config.expect("sound"), 20_000);
    connection.write(Instant::ZERO, 10, false, &mut Outbox::new());
}

/// Holds each runt until five octets were written, for two reasons of its own.
#[derive(Clone, Debug)]
struct Fives;

impl Rule for Fives {
    fn name(&self) -> &str {
        "fives"
    }

    fn reason(&self, number: u8) -> &str {
        ["none of five", "some of five"][usize::from(number)]
    }

    fn decide(&self, offer: &Offer, _: &Vars) -> Verdict {
        match offer.span.len() {
            5.. => Verdict::Send(Because::Own(0)),
            octets => Verdict::hold(Why::Own(u8::from(octets > 1))),
        }
    }
}

#[test]
fn a_rule_names_itself_and_its_reasons() {
    let builder = Profile::MODERN.builder(SIZES);
    let config = builder.send_policy(SendPolicy::custom(Fives)).build();
    let config = config.expect("sound");
    assert_eq!(config.sender.policy.to_string(), "fives");
    let mut connection = Connection::established(&config, 20_000);
    let mut out = Outbox::new();
    let mut write = |octets| {
        connection.write(Instant::ZERO, octets, false, &mut out);
        let sender = connection.sender();
        sender
            .hold()
            .map(|hold| sender.name_of(hold.why).to_owned())
    };
    assert_eq!(write(1).as_deref(), Some("none of five"));
    assert_eq!(write(1).as_deref(), Some("some of five"));
    assert_eq!(write(1).as_deref(), Some("some of five"));
    assert_eq!(write(2), None, "five octets leave");
    let sender = connection.sender();
    let holds: Vec<_> = sender.holds().collect();
    assert_eq!(holds, [("none of five", 1), ("some of five", 1)]);
    assert_eq!(sender.counters().held(Why::Own(1)), 1);
    assert_eq!(sender.name_of(Why::Unacknowledged), "unacknowledged");
}
