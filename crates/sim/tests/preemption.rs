//! What interrupts what on a host: frames and timers interrupt a working thread; nothing interrupts
//! what touches a connection (the documentation of `host` says where BSD and Linux do so).

use std::cell::RefCell;
use std::rc::Rc;

use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::receiver::ack_policy::{AckPolicy, AckTimer};
use tinygram_engine::sender::send_policy::{SendPolicy, Why};
use tinygram_engine::{Duration, Instant};
use tinygram_sim::costs::{ComesIn, HostCosts, SegmentCost};
use tinygram_sim::medium::{MediumFrame, Side, Wire};
use tinygram_sim::observer::Observer;
use tinygram_sim::program::{Call, CallOutcome, Program};
use tinygram_sim::{Ended, Opening, World, WorldConfig};

const LATE: Instant = Instant::from_nanos(10_000_000_000);
const SOCKET: u32 = 0;
const MSS: u16 = 1000;

fn micros(us: u64) -> Duration {
    Duration::from_micros(us)
}

fn at(us: u64) -> Instant {
    Instant::ZERO + micros(us)
}

/// Makes the calls it is given and records when each returned.
#[derive(Clone, Debug)]
struct Script {
    calls: std::vec::IntoIter<Call>,
    over: Rc<RefCell<Vec<Instant>>>,
}

impl Program for Script {
    fn next(&mut self, now: Instant, last: CallOutcome) -> Call {
        if last != CallOutcome::Started {
            self.over.borrow_mut().push(now);
        }
        self.calls.next().unwrap_or(Call::Exit)
    }
}

/// Which host took in a frame, when it had arrived, and when it was taken in.
#[derive(Clone, Debug, Default)]
struct TakenIn(Vec<(Side, Instant, Instant)>);

impl Observer for TakenIn {
    fn received(&mut self, now: Instant, to: Side, frame: &MediumFrame) {
        self.0.push((to, frame.at, now));
    }
}

/// The result of a run.
struct Ran {
    world: World<Script, TakenIn>,
    /// When the server's calls returned.
    server: Vec<Instant>,
}

/// A line without a rate, 1000 us for a round trip, a client that acknowledges every segment, and a
/// NAGLE server.
fn run(server_costs: HostCosts, client: Vec<Call>, server: Vec<Call>) -> Ran {
    let [client, server] = [client, server].map(|calls| Script {
        calls: calls.into_iter(),
        over: Rc::default(),
    });
    let over = server.over.clone();
    let wire = Wire::new(u64::MAX, 0, 0, micros(500));
    let config = WorldConfig::over(wire, [HostCosts::NONE, server_costs], 1);
    let mut world = World::watched(config, [vec![client], vec![server]], TakenIn::default());
    world.connect(Opening::Established, [end(), end()]);
    assert_eq!(world.run(LATE), Ended::Quiet);
    let server = over.borrow().clone();
    Ran { world, server }
}

fn end() -> tinygram_engine::connection::Config {
    let profile = Profile::named("tru64_4").expect("registered");
    let sizes = Sizes {
        mss: MSS,
        send_buffer: 60_000,
        receive_buffer: 60_000,
    };
    let mut config = (profile.config)(&sizes);
    config.sender.policy = SendPolicy::named("nagle").expect("registered");
    config.sender.initial_cwnd = 60_000;
    config.receiver.policy = AckPolicy::named("every-segment").expect("registered");
    config.receiver.timer = AckTimer::PerConnection(micros(200_000));
    config
}

fn write(len: u64) -> Call {
    Call::Write {
        socket: SOCKET,
        len,
        more: false,
    }
}

/// Copying an octet takes a microsecond.
const SLOW_COPY: HostCosts = HostCosts {
    copy_ps_per_octet: 1_000_000,
    ..HostCosts::NONE
};

/// The first runt is sent at once, and its acknowledgment arrives while the second is being copied.
/// After the copy nothing is unacknowledged, so the second is sent too.
#[test]
fn an_acknowledgment_interrupts_the_writer_that_copies() {
    let ran = run(SLOW_COPY, vec![], vec![write(100), write(5000 - 1)]);
    let sender = ran.world.host(Side::Server).sockets()[0].counters();
    assert_eq!(sender.held(Why::Unacknowledged), 0);
    assert_eq!(
        ran.world.observer().0[1],
        (Side::Server, at(1100), at(1100))
    );
}

