//! Properties that hold of every policy, whatever the network does and the applications ask.
//!
//! The cases come from a fixed seed, so a run repeats itself. `PROPERTY_SEED=7` draws others and
//! `PROPERTY_CASES=1000` draws more; a failure prints the smallest case found and the command.

mod invariants;
mod world;

use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::sync::Once;
use std::{env, panic};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config as RunnerConfig, RngAlgorithm, TestError, TestRng, TestRunner};
use tinygram_engine::connection::{Config, Reason};
use tinygram_engine::receiver::ReceiverConfig;
use tinygram_engine::receiver::ack_policy::{self, AckPolicy, AckTimer};
use tinygram_engine::sender::congestion::restart::IdleRestart;
use tinygram_engine::sender::congestion::{Congestion, Reno};
use tinygram_engine::sender::send_policy::{
    self, Because, BlockedOn, Moment, Offer, Rule, SendPolicy, Vars, Why,
};
use tinygram_engine::sender::{RtoRules, SenderConfig, TimerReason};
use tinygram_engine::socket::copy_rule::{CopyRule, Mclbytes, SunOs, WholeWrite};
use tinygram_engine::{Duration, Instant, Offset, Span};

use world::{Network, Op, Opening, World};

/// The delayed ACK's timer in every case here; no ACK policy names a later deadline of its own.
const ACK_TIMER: Duration = Duration::from_millis(200);

/// Two hosts of a kind and how they are joined.
#[derive(Clone, Debug)]
struct Setting {
    mss: u16,
    send_buffer: u64,
    receive_buffer: u64,
    initial_cwnd_segments: u64,
    copy_rule: CopyRule,
    idle_restart: IdleRestart,
    more_in_every_variant: bool,
    delay: Duration,
}

fn setting(longest_delay_ms: u64) -> impl Strategy<Value = Setting> {
    let copy_rules = [
        CopyRule::WholeWrite(WholeWrite),
        CopyRule::SunOs(SunOs::AS_SHIPPED),
        CopyRule::Mclbytes(Mclbytes {
            cluster: 8192,
            low_water: Mclbytes::LOW_WATER,
        }),
        CopyRule::Mclbytes(Mclbytes {
            cluster: 512,
            low_water: Mclbytes::LOW_WATER,
        }),
    ];
    let restarts = [
        IdleRestart::None,
        IdleRestart::Reset,
        IdleRestart::Decay,
        IdleRestart::Paced,
    ];
    (
        select(vec![88_u16, 536, 1460, 4312, 8960]),
        100_u64..40_000,
        300_u64..40_000,
        1_u64..12,
        select(copy_rules.to_vec()),
        select(restarts.to_vec()),
        any::<bool>(),
        1..=longest_delay_ms,
    )
        .prop_map(
            |(mss, send_buffer, receive_buffer, segments, copy_rule, idle_restart, more, delay)| {
                Setting {
                    mss,
                    send_buffer,
                    receive_buffer,
                    initial_cwnd_segments: segments,
                    copy_rule,
                    idle_restart,
                    more_in_every_variant: more,
                    delay: Duration::from_millis(delay),
                }
            },
        )
}

impl Setting {
    fn config(&self, policy: SendPolicy, ack_policy: AckPolicy) -> Config {
        Config {
            sender: SenderConfig {
                mss: u32::from(self.mss),
                buffer: self.send_buffer,
                policy,
                more_in_every_variant: self.more_in_every_variant,
                cluster: 8192,
                congestion: Congestion::Reno(Reno),
                idle_restart: self.idle_restart,
                initial_cwnd: self.initial_cwnd_segments * u64::from(self.mss),
                cwnd_cap: 1 << 30,
                rto: RtoRules {
                    give_up_after: 30,
                    ..RtoRules::RFC_6298
                },
            },
            receiver: ReceiverConfig {
                buffer: self.receive_buffer,
                window_cap: 65_535,
                mss: self.mss,
                policy: ack_policy,
                timer: AckTimer::PerConnection(ACK_TIMER),
            },
            copy_rule: self.copy_rule,
            time_wait: Duration::from_secs(60),
        }
    }
}

/// A bad network between two programs that do as they like, a writing and a reading thread each.
#[derive(Clone, Debug)]
struct Storm {
    setting: Setting,
    loss: u64,
    duplication: u64,
    reordering: u64,
    simultaneous: bool,
    seed: u64,
    programs: [Program; 2],
}

#[derive(Clone, Debug)]
struct Program {
    /// Lengths of writes, each followed by a pause in milliseconds; 0 for none.
    writes: Vec<(u64, bool, u64)>,
    read_max: u64,
    read_pause_ms: u64,
}

