//! The papers' arguments, simulated.

use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::receiver::ack_policy::AckTimer;
use tinygram_engine::sender::send_policy::{Because, Offer, Rule, SendPolicy, Vars, Verdict, Why};
use tinygram_engine::{Duration, Instant};
use tinygram_sim::costs::HostCosts;
use tinygram_sim::medium::{Side, Wire};
use tinygram_sim::observer::{Holds, OfReason};
use tinygram_sim::program::{Call, CallOutcome, Program, Sockets};
use tinygram_sim::workload::event_loop::EventLoop;
use tinygram_sim::workload::exchange::Exchange;
use tinygram_sim::workload::telnet::Telnet;
use tinygram_sim::{Ended, Opening, World, WorldConfig};

const LATE: Instant = Instant::from_nanos(600_000_000_000);

fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn path(rtt: Duration) -> WorldConfig {
    let propagation = Duration::from_nanos(rtt.as_nanos() / 2);
    let wire = Wire::new(100_000_000, 78, 84, propagation);
    WorldConfig::over(wire, [HostCosts::NONE; 2], 1)
}

/// An end with BSD's receiver, a 200 ms timer of its own and this send policy.
fn end(policy: &str) -> tinygram_engine::Config {
    let profile = Profile::named("tru64_4").expect("registered");
    let sizes = Sizes {
        mss: 1460,
        send_buffer: 65_536,
        receive_buffer: 65_535,
    };
    let mut config = (profile.config)(&sizes);
    config.sender.policy = SendPolicy::named(policy).expect(policy);
    config.receiver.timer = AckTimer::PerConnection(millis(200));
    config
}

/// A program of any kind that a story needs.
#[derive(Clone, Debug)]
enum Actor {
    Exchange(Exchange),
    EventLoop(Box<EventLoop>),
    Telnet(Telnet),
}

impl Program for Actor {
    fn next(&mut self, now: Instant, last: CallOutcome) -> Call {
        match self {
            Self::Exchange(program) => program.next(now, last),
            Self::EventLoop(program) => program.next(now, last),
            Self::Telnet(program) => program.next(now, last),
        }
    }
}

/// Returns the mean time of ten exchanges after the first: a request in one write, an answer in
/// two, from a server built like `server`.
fn answers_in_two_writes(policy: &str, server: Actor) -> Duration {
    let client = Actor::Exchange(Exchange::asks(0, vec![100], 600, 11));
    let mut world = World::new(path(millis(1)), [vec![client], vec![server]]);
    world.connect(Opening::Established, [end("nagle"), end(policy)]);
    assert_eq!(world.run(LATE), Ended::Stopped);
    let Some(Actor::Exchange(client)) = world.host(Side::Client).programs().next() else {
        unreachable!()
    };
    let total = client.elapsed()[1..]
        .iter()
        .fold(Duration::ZERO, |sum, elapsed| sum + *elapsed);
    Duration::from_nanos(total.as_nanos() / 10)
}

fn blocking_server() -> Actor {
    Actor::Exchange(Exchange::answers(0, vec![200, 400], 100))
}

fn polling_server() -> Actor {
    Actor::EventLoop(Box::new(EventLoop::new(
        Sockets::one(0),
        100,
        vec![200, 400],
    )))
}

#[test]
fn a_blocking_server_is_freed_by_dldet_and_by_flush_on_block() {
    assert!(answers_in_two_writes("nagle", blocking_server()) > millis(190));
    assert!(answers_in_two_writes("dldet", blocking_server()) < millis(2));
    assert!(answers_in_two_writes("flush-on-block", blocking_server()) < millis(2));
}

/// "Our DLDET solution does not work for event-driven applications" (section 5.6.1).
#[test]
fn an_event_driven_server_defeats_dldet_but_not_flush_on_block() {
    assert!(answers_in_two_writes("dldet", polling_server()) > millis(190));
    assert!(answers_in_two_writes("flush-on-block", polling_server()) < millis(2));
}

/// Returns the number of data segments of a client that types `keys` octets, one every `pause`.
fn typed(policy: &str, keys: u32, pause: Duration, rtt: Duration) -> u64 {
    let typist = Telnet::Typist {
        socket: 0,
        left: keys,
        pause,
        typed: false,
    };
    let screen = Telnet::Screen {
        socket: 0,
        missing: u64::from(keys),
    };
    let client = vec![Actor::Telnet(typist), Actor::Telnet(screen)];
    let server = vec![Actor::Telnet(Telnet::Echo { socket: 0 })];
    let mut world = World::new(path(rtt), [client, server]);
    world.connect(Opening::Established, [end(policy), end("nagle")]);
    assert_eq!(world.run(LATE), Ended::Stopped);
    world.host(Side::Client).sockets()[0]
        .counters()
        .data_segments
}

