//! One trial of naglemark: its parameters, and what came of it.

use std::sync::Arc;

use tinygram_engine::connection::Config;
use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::receiver::ack_policy::{AckPolicy, AckTimer};
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_engine::socket::copy_rule::{CopyRule, Mclbytes};
use tinygram_engine::{Duration, Instant};
use tinygram_sim::dice::{Dice, Purpose};
use tinygram_sim::medium::{Ethernet, Fddi, ImpairmentRules, Medium, PointToPoint, Side, Wire};
use tinygram_sim::observer::{Nobody, Observer};
use tinygram_sim::workload::naglemark::{Naglemark, Plan, Writes};
use tinygram_sim::{Ended, Opening, World, WorldConfig};

use super::model::{ACK_TICK, Costs, INFERENCE, Model};

/// What joins the hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MediumKind {
    /// 10 Mbit/s, MSS 1460.
    Ethernet,
    /// The same through a switch: both ways at once, no collisions.
    EthernetFullDuplex,
    /// 100 Mbit/s, MSS 4312.
    Fddi,
    /// A full-duplex line with this many bits per second.
    PointToPoint {
        /// Bits per second.
        bits_per_second: u64,
    },
}

/// The paper's trial types (Table 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// `S`: sequential lengths, one connection for all requests.
    SequentialOne,
    /// `s`: sequential lengths, a connection per request.
    SequentialEach,
    /// `R`: random lengths, one connection for all requests.
    RandomOne,
    /// `r`: random lengths, a connection per request.
    RandomEach,
}

/// How the answers' lengths are chosen, in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// In the trial types `s` and `S`.
    pub series: Series,
    /// In the trial types `r` and `R`.
    pub random: Random,
}

/// Fixed increments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series {
    /// The shortest.
    pub from: u32,
    /// The longest, if a step hits it.
    pub to: u32,
    /// Between one length and the next; at least 1.
    pub step: u32,
    /// How many transfers; the series begins again when it is used up.
    pub transfers: u32,
}

/// A uniform distribution, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Random {
    /// The shortest.
    pub from: u32,
    /// The longest.
    pub to: u32,
    /// How many transfers.
    pub transfers: u32,
    /// So many transfers in a row share a length; at least 1. "The length can be chosen either once
    /// per request, or once for all the requests" (section 6).
    pub run: u32,
}

/// All parameters of a trial. Sizes are in octets.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// Which reading of the paper.
    pub model: Model,
    /// What joins the hosts.
    pub medium: MediumKind,
    /// The maximum segment size.
    pub mss: u16,
    /// The kernel's copying unit.
    pub mclbytes: u64,
    /// The server's send policy, by name.
    pub policy: SendPolicy,
    /// What the server writes at a time.
    pub app_buffer: u64,
    /// The server's send buffer.
    pub socket_buffer: u64,
    /// The client's receive window, where the model's is not wanted.
    pub receive_buffer: Option<u64>,
    /// Which lengths, on how many connections.
    pub trial: Trial,
    /// Requests that share a connection, where the trial type's number is not wanted.
    pub requests_per_connection: Option<usize>,
    /// The lengths.
    pub lengths: Lengths,
    /// The client's ACK policy, where the model's is not wanted.
    pub ack_policy: Option<AckPolicy>,
    /// The client's ACK timer, where the model's is not wanted.
    pub ack_timer: Option<AckTimerKind>,
    /// How writes reach the send buffer, where BSD's way is not wanted.
    pub copy_rule: Option<CopyRule>,
    /// What the hosts' work takes, where the model's is not wanted.
    pub costs: Option<Costs>,
    /// The receiver infers the sender's buffer (section 9).
    pub infer: bool,
    /// The round-trip time beyond the medium.
    pub rtt: Duration,
    /// The chance that a segment is lost.
    pub loss: f64,
    /// The chance that a segment is overtaken.
    pub reorder: f64,
    /// The chance that a segment arrives twice.
    pub duplicate: f64,
    /// The seed of the trial's chance.
    pub seed: u64,
}

/// The client's delayed-ACK clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckTimerKind {
    /// Free-running, with this period.
    Cyclic(Duration),
    /// For each connection, of this length.
    PerConnection(Duration),
}

