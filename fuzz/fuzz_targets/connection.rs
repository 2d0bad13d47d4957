//! A connection under arbitrary segments, calls and times: it never panics, its invariants hold
//! after every step, and what it keeps is bounded.

#![no_main]

#[path = "../../crates/engine/tests/properties/invariants.rs"]
mod invariants;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use tinygram_engine::connection::{Config, Wrote};
use tinygram_engine::extensions::{
    Ecn, Extensions, Keepalive, LinuxHabits, LossDetection, PathMtuSearch, PushEndsWrites, Sack,
    SlowStartExit, SynRetries, Undo,
};
use tinygram_engine::queues::{QueueCounter, QueueCounters};
use tinygram_engine::receiver::ReceiverConfig;
use tinygram_engine::receiver::ack_policy::{AckPolicy, AckTimer};
use tinygram_engine::sender::congestion::Congestion;
use tinygram_engine::sender::congestion::restart::IdleRestart;
use tinygram_engine::sender::send_policy::{BlockedOn, SendPolicy};
use tinygram_engine::sender::{RtoRules, SenderConfig};
use tinygram_engine::socket::copy_rule::{CopyRule, Linux, Mclbytes, SunOs, WholeWrite};
use tinygram_engine::{
    Connection, Duration, Flags, Instant, Offset, Options, Outbox, Segment, Span, Timestamps,
};

/// One call may answer with at most this many segments: a buffer of one-octet segments, and a few.
const MAX_SEGMENTS_PER_CALL: usize = 70_000;
/// More wake-ups than this at one instant are a busy loop: the engine has nine timers.
const WAKEUPS_AT_ONE_INSTANT: u32 = 9;

#[derive(Arbitrary, Debug)]
struct Input {
    setup: Setup,
    steps: Vec<Step>,
}

#[derive(Arbitrary, Debug)]
struct Setup {
    policy: u8,
    ack_policy: u8,
    copy_rule: u8,
    idle_restart: u8,
    mss: u16,
    send_buffer: u16,
    receive_buffer: u16,
    cwnd_segments: u8,
    peer_window: u16,
    more_in_every_variant: bool,
    opening: u8,
    extensions: Switches,
    cubic: bool,
    /// A sample of the round trip from every acknowledgment, as Linux has it.
    every_ack: bool,
    /// Every extension, whatever the switches say.
    everything: bool,
    /// The receive buffer's unit, so that windows are scaled.
    buffer_unit: u8,
}

#[derive(Arbitrary, Debug)]
struct Switches {
    window_scaling: bool,
    timestamps: bool,
    sack: bool,
    dsack: bool,
    rack_tlp: bool,
    rate_reduction: bool,
    counts_segments: bool,
    limited_transmit: bool,
    black_hole_detection: bool,
    blind_attack_defence: bool,
    keepalive: bool,
    user_timeout: bool,
    time_wait_ignores_resets: bool,
    fin_wait_2: bool,
    receive_buffer_grows: bool,
    push_ends_writes: bool,
    slow_start_exit: u8,
    pacing: bool,
    queue_counters: bool,
    ecn: u8,
    reduces_the_window: bool,
    silent_to_unsent_acks: bool,
    empty_window_probes: bool,
    send_buffer_is_memory: bool,
    undo: bool,
    frto: bool,
    bounds_initial_cwnd: bool,
    path_mtu_search: u8,
}

#[derive(Arbitrary, Debug)]
enum Step {
    Segment(Arrival),
    Write {
        len: u16,
        more: bool,
    },
    WriteBegin {
        len: u16,
    },
    ContinueWrite {
        more: bool,
    },
    Read {
        max: u16,
    },
    Blocks {
        on: u8,
        wrote: bool,
    },
    Resumes,
    Options {
        nodelay: bool,
        corked: bool,
        device_busy: bool,
    },
    Policy {
        send: u8,
        ack: u8,
    },
    Pass {
        micros: u32,
    },
    NextTimer,
    Keepalive {
        idle_secs: u8,
    },
    UserTimeout {
        secs: Option<u8>,
    },
    Close,
    Abort,
    Abandon,
}

