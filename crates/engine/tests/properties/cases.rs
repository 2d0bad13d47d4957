//! The cases for the properties: storms, in which everything goes wrong, and talks, in which
//! nothing does.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tinygram_engine::Duration;
use tinygram_engine::connection::Config;
use tinygram_engine::extensions::{Extensions, LossDetection, PathMtuSearch, Sack};
use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::receiver::ReceiverConfig;
use tinygram_engine::receiver::ack_policy::{self, AckPolicy, AckTimer};
use tinygram_engine::sender::congestion::Congestion;
use tinygram_engine::sender::congestion::restart::IdleRestart;
use tinygram_engine::sender::send_policy::{self, SendPolicy};
use tinygram_engine::sender::{RtoRules, SenderConfig};
use tinygram_engine::socket::copy_rule::{CopyRule, Linux, Mclbytes, SunOs, WholeWrite};

use crate::world::{Network, Op, Opening, World};

/// The delayed-ACK timer in every case here; no ACK policy sets a later deadline of its own.
pub(crate) const ACK_TIMER: Duration = Duration::from_millis(200);

/// Two hosts of one kind and how they are joined.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    mss: u16,
    send_buffer: u64,
    receive_buffer: u64,
    initial_cwnd_segments: u64,
    copy_rule: CopyRule,
    idle_restart: IdleRestart,
    more_in_every_variant: bool,
    extensions: Extensions,
    congestion: Congestion,
    pub(crate) delay: Duration,
}

pub(crate) fn setting(longest_delay_ms: u64) -> impl Strategy<Value = Setting> {
    let copy_rules = [
        CopyRule::WholeWrite(WholeWrite),
        CopyRule::Linux(Linux),
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
    (
        select(vec![88_u16, 536, 1460, 4312, 8960]),
        100_u64..40_000,
        // Some are so large that the window is scaled by several bits.
        prop_oneof![4 => 300_u64..40_000, 1 => 300_000_u64..2_000_000],
        1_u64..12,
        select(copy_rules.to_vec()),
        select(IdleRestart::ALL.to_vec()),
        any::<bool>(),
        (extensions(), select(Congestion::NAMES.to_vec())),
        1..=longest_delay_ms,
    )
        .prop_map(
            |(
                mss,
                send_buffer,
                receive_buffer,
                segments,
                copy_rule,
                idle_restart,
                more,
                new,
                delay,
            )| {
                Setting {
                    mss,
                    send_buffer,
                    receive_buffer,
                    initial_cwnd_segments: segments,
                    copy_rule,
                    idle_restart,
                    more_in_every_variant: more,
                    extensions: new.0,
                    congestion: Congestion::named(new.1).expect("listed"),
                    delay: Duration::from_millis(delay),
                }
            },
        )
}

/// Returns one of: no extensions, timestamps, SACK, SACK with RACK, Linux 6's, all modern ones, or
/// these with a search for a larger path MTU from the start.
fn extensions() -> impl Strategy<Value = Extensions> {
    let timestamps = Extensions {
        timestamps: true,
        ..Extensions::NONE
    };
    let sack = Extensions {
        sack: Some(Sack::PLAIN),
        window_scaling: true,
        ..Extensions::NONE
    };
    let rack = Extensions {
        sack: Some(Sack {
            detection: LossDetection::RackTlp,
            ..Sack::PLAIN
        }),
        ..sack
    };
    let counting_segments = Extensions {
        sack: Some(Sack {
            counts_segments: true,
            ..Sack::FULL
        }),
        ..Extensions::LINUX_6
    };
    let searching = Extensions {
        path_mtu_search: Some(PathMtuSearch {
            from_the_start: true,
            base_mss: 300,
        }),
        ..Extensions::MODERN
    };
    let all = [
        Extensions::NONE,
        timestamps,
        sack,
        rack,
        Extensions::LINUX_6,
        Extensions::MODERN,
        counting_segments,
        searching,
    ];
    select(all.to_vec())
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
                congestion: self.congestion.clone(),
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
                window_cap: if self.extensions.window_scaling {
                    1 << 30
                } else {
                    65_535
                },
                mss: self.mss,
                policy: ack_policy,
                timer: AckTimer::PerConnection(ACK_TIMER),
            },
            copy_rule: self.copy_rule,
            time_wait: Duration::from_secs(60),
            extensions: self.extensions,
        }
    }
}

/// A bad network between two programs that act at random, with a writing and a reading thread each.
#[derive(Clone, Debug)]
pub(crate) struct Storm {
    setting: Setting,
    loss: u64,
    duplication: u64,
    reordering: u64,
    simultaneous: bool,
    seed: u64,
    programs: [Program; 2],
}

#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// Each write's length, whether it has MORE, and the pause after it in milliseconds; 0 for
    /// none.
    writes: Vec<(u64, bool, u64)>,
    read_max: u64,
    read_pause_ms: u64,
}