/// One transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The answer's length in octets.
    pub length: u32,
    /// From the request's sending to the answer's last octet.
    pub elapsed: Duration,
}

/// What came of a trial.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The transfers, in order.
    pub samples: Vec<Sample>,
    /// Data segments that the server sent.
    pub data_segments: u64,
    /// Those below the MSS.
    pub short_segments: u64,
    /// Retransmissions among them.
    pub retransmitted_segments: u64,
    /// Segments that the client sent without data.
    pub acks: u64,
    /// Events that the simulator handled.
    pub events: u64,
    /// The simulated time.
    pub simulated: Duration,
}

/// A request, in octets. The paper does not give it; any that fits one segment does.
const REQUEST: u64 = 100;
/// What opening a connection takes, untimed (fitted; minor).
const SET_UP: Duration = Duration::from_millis(10);
/// From one host to the other on a LAN (fitted; minor).
const PROPAGATION: Duration = Duration::from_micros(10);
/// A trial that has not ended by then never will.
const LONGEST_TRIAL: Duration = Duration::from_secs(100_000);

impl MediumKind {
    /// Its name in tables.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ethernet => "ethernet",
            Self::EthernetFullDuplex => "ethernet-full-duplex",
            Self::Fddi => "fddi",
            Self::PointToPoint { .. } => "point-to-point",
        }
    }

    /// The raw rate that a score's estimate is based on, in bits per second.
    #[must_use]
    pub fn bits_per_second(&self) -> u64 {
        match self {
            Self::Ethernet | Self::EthernetFullDuplex => 10_000_000,
            Self::Fddi => 100_000_000,
            Self::PointToPoint { bits_per_second } => *bits_per_second,
        }
    }

    /// The paper's MSS on it (section 7); Ethernet's where it has none.
    #[must_use]
    pub fn usual_mss(&self) -> u16 {
        match self {
            Self::Ethernet | Self::EthernetFullDuplex | Self::PointToPoint { .. } => 1460,
            Self::Fddi => 4312,
        }
    }

    /// The physical numbers.
    #[must_use]
    pub fn wire(&self) -> Wire {
        // TCP and IP headers are 40 octets.
        let (overhead, least) = match self {
            // Preamble 8, header 14, trailer 4, gap 12; a frame has at least 64 octets besides
            // preamble and gap.
            Self::Ethernet | Self::EthernetFullDuplex | Self::PointToPoint { .. } => (40 + 38, 84),
            // Preamble 8, delimiters and status 3, frame control 1, addresses 12, LLC and SNAP 8,
            // trailer 4.
            Self::Fddi => (40 + 36, 0),
        };
        Wire::new(self.bits_per_second(), overhead, least, PROPAGATION)
    }

    fn build(&self, model: Model, seed: u64) -> Medium {
        match self {
            Self::Ethernet if model.is_fitted() => Medium::Ethernet(Ethernet::new(
                self.wire(),
                Dice::new(seed, Purpose::Backoff),
            )),
            Self::Fddi if model.is_fitted() => Medium::Fddi(Fddi::new(self.wire())),
            _ => Medium::PointToPoint(PointToPoint::new(self.wire())),
        }
    }
}

impl Trial {
    /// All of them. Where scores tie, the paper's tables name the first in this order.
    pub const ALL: [Self; 4] = [
        Self::SequentialOne,
        Self::SequentialEach,
        Self::RandomOne,
        Self::RandomEach,
    ];

    /// The paper's letter.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Self::SequentialOne => 'S',
            Self::SequentialEach => 's',
            Self::RandomOne => 'R',
            Self::RandomEach => 'r',
        }
    }

    /// The trial with this letter.
    #[must_use]
    pub fn with_letter(letter: char) -> Option<Self> {
        Self::ALL.into_iter().find(|trial| trial.letter() == letter)
    }

    /// Whether lengths are drawn.
    #[must_use]
    pub const fn is_random(self) -> bool {
        matches!(self, Self::RandomOne | Self::RandomEach)
    }

    /// Whether all requests share a connection.
    #[must_use]
    pub const fn one_connection(self) -> bool {
        matches!(self, Self::SequentialOne | Self::RandomOne)
    }
}