/// What comes while a read copies belongs to the same read, as in 4.4BSD's `soreceive`; on Linux it
/// waits in the backlog and belongs to the next.
#[test]
fn a_read_takes_what_comes_while_it_copies() {
    let read = |max| Call::Read {
        socket: SOCKET,
        max,
    };
    // The first segment comes at 500 us and is copied until 1500; the second comes at 1100 and is
    // copied until 2500.
    let client = || {
        vec![
            write(1000),
            Call::Compute(micros(600)),
            write(1000),
            Call::Exit,
        ]
    };
    let ran = run(SLOW_COPY, client(), vec![read(5000), read(1)]);
    assert_eq!(ran.server, [at(2500)]);
    // It takes no more than the program asked for.
    let ran = run(SLOW_COPY, client(), vec![read(1400), read(5000)]);
    assert_eq!(ran.server, [at(1900), at(2500)]);
    let locks = HostCosts {
        comes_in: ComesIn::Nothing,
        ..SLOW_COPY
    };
    let ran = run(locks, client(), vec![read(5000), read(5000)]);
    assert_eq!(ran.server, [at(1500), at(2500)]);
}

/// A Linux call has locked the socket: the acknowledgment waits in the backlog until the call
/// returns, and the second runt waits with it.
#[test]
fn a_locked_socket_makes_the_acknowledgment_wait() {
    let costs = HostCosts {
        comes_in: ComesIn::Nothing,
        ..SLOW_COPY
    };
    let ran = run(costs, vec![], vec![write(100), write(5000 - 1)]);
    let sender = ran.world.host(Side::Server).sockets()[0].counters();
    assert_eq!(sender.held(Why::Unacknowledged), 1);
    assert_eq!(
        ran.world.observer().0[1],
        (Side::Server, at(1100), at(5099))
    );
}

/// An interrupted thread ends later by exactly the time that the interrupts took; on Linux this
/// also holds for a thread that computes and holds no socket.
#[test]
fn an_interrupt_puts_off_the_thread_by_what_it_takes() {
    for comes_in in [ComesIn::FramesAndTimers, ComesIn::Nothing] {
        let costs = HostCosts {
            input: SegmentCost::flat(micros(30)),
            comes_in,
            ..HostCosts::NONE
        };
        let ran = run(costs, vec![write(5000)], vec![Call::Compute(micros(2000))]);
        // Five segments come in at 500 us, one after the other.
        let taken: Vec<_> = ran
            .world
            .observer()
            .0
            .iter()
            .take(5)
            .map(|it| it.2)
            .collect();
        assert_eq!(taken, [500, 530, 560, 590, 620].map(at));
        assert_eq!(ran.server, [at(2000 + 5 * 30)]);
    }
}

/// Nothing interrupts the protocol while it hands segments to the device: what arrives waits until
/// the last of them has left.
#[test]
fn nothing_interrupts_what_touches_a_connection() {
    let costs = HostCosts {
        output: SegmentCost::flat(micros(400)),
        ..HostCosts::NONE
    };
    // The server's three segments keep its processor busy until 1200 us; the client's segment
    // arrives at 500.
    let ran = run(costs, vec![write(1000)], vec![write(3000)]);
    let first = ran
        .world
        .observer()
        .0
        .iter()
        .find(|it| it.0 == Side::Server);
    assert_eq!(first, Some(&(Side::Server, at(500), at(1200))));
}

/// A timer interrupts too: the delayed ACK leaves while a thread computes.
#[test]
fn a_timer_interrupts_the_thread_that_computes() {
    let computes = vec![Call::Compute(micros(400_000))];
    let mut slow = end();
    slow.receiver.policy = AckPolicy::named("every-second").expect("registered");
    let script = |calls: Vec<Call>| Script {
        calls: calls.into_iter(),
        over: Rc::default(),
    };
    let wire = Wire::new(u64::MAX, 0, 0, micros(500));
    let config = WorldConfig::over(wire, [HostCosts::NONE; 2], 1);
    let programs = [vec![script(vec![write(100)])], vec![script(computes)]];
    let mut world = World::watched(config, programs, TakenIn::default());
    world.connect(Opening::Established, [end(), slow]);
    assert_eq!(world.run(LATE), Ended::Quiet);
    // It arrives after 500 us, is delayed for 200 ms, and takes 500 us back.
    let ack = world.observer().0.iter().find(|it| it.0 == Side::Client);
    assert_eq!(ack.map(|it| it.1), Some(at(201_000)));
}