/// A segment; its numbers count from where the connection stands, so that most come near.
#[derive(Arbitrary, Debug)]
struct Arrival {
    seq: i16,
    ack: i16,
    len: u16,
    window: u16,
    mss: u16,
    flags: u8,
    /// CE, which a router sets (RFC 3168).
    marked: bool,
    anywhere: Option<(u32, u32)>,
    window_scale: Option<u8>,
    sack_permitted: bool,
    timestamps: Option<(u32, u32)>,
    /// Start and length of each block.
    sack: [Option<(i16, u16)>; 4],
    counters_permitted: bool,
    counters: Option<[(u32, u32); 3]>,
}

fuzz_target!(|input: Input| {
    let config = config(&input.setup);
    let mut world = World {
        receive_buffer_most: (config.receiver.buffer)
            .max(config.extensions.receive_buffer_most.unwrap_or(0)),
        connection: match input.setup.opening % 3 {
            0 => Connection::established(&config, u64::from(input.setup.peer_window)),
            _ => Connection::new(&config),
        },
        now: Instant::ZERO,
        out: Outbox::new(),
        writing: false,
    };
    match input.setup.opening % 3 {
        1 => world.connection.listen(),
        2 => world.connection.connect(world.now, &mut world.out),
        _ => {}
    }
    world.check();
    for step in &input.steps {
        world.step(step);
        world.check();
    }
});

struct World {
    connection: Connection,
    receive_buffer_most: u64,
    now: Instant,
    out: Outbox,
    /// A write that began has not ended.
    writing: bool,
}

impl World {
    fn step(&mut self, step: &Step) {
        let (connection, now, out) = (&mut self.connection, self.now, &mut self.out);
        match *step {
            Step::Segment(ref arrival) => {
                let segment = arrival.segment(connection);
                connection.on_segment(now, &segment, out);
            }
            Step::Write { len, more } if !self.writing => {
                let copied = connection.write(now, u64::from(len), more, out);
                assert!(copied <= u64::from(len));
            }
            Step::WriteBegin { len } if !self.writing && len > 0 => {
                connection.write_begin(now, u64::from(len));
                self.writing = true;
            }
            Step::ContinueWrite { more } if self.writing => {
                let wrote = connection.write_step(now, more, out);
                self.writing = !matches!(wrote, Wrote::Last(_) | Wrote::Refused);
                if wrote == Wrote::Sleeps {
                    connection.app_blocks(now, BlockedOn::Write, true, out);
                    connection.write_resume(now);
                }
            }
            Step::Read { max } => {
                let octets = connection.read(now, u64::from(max), out);
                assert!(octets <= u64::from(max));
            }
            Step::Blocks { on, wrote } => {
                let all = [BlockedOn::Read, BlockedOn::Write, BlockedOn::Elsewhere];
                connection.app_blocks(now, *pick(&all, on), wrote, out);
            }
            Step::Resumes => connection.reader_resumes(),
            Step::Options {
                nodelay,
                corked,
                device_busy,
            } => {
                connection.set_nodelay(now, nodelay, out);
                connection.set_cork(now, corked, out);
                connection.set_device_busy(now, device_busy, out);
            }
            Step::Policy { send, ack } => {
                connection.set_send_policy(now, send_policy(send), out);
                connection.set_ack_policy(ack_policy(ack), TIMER);
            }
            Step::Pass { micros } => {
                self.now += Duration::from_micros(u64::from(micros));
                self.wake_up();
            }
            Step::NextTimer => {
                if let Some(at) = connection.next_wakeup() {
                    self.now = self.now.max(at);
                    self.wake_up();
                }
            }
            Step::Keepalive { idle_secs } => {
                let keepalive = Keepalive {
                    idle: Duration::from_secs(idle_secs.into()),
                    ..Keepalive::LINUX
                };
                connection.set_keepalive(now, (idle_secs > 0).then_some(keepalive));
            }
            Step::UserTimeout { secs } => {
                connection.set_user_timeout(secs.map(|secs| Duration::from_secs(secs.into())));
            }
            Step::Abandon => connection.abandon(now, out),
            Step::Close => connection.close(now, out),
            Step::Abort => connection.abort(out),
            Step::Write { .. } | Step::WriteBegin { .. } | Step::ContinueWrite { .. } => {}
        }
    }