impl Lengths {
    /// The paper's: 100 to 100,000 octets by 100, or 1000 random ones from 1 to 100,000 (section 7).
    pub const PAPER: Self = Self {
        series: Series {
            from: 100,
            to: 100_000,
            step: 100,
            transfers: 1000,
        },
        random: Random {
            from: 1,
            to: 100_000,
            transfers: 1000,
            run: 1,
        },
    };

    /// The lengths of a trial's transfers, in order.
    #[must_use]
    pub fn draw(&self, trial: Trial, seed: u64) -> Arc<[u32]> {
        if trial.is_random() {
            self.random.draw(seed)
        } else {
            self.series.draw()
        }
    }
}

impl Series {
    fn draw(&self) -> Arc<[u32]> {
        let once = (self.from..=self.to).step_by(self.step as usize);
        once.cycle().take(self.transfers as usize).collect()
    }
}

impl Random {
    fn draw(&self, seed: u64) -> Arc<[u32]> {
        let mut dice = Dice::new(seed, Purpose::Lengths);
        let choices = u64::from(self.to - self.from) + 1;
        let mut length = 0;
        (0..self.transfers)
            .map(|transfer| {
                if transfer % self.run == 0 {
                    length = self.from + dice.below(choices) as u32;
                }
                length
            })
            .collect()
    }
}

impl Parameters {
    /// The paper's, for a cell of its tables.
    #[must_use]
    pub fn paper(
        model: Model,
        medium: MediumKind,
        policy: SendPolicy,
        app_buffer: u64,
        socket_buffer: u64,
        trial: Trial,
    ) -> Self {
        Self {
            model,
            medium,
            mss: medium.usual_mss(),
            mclbytes: 8192,
            policy,
            app_buffer,
            socket_buffer,
            receive_buffer: None,
            trial,
            requests_per_connection: None,
            lengths: Lengths::PAPER,
            ack_policy: None,
            ack_timer: None,
            copy_rule: None,
            costs: None,
            infer: false,
            rtt: Duration::ZERO,
            loss: 0.0,
            reorder: 0.0,
            duplicate: 0.0,
            seed: 0,
        }
    }

    /// The same trial with a repetition's own seed: the same for every variant and buffer size, so
    /// that all of them meet the same lengths and the same clocks.
    #[must_use]
    pub fn repetition(&self, repetition: u32) -> Self {
        let seed = self.seed.wrapping_add(u64::from(repetition));
        Self {
            seed: seed.wrapping_mul(0xd134_2543_de82_ef95),
            ..self.clone()
        }
    }

    /// Runs the trial.
    #[must_use]
    pub fn run(&self) -> Measured {
        self.watched(Nobody).0
    }

    /// Runs the trial before an observer; gives it back.
    #[must_use]
    pub fn watched<O: Observer>(&self, observer: O) -> (Measured, O) {
        let lengths = self.lengths.draw(self.trial, self.seed);
        let plan = self.plan(&lengths);
        let programs = [
            vec![Naglemark::client(plan.clone())],
            vec![Naglemark::server(plan)],
        ];
        let mut world = World::watched(self.world_config(), programs, observer);
        world.connect(Opening::Established, self.ends());
        let ended = world.run(Instant::ZERO + LONGEST_TRIAL);
        debug_assert_eq!(ended, Ended::Stopped, "{self:?}");
        let of_server = world.host(Side::Server).sockets()[0].counters();
        let of_client = world.host(Side::Client).sockets()[0].counters();
        let events = world.events();
        let simulated = world.now().since(Instant::ZERO);
        let elapsed = world
            .host(Side::Client)
            .programs()
            .next()
            .map_or(&[][..], Naglemark::elapsed);
        let samples = lengths
            .iter()
            .zip(elapsed)
            .map(|(length, elapsed)| Sample {
                length: *length,
                elapsed: *elapsed,
            })
            .collect();
        let measured = Measured {
            samples,
            data_segments: of_server.data_segments,
            short_segments: of_server.short_segments,
            retransmitted_segments: of_server.retransmitted_segments,
            acks: of_client.empty_segments,
            events,
            simulated,
        };
        (measured, world.into_observer())
    }