fn storm() -> impl Strategy<Value = Storm> {
    let program = || {
        (
            vec((1_u64..12_000, any::<bool>(), 0_u64..400), 0..8),
            200_u64..20_000,
            prop_oneof![3 => Just(0_u64), 1 => 1_u64..3000],
        )
            .prop_map(|(writes, read_max, read_pause_ms)| Program {
                writes,
                read_max,
                read_pause_ms,
            })
    };
    let network = (0_u64..200, 0_u64..200, 0_u64..300);
    let rest = (any::<bool>(), any::<u64>(), program(), program());
    (setting(300), network, rest).prop_map(
        |(setting, (loss, duplication, reordering), (simultaneous, seed, first, second))| Storm {
            setting,
            loss,
            duplication,
            reordering,
            simultaneous,
            seed,
            programs: [first, second],
        },
    )
}

impl Storm {
    fn world(&self, policy: &send_policy::Registered, ack: &ack_policy::Registered) -> World {
        let config = self.setting.config((policy.make)(), (ack.make)());
        let network = Network {
            delay: self.setting.delay,
            loss: self.loss,
            duplication: self.duplication,
            reordering: self.reordering,
        };
        let programs = [self.programs[0].threads(), self.programs[1].threads()];
        World::new([config.clone(), config], programs, network, self.seed)
    }

    fn opening(&self) -> Opening {
        if self.simultaneous {
            Opening::Simultaneous
        } else {
            Opening::Active
        }
    }
}

impl Program {
    fn threads(&self) -> Vec<Vec<Op>> {
        let mut writer = Vec::new();
        for &(len, more, pause) in &self.writes {
            writer.push(Op::Write { len, more });
            if pause > 0 {
                writer.push(Op::Sleep(Duration::from_millis(pause)));
            }
        }
        writer.push(Op::Close);
        let reader = vec![Op::Read {
            total: u64::MAX,
            max: self.read_max,
            pause: Duration::from_millis(self.read_pause_ms),
        }];
        vec![writer, reader]
    }
}

/// Whatever the network does, what was written is read, once and in order; both ends get to
/// CLOSED; and on the way the window never shrinks, no timer asks to be woken for ever, nothing is
/// invented and the connections' invariants hold.
#[test]
fn all_arrives_once_and_in_order() {
    for (policy, ack) in combinations() {
        let what = format!("{} x {}", policy.name, ack.name);
        check(
            "all_arrives_once_and_in_order",
            &what,
            12,
            &storm(),
            |storm| {
                let mut world = storm.world(policy, ack);
                world.run(storm.opening());
                world.assert_delivered();
            },
        );
    }
}

/// Every send policy with every ACK policy.
fn combinations() -> impl Iterator<
    Item = (
        &'static send_policy::Registered,
        &'static ack_policy::Registered,
    ),
> {
    let acks = |policy| AckPolicy::LIST.iter().map(move |ack| (policy, ack));
    SendPolicy::LIST.iter().flat_map(acks)
}

/// Requests and responses between two threads that block on each other, over a good network.
#[derive(Clone, Debug)]
struct Talk {
    setting: Setting,
    exchanges: Vec<Exchange>,
    read_max: u64,
    /// At both ends one thread reads and another one writes, as in a Telnet client, and nobody
    /// waits for an answer.
    readers_apart: bool,
}

/// The lengths of the writes that make up each message.
#[derive(Clone, Debug)]
struct Exchange {
    request: Vec<u64>,
    response: Vec<u64>,
    /// The client waits in poll for this long before it reads. Milliseconds; 0 for no poll.
    poll_ms: u64,
}

fn talk() -> impl Strategy<Value = Talk> {
    let message = || vec(prop_oneof![1_u64..100, 1_u64..12_000], 1..6);
    let exchange = (message(), message(), prop_oneof![Just(0_u64), 1_u64..50]).prop_map(
        |(request, response, poll_ms)| Exchange {
            request,
            response,
            poll_ms,
        },
    );
    (
        setting(20),
        vec(exchange, 1..6),
        prop_oneof![1_u64..5000, Just(1 << 20)],
        any::<bool>(),
    )
        .prop_map(|(setting, exchanges, read_max, readers_apart)| Talk {
            setting,
            exchanges,
            read_max,
            readers_apart,
        })
}