    fn wake_up(&mut self) {
        for _ in 0..WAKEUPS_AT_ONE_INSTANT {
            if !self.is_due() {
                return;
            }
            self.connection.on_wakeup(self.now, &mut self.out);
            self.check();
        }
        let reason = self.connection.next_wakeup_reason();
        assert!(!self.is_due(), "{reason:?} wants to be woken for ever");
    }

    fn is_due(&self) -> bool {
        self.connection
            .next_wakeup()
            .is_some_and(|at| at <= self.now)
    }

    fn check(&mut self) {
        let sent = self.out.segments.len();
        assert!(sent <= MAX_SEGMENTS_PER_CALL, "{sent} segments in one call");
        self.out.segments.clear();
        self.out.take_events();
        invariants::check(&self.connection, self.receive_buffer_most);
    }
}

impl Arrival {
    fn segment(&self, connection: &Connection) -> Segment {
        let near =
            |stands: Offset, by: i16| Offset::new(stands.get().saturating_add_signed(by.into()));
        let (seq, ack) = match self.anywhere {
            Some((seq, ack)) => (Offset::new(seq.into()), Offset::new(ack.into())),
            None => (
                near(connection.receiver().nxt(), self.seq),
                near(connection.sender().vars().una, self.ack),
            ),
        };
        Segment {
            seq,
            ack,
            len: self.len.into(),
            window: self.window.into(),
            flags: Flags::from_bits(self.flags).with_if(self.marked, Flags::CE),
            options: self.options(connection),
        }
    }
}

impl Arrival {
    fn options(&self, connection: &Connection) -> Options {
        let una = connection.sender().vars().una.get();
        let block = |(start, len): (i16, u16)| {
            let start = Offset::new(una.saturating_add_signed(start.into()));
            Span::new(start, start + u64::from(len))
        };
        Options {
            mss: Some(self.mss),
            window_scale: self.window_scale,
            sack_permitted: self.sack_permitted,
            timestamps: self
                .timestamps
                .map(|(value, echo)| Timestamps { value, echo }),
            sack: self.sack.into_iter().flatten().map(block).collect(),
            counters_permitted: self.counters_permitted,
            counters: self.counters.map(|counters| {
                let [unacknowledged, unread, delayed] =
                    counters.map(|(area, left)| QueueCounter { area, left });
                QueueCounters {
                    unacknowledged,
                    unread,
                    delayed,
                }
            }),
        }
    }
}

const TIMER: AckTimer = AckTimer::PerConnection(Duration::from_millis(200));

fn config(setup: &Setup) -> Config {
    let mss = setup.mss.max(1);
    let unit = u64::from(setup.buffer_unit).max(1);
    let copy_rules = [
        CopyRule::WholeWrite(WholeWrite),
        CopyRule::Linux(Linux),
        CopyRule::SunOs(SunOs::AS_SHIPPED),
        CopyRule::Mclbytes(Mclbytes {
            cluster: 2048,
            low_water: Mclbytes::LOW_WATER,
        }),
    ];
    Config {
        sender: SenderConfig {
            mss: mss.into(),
            buffer: u64::from(setup.send_buffer).max(1),
            policy: send_policy(setup.policy),
            more_in_every_variant: setup.more_in_every_variant,
            cluster: 2048,
            congestion: match setup.cubic {
                true => Congestion::CubicLinux,
                false => Congestion::Reno,
            },
            idle_restart: *pick(&IdleRestart::ALL, setup.idle_restart),
            initial_cwnd: u64::from(setup.cwnd_segments.max(1)) * u64::from(mss),
            cwnd_cap: 1 << 20,
            rto: RtoRules {
                every_ack: setup.every_ack,
                ..RtoRules::RFC_6298
            },
        },
        receiver: ReceiverConfig {
            buffer: u64::from(setup.receive_buffer).max(1) * unit,
            window_cap: match setup.extensions.window_scaling || setup.everything {
                true => 1 << 30,
                false => 65_535,
            },
            mss,
            policy: ack_policy(setup.ack_policy),
            timer: TIMER,
        },
        copy_rule: *pick(&copy_rules, setup.copy_rule),
        time_wait: Duration::from_secs(60),
        extensions: match setup.everything {
            true => EVERYTHING,
            false => setup.extensions.extensions(),
        },
    }
}