pub(crate) fn storm() -> impl Strategy<Value = Storm> {
    let program = || {
        let length = prop_oneof![1 => 1_u64..4, 3 => 1_u64..12_000];
        (
            vec((length, any::<bool>(), 0_u64..400), 0..8),
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
    pub(crate) fn world(
        &self,
        policy: &send_policy::Registered,
        ack: &ack_policy::Registered,
    ) -> World {
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

    pub(crate) fn opening(&self) -> Opening {
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

/// Requests and responses between two threads that block on each other, over a good network.
#[derive(Clone, Debug)]
pub(crate) struct Talk {
    pub(crate) setting: Setting,
    exchanges: Vec<Exchange>,
    read_max: u64,
    /// At both ends one thread reads and another writes, as in a Telnet client, and neither waits
    /// for an answer.
    readers_apart: bool,
}

/// The lengths of the writes that make up each message.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    request: Vec<u64>,
    response: Vec<u64>,
    /// How long the client waits in poll before it reads, in milliseconds; 0 for no poll.
    poll_ms: u64,
}

pub(crate) fn talk() -> impl Strategy<Value = Talk> {
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

    pub(crate) fn world(
        &self,
        policy: &send_policy::Registered,
        ack: &ack_policy::Registered,
    ) -> World {
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

/// A million octets one way over a path of 100 ms that loses one segment in a hundred.
pub(crate) fn bulk(extensions: Extensions, reordering: u64, seed: u64) -> World {
    let setting = Setting {
        mss: 1460,
        send_buffer: 1 << 20,
        receive_buffer: 60_000,
        initial_cwnd_segments: 10,
        copy_rule: CopyRule::WholeWrite(WholeWrite),
        idle_restart: IdleRestart::None,
        more_in_every_variant: false,
        extensions,
        congestion: Congestion::Reno,
        delay: Duration::from_millis(50),
    };
    let policy = SendPolicy::Nagle;
    let ack_policy = AckPolicy::EverySecond;
    let config = setting.config(policy, ack_policy);
    let network = Network {
        delay: setting.delay,
        loss: 10,
        duplication: 0,
        reordering,
    };
    let len = 1_000_000;
    let writes = vec![Op::Write { len, more: false }, Op::Close];
    let reads = Op::Read {
        total: u64::MAX,
        max: u64::MAX,
        pause: Duration::ZERO,
    };
    World::new(
        [config.clone(), config],
        [vec![writes], vec![vec![reads, Op::Close]]],
        network,
        seed,
    )
}

/// What both ends write to each other at the same time, over a path that loses 8 of a hundred
/// segments and delays 20 so that others overtake them.
#[derive(Clone, Debug)]
pub(crate) struct BadPath {
    mss: u16,
    send_buffer: u64,
    receive_buffer: u64,
    delay: Duration,
    lens: [Vec<u64>; 2],
    seed: u64,
}

pub(crate) fn bad_path() -> impl Strategy<Value = BadPath> {
    let writes = || vec(prop_oneof![1_u64..500, 1_u64..60_000], 1..8);
    (
        select(vec![536_u16, 1460, 8960]),
        2_000_u64..200_000,
        2_000_u64..200_000,
        1_u64..100,
        [writes(), writes()],
        any::<u64>(),
    )
        .prop_map(
            |(mss, send_buffer, receive_buffer, delay, lens, seed)| BadPath {
                mss,
                send_buffer,
                receive_buffer,
                delay: Duration::from_millis(delay),
                lens,
                seed,
            },
        )
}

impl BadPath {
    /// Returns the smallest case in which a backoff outlived its reason.
    pub(crate) fn with_many_losses() -> Self {
        Self {
            mss: 8960,
            send_buffer: 29_556,
            receive_buffer: 26_844,
            delay: Duration::from_millis(41),
            lens: [vec![56_400], vec![37_724, 39_115, 29_713]],
            seed: 17_184_456_275_527_006_974,
        }
    }

    pub(crate) fn world(&self, profile: &Profile) -> World {
        let config = profile.config(&Sizes {
            mss: self.mss,
            send_buffer: self.send_buffer,
            receive_buffer: self.receive_buffer,
        });
        let network = Network {
            delay: self.delay,
            loss: 80,
            duplication: 0,
            reordering: 200,
        };
        let programs = self.lens.each_ref().map(|lens| {
            let write = |&len: &u64| Op::Write { len, more: false };
            let writer = lens.iter().map(write).chain([Op::Close]).collect();
            let reader = Op::Read {
                total: u64::MAX,
                max: u64::MAX,
                pause: Duration::ZERO,
            };
            vec![writer, vec![reader]]
        });
        World::new([config.clone(), config], programs, network, self.seed)
    }
}