impl Talk {
    fn programs(&self) -> [Vec<Vec<Op>>; 2] {
        let read = |lens: &[u64]| Op::Read {
            total: lens.iter().sum(),
            max: self.read_max,
            pause: Duration::ZERO,
        };
        let writes = |lens: &[u64]| -> Vec<Op> {
            let write = |&len: &u64| Op::Write { len, more: false };
            lens.iter().map(write).collect()
        };
        let (mut client, mut server) = (Vec::new(), Vec::new());
        let (mut client_reads, mut server_reads) = (Vec::new(), Vec::new());
        for exchange in &self.exchanges {
            client.extend(writes(&exchange.request));
            if exchange.poll_ms > 0 {
                client.push(Op::Sleep(Duration::from_millis(exchange.poll_ms)));
            }
            let (request, response) = (read(&exchange.request), read(&exchange.response));
            if self.readers_apart {
                client_reads.push(response);
                server_reads.push(request);
            } else {
                client.push(response);
                server.push(request);
            }
            server.extend(writes(&exchange.response));
        }
        client.push(Op::Close);
        server.push(Op::Close);
        [vec![client, client_reads], vec![server, server_reads]]
    }

    fn world(&self, policy: &send_policy::Registered, ack: &ack_policy::Registered) -> World {
        let config = self.setting.config((policy.make)(), (ack.make)());
        let network = Network {
            delay: self.setting.delay,
            loss: 0,
            duplication: 0,
            reordering: 0,
        };
        World::new([config.clone(), config], self.programs(), network, 0)
    }
}

/// No policy deadlocks beyond the receiver's ACK timer. Stated exactly: on a network without loss,
/// between programs that read what they are sent and never promise data that does not come
/// (MSG_MORE without a next write, TCP_CORK that stays on), the sender's timers of last resort,
/// retransmission and persist, never have to act; and while a message is on its way, no more than
/// the ACK timer's length passes between one segment's sending and the next one's.
///
/// A small buffer may cost one such wait for every buffer-full, so a message has no bound of its
/// own; a single stall has.
#[test]
fn no_stall_outlasts_the_ack_timer() {
    for (policy, ack) in combinations() {
        let what = format!("{} x {}", policy.name, ack.name);
        check(
            "no_stall_outlasts_the_ack_timer",
            &what,
            20,
            &talk(),
            |talk| {
                let mut world = talk.world(policy, ack);
                world.run(Opening::Active);
                world.assert_delivered();
                let last_resort = world.fired.iter().find(|(.., reason)| {
                    matches!(
                        reason,
                        Reason::Sender(TimerReason::Retransmit | TimerReason::Persist)
                    )
                });
                assert_eq!(last_resort, None, "a timer of last resort");
                let bound = ACK_TIMER + talk.setting.delay;
                let silence = world.longest_silence;
                assert!(silence <= bound, "{silence} without a segment");
            },
        );
    }
}

/// With nothing outstanding and some window open, no policy holds anything, but for
///
/// - what the application said is followed by more (a write under way, MSG_MORE), in the variants
///   with MORE, DOUPNIK and LINUX; never while that writer sleeps for space;
/// - FLUSH-ON-BLOCK's runt of a writer that runs, for a millisecond at the most;
/// - a runt that the window cuts short, in policies that leave those to the sender's silly window
///   avoidance: not the policy's decision, and the persist timer's to end;
/// - what TCP_CORK corks, under LINUX (no case here corks; `scenarios/linux` does).
#[test]
fn nothing_outstanding_nothing_held() {
    for (policy, ack) in combinations() {
        let what = format!("{} x {}", policy.name, ack.name);
        let may_hold: fn(Why, &Vars) -> bool = match policy.name {
            "flush-on-block" => |why, vars| why == Why::WriterRuns || excused(why, vars),
            _ => excused,
        };
        check(
            "nothing_outstanding_nothing_held",
            &what,
            12,
            &storm(),
            |storm| {
                let mut world = storm.world(policy, ack);
                world.may_hold_idle = may_hold;
                world.run(storm.opening());
            },
        );
    }
}

/// Whether somebody else than the policy is to blame for a hold.
fn excused(why: Why, vars: &Vars) -> bool {
    match why {
        Why::MoreToCome | Why::NotEndOfData => vars.more_to_come && !vars.writer_blocked,
        Why::WindowCuts => vars.written > vars.nxt + vars.wnd.min(vars.cwnd),
        _ => false,
    }
}

/// What may befall a policy between two questions.
fn moment() -> impl Strategy<Value = Moment> {
    let because = select(vec![
        Because::Full,
        Because::Idle,
        Because::Blocked,
        Because::Retransmission,
    ]);
    let on = select(vec![
        BlockedOn::Read,
        BlockedOn::Write,
        BlockedOn::Elsewhere,
    ]);
    prop_oneof![
        Just(Moment::WriteBegan { resumed: false }),
        Just(Moment::AckArrived),
        (any::<bool>(), 0_u32..3, any::<bool>()).prop_map(|(more, pieces_before, before)| {
            Moment::ChunkCopied {
                more_to_come: more,
                pieces_before,
                more_on_entry: before,
            }
        }),
        (on, any::<bool>()).prop_map(|(on, wrote)| Moment::AppBlocks { on, wrote }),
        (1_u64..4000, 1_u64..2000, any::<bool>(), because).prop_map(
            |(start, len, short, because)| Moment::Sent {
                span: Span::new(Offset::new(start), Offset::new(start + len)),
                short,
                because,
            }
        ),
    ]
}