/// A search whose probes fit into small buffers.
const SEARCH: PathMtuSearch = PathMtuSearch {
    from_the_start: true,
    base_mss: 64,
};

/// All that there is at once.
const EVERYTHING: Extensions = Extensions {
    pacing: true,
    ecn: Some(Ecn::Ask { again: 1 }),
    slow_start_exit: Some(SlowStartExit::HystartPlusPlus),
    keepalive: Some(Keepalive::LINUX),
    user_timeout: Some(Duration::from_secs(30)),
    syn_retries: Some(SynRetries::LINUX),
    receive_buffer_most: Some(1 << 22),
    send_buffer_most: Some(1 << 20),
    path_mtu_search: Some(SEARCH),
    linux: ALL_HABITS,
    ..Extensions::MODERN
};

const ALL_HABITS: LinuxHabits = LinuxHabits {
    reduces_the_window: true,
    silent_to_unsent_acks: true,
    empty_window_probes: true,
    push_ends_writes: Some(PushEndsWrites {
        least_burst: 2,
        buffer_overhead: Some(832),
    }),
};

impl Switches {
    fn extensions(&self) -> Extensions {
        let limit = |on: bool| on.then_some(Duration::from_secs(30));
        Extensions {
            window_scaling: self.window_scaling,
            timestamps: self.timestamps,
            sack: self.sack.then_some(Sack {
                duplicates: self.dsack,
                detection: match self.rack_tlp {
                    true => LossDetection::RackTlp,
                    false => LossDetection::Counting,
                },
                rate_reduction: self.rate_reduction,
                counts_segments: self.counts_segments,
                undo: self.undo.then_some(Undo { frto: self.frto }),
            }),
            bounds_initial_cwnd: self.bounds_initial_cwnd,
            limited_transmit: self.limited_transmit,
            black_hole_detection: self.black_hole_detection,
            blind_attack_defence: self.blind_attack_defence,
            keepalive: self.keepalive.then_some(Keepalive::LINUX),
            user_timeout: limit(self.user_timeout),
            time_wait_ignores_resets: self.time_wait_ignores_resets,
            fin_wait_2: limit(self.fin_wait_2),
            receive_buffer_most: self.receive_buffer_grows.then_some(1 << 22),
            slow_start_exit: *pick(
                &[
                    None,
                    Some(SlowStartExit::Hystart),
                    Some(SlowStartExit::HystartPlusPlus),
                ],
                self.slow_start_exit,
            ),
            pacing: self.pacing,
            queue_counters: self.queue_counters,
            ecn: *pick(
                &[None, Some(Ecn::IfAsked), Some(Ecn::Ask { again: 1 })],
                self.ecn,
            ),
            linux: LinuxHabits {
                reduces_the_window: self.reduces_the_window,
                silent_to_unsent_acks: self.silent_to_unsent_acks,
                empty_window_probes: self.empty_window_probes,
                push_ends_writes: self.push_ends_writes.then_some(PushEndsWrites {
                    least_burst: 2,
                    buffer_overhead: self.send_buffer_is_memory.then_some(832),
                }),
            },
            path_mtu_search: *pick(
                &[Some(SEARCH), Some(PathMtuSearch::AFTER_A_BLACK_HOLE), None],
                self.path_mtu_search,
            ),
            ..EVERYTHING
        }
    }
}

fn send_policy(index: u8) -> SendPolicy {
    (pick(SendPolicy::LIST, index).make)()
}

fn ack_policy(index: u8) -> AckPolicy {
    (pick(AckPolicy::LIST, index).make)()
}

fn pick<T>(all: &[T], index: u8) -> &T {
    &all[usize::from(index) % all.len()]
}