    /// What joins the hosts, and what their work costs.
    pub(super) fn world_config(&self) -> WorldConfig {
        let costs = self.costs();
        WorldConfig {
            medium: self.medium.build(self.model, self.seed),
            impairment: self.impairment(),
            costs: [costs.client, costs.server],
            seed: self.seed,
        }
    }

    /// What the hosts' work takes.
    #[must_use]
    pub fn costs(&self) -> Costs {
        self.costs.unwrap_or(self.model.costs(self.infer))
    }

    /// The rules of client and server.
    pub(super) fn ends(&self) -> [Config; 2] {
        [self.client(), self.server()]
    }

    fn plan(&self, lengths: &Arc<[u32]>) -> Plan {
        let per_connection = if self.trial.one_connection() {
            usize::MAX
        } else {
            1
        };
        let Costs { service, think, .. } = self.costs();
        Plan {
            lengths: lengths.clone(),
            request: REQUEST,
            app_buffer: self.app_buffer,
            read_size: u64::MAX,
            requests_per_connection: self.requests_per_connection.unwrap_or(per_connection),
            set_up: SET_UP + self.rtt,
            service,
            think,
            writes: Writes::Plain,
        }
    }

    fn impairment(&self) -> ImpairmentRules {
        // Long enough for the next few segments to overtake.
        let overtaking = self.medium.wire().occupies(u32::from(self.mss)).times(4);
        ImpairmentRules {
            delay: Duration::from_nanos(self.rtt.as_nanos() / 2),
            loss: self.loss,
            reorder: self.reorder,
            reorder_by: if self.reorder > 0.0 {
                overtaking
            } else {
                Duration::ZERO
            },
            duplicate: self.duplicate,
        }
    }

    /// The client "always used the traditional Nagle algorithm" (section 7).
    fn client(&self) -> Config {
        let window = self
            .receive_buffer
            .unwrap_or(self.model.receive_window(self.socket_buffer));
        let mut config = self.host(64 * 1024, window);
        config.receiver.window_cap = window;
        config.receiver.policy = self.ack_policy.unwrap_or_else(|| {
            let name = if self.infer {
                INFERENCE
            } else {
                self.model.ack_policy()
            };
            AckPolicy::named(name).expect("a registered name")
        });
        config.receiver.timer = self.client_timer();
        config
    }

    fn client_timer(&self) -> AckTimer {
        match self.ack_timer {
            Some(AckTimerKind::PerConnection(length)) => AckTimer::PerConnection(length),
            kind => {
                let period = match kind {
                    Some(AckTimerKind::Cyclic(period)) => period,
                    _ => ACK_TICK,
                };
                let slow = if kind.is_none() {
                    self.model.slow_tick(self.seed)
                } else {
                    None
                };
                let phase =
                    Dice::new(self.seed, Purpose::Phase).below(period.as_nanos().clamp(1, 1 << 32));
                AckTimer::Cyclic {
                    period,
                    phase: Duration::from_nanos(phase),
                    slow,
                }
            }
        }
    }

    fn server(&self) -> Config {
        let mut config = self.host(self.socket_buffer, 65_535);
        let sender = &mut config.sender;
        sender.policy = match self.model {
            Model::Literal => self.policy.clone().to_the_letter(),
            Model::Fitted => self.policy.clone(),
        };
        sender.initial_cwnd = self.model.initial_cwnd(u64::from(self.mss));
        sender.cwnd_cap = if self.model.is_fitted() {
            65_536
        } else {
            65_535
        };
        config
    }

    /// Tru64 UNIX with this trial's sizes.
    fn host(&self, send_buffer: u64, receive_buffer: u64) -> Config {
        let profile = Profile::named("tru64_4").expect("tru64_4 is registered");
        let mut config = (profile.config)(&Sizes {
            mss: self.mss,
            send_buffer,
            receive_buffer,
        });
        config.sender.cluster = self.mclbytes;
        // "The client host ran the same kernel" (section 7).
        config.sender.more_in_every_variant = self.model.is_fitted();
        config.copy_rule = self.copy_rule.unwrap_or(CopyRule::Mclbytes(Mclbytes {
            cluster: self.mclbytes,
            low_water: Mclbytes::LOW_WATER,
        }));
        config
    }
}