fn vars() -> impl Strategy<Value = Vars> {
    let distances = [0_u64..2000, 0..2000, 0..2000];
    let flags = any::<[bool; 6]>();
    (distances, 1_u32..2000, 0_u64..9000, flags, 0_u64..500).prop_map(
        |([sent, resent, unsent], mss, window, flags, millis)| {
            let una = Offset::new(1000);
            let max = una + sent;
            Vars {
                now: Instant::ZERO + Duration::from_millis(millis),
                una,
                nxt: una + sent.saturating_sub(resent),
                max,
                written: max + unsent,
                mss,
                wnd: window,
                max_wnd: window,
                cwnd: window,
                ssthresh: window,
                cluster: 512,
                capacity: 8192,
                more_to_come: flags[0],
                nodelay: flags[1],
                corked: flags[2],
                reader_blocked: flags[3],
                writer_blocked: flags[4],
                device_busy: flags[5],
            }
        },
    )
}

fn offer(vars: &Vars, [empties, idle_on_entry, pass_over_mss, held]: [bool; 4]) -> Offer {
    let end = vars.written.min(vars.nxt + u64::from(vars.mss - 1));
    Offer {
        span: Span::new(vars.nxt, end),
        empties,
        idle_on_entry,
        pass_over_mss,
        outstanding_on_entry: vars.outstanding(),
        held_since: held.then_some(Instant::ZERO),
    }
}

/// Asked twice, a policy answers the same; and asking leaves no trace: one that is asked all the
/// time comes to the same answers as its twin that is only told what happens.
#[test]
fn asking_changes_nothing() {
    for policy in SendPolicy::LIST {
        let history = vec((moment(), vars(), any::<[bool; 4]>()), 1..40);
        check(
            "asking_changes_nothing",
            policy.name,
            200,
            &history,
            |history| {
                let (mut asked, mut told) = ((policy.make)(), (policy.make)());
                for (moment, vars, bits) in history {
                    asked.observe(*moment, vars);
                    told.observe(*moment, vars);
                    let offer = offer(vars, *bits);
                    let first = asked.decide(&offer, vars);
                    assert_eq!(first, asked.decide(&offer, vars), "asked twice");
                    assert_eq!(first, asked.clone().decide(&offer, vars), "a copy asked");
                }
                let (_, vars, bits) = history.last().expect("not empty");
                let offer = offer(vars, *bits);
                assert_eq!(asked.decide(&offer, vars), told.decide(&offer, vars));
            },
        );
    }
}

/// Runs `cases` cases of `strategy`, or as many as `PROPERTY_CASES` says.
fn check<S: Strategy>(
    test: &str,
    what: &str,
    cases: u32,
    strategy: &S,
    property: impl Fn(&S::Value),
) where
    S::Value: Clone,
{
    let from_env = |name: &str| {
        env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let seed = from_env("PROPERTY_SEED").unwrap_or(1);
    let cases = from_env("PROPERTY_CASES").map_or(cases, |cases| cases as u32);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    for (byte, letter) in bytes[8..].iter_mut().zip(what.bytes()) {
        *byte = letter;
    }
    let config = RunnerConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 4000,
        ..RunnerConfig::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    quietly();
    let outcome = TestRunner::new_with_rng(config, rng).run(strategy, |value| {
        SHRINKING.set(true);
        property(&value);
        SHRINKING.set(false);
        Ok(())
    });
    SHRINKING.set(false);
    if let Err(failure) = outcome {
        if let TestError::Fail(_, smallest) = &failure {
            world::TELLING.set(true);
            let told = panic::catch_unwind(AssertUnwindSafe(|| property(smallest)));
            world::TELLING.set(false);
            assert!(told.is_err(), "a case that failed must fail again");
        }
        panic!(
            "{what}: {failure}\nrepeat: PROPERTY_SEED={seed} PROPERTY_CASES={cases} \
             cargo test -p tinygram-engine --test properties -- --exact {test}"
        );
    }
}

thread_local! {
    /// A panic is a case that failed, one of many while the smallest is sought.
    static SHRINKING: Cell<bool> = const { Cell::new(false) };
}

/// Keeps the panics of cases to the runner, which reports the smallest one.
fn quietly() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !SHRINKING.get() {
                usual(info);
            }
        }));
    });
}