/// "The DLDET variant as described so far will violate this requirement for a multi-threaded
/// Telnet client": the one-bit counter keeps it from doing so (section 5.6).
#[test]
fn a_reader_that_always_waits_does_not_make_dldet_flood() {
    let (keys, pause, rtt) = (200, millis(10), millis(200));
    let nagle = typed("nagle", keys, pause, rtt);
    let dldet = typed("dldet", keys, pause, rtt);
    let off = typed("off", keys, pause, rtt);
    assert_eq!(off, u64::from(keys));
    assert!(nagle < u64::from(keys) / 10, "{nagle}");
    assert!(dldet < u64::from(keys) / 4, "{dldet}");
}

/// Holds a runt until five octets are there, for two reasons of its own.
#[derive(Clone, Debug)]
struct Fives;

impl Rule for Fives {
    fn name(&self) -> &str {
        "fives"
    }

    fn reason(&self, number: u8) -> &str {
        ["only one", "not five yet"][usize::from(number)]
    }

    fn decide(&self, offer: &Offer, _: &Vars) -> Verdict {
        match offer.span.len() {
            5.. => Verdict::Send(Because::Own(0)),
            octets => Verdict::hold(Why::Own(u8::from(octets > 1))),
        }
    }
}

/// A rule from outside the engine has its own name and its own reasons in the trace and in the table.
#[test]
fn a_trace_and_a_table_have_the_names_of_a_rule_that_somebody_wrote() {
    let typist = Telnet::Typist {
        socket: 0,
        left: 10,
        pause: millis(10),
        typed: false,
    };
    let server = vec![Actor::Telnet(Telnet::Echo { socket: 0 })];
    let client = vec![Actor::Telnet(typist)];
    let mut world = World::watched(path(millis(1)), [client, server], Holds::default());
    let mut typing = end("off");
    typing.sender.policy = SendPolicy::custom(Fives);
    world.connect(Opening::Established, [typing, end("off")]);
    world.run(LATE);
    let holds = world.into_observer();
    // Ten keys, of which each fifth lets the others go.
    let trace = holds.to_string();
    let lines: Vec<_> = trace.lines().collect();
    assert_eq!(lines.len(), 4, "{trace}");
    assert!(
        lines[0].ends_with("Client fives holds 1, 1 octets: only one, for 10 ms"),
        "{trace}"
    );
    assert!(
        lines[1].ends_with("Client fives holds 1, 4 octets: not five yet, for 30 ms"),
        "{trace}"
    );
    let row = |reason: &str, held| OfReason {
        policy: "fives".into(),
        reason: reason.into(),
        holds: 2,
        held,
    };
    assert_eq!(
        holds.by_reason(),
        [row("only one", millis(20)), row("not five yet", millis(60))]
    );
}

/// A limit of flush-on-block: a typist who pauses after every key blocks after every key.
#[test]
fn a_typist_makes_flush_on_block_send_every_key_like_off() {
    let keys = 50;
    assert_eq!(
        typed("flush-on-block", keys, millis(10), millis(200)),
        u64::from(keys)
    );
}

/// The same seed gives the same run, to the last event.
#[test]
fn a_run_is_a_function_of_its_seed() {
    let run = || {
        let client = Actor::Exchange(Exchange::asks(0, vec![100, 3000], 50_000, 50));
        let server = Actor::Exchange(Exchange::answers(0, vec![20_000, 30_000], 3100));
        let mut config = path(millis(5));
        config.impairment.odds.loss = 0.05;
        let mut world = World::new(config, [vec![client], vec![server]]);
        world.connect(Opening::Established, [end("minshall"), end("nagle")]);
        assert_eq!(world.run(LATE), Ended::Stopped);
        (world.now(), world.events(), world.frames_lost())
    };
    let first = run();
    assert!(first.2 > 0, "nothing was lost");
    assert_eq!(first, run());
}

/// A world in which nothing is left to happen reports that, however much time it was given.
#[test]
fn a_world_without_programs_is_quiet() {
    let mut world: World<Actor> = World::new(path(millis(1)), [vec![], vec![]]);
    world.connect(Opening::Established, [end("nagle"), end("nagle")]);
    assert_eq!(world.run(LATE), Ended::Quiet);
}
