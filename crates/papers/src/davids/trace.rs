//! A trace: a client writes a little at a time to a server that only reads.

use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::receiver::ack_policy::AckTimer;
use tinygram_engine::sender::send_policy::{NAGLIM_DEFAULT, SendPolicy};
use tinygram_engine::{Config, Duration, Instant};
use tinygram_sim::costs::HostCosts;
use tinygram_sim::medium::{Frame, ImpairmentRules, Medium, PointToPoint, Side, Wire};
use tinygram_sim::observer::SentFrames;
use tinygram_sim::workload::periodic::{Periodic, Writer};
use tinygram_sim::{Ended, Opening, World, WorldConfig};

/// What a data packet costs besides its data, in octets: "8-byte Ethernet preamble, 14 Ethernet
/// header, 20 IP header, 20 TCP header, 4 Ethernet trailer, and 12 interframe gap".
pub const DATA_OVERHEAD: u64 = 78;
/// What a packet without data costs, in octets: "an additional 6 bytes to pad out the Ethernet
/// frame to the minimum length".
pub const ACK_OVERHEAD: u64 = 84;

/// Nothing of what the article shows comes near it.
const BUFFER: u64 = 65_535;
/// "For Ethernet ... the MSS is 1460."
pub(super) const MSS: u16 = 1460;
/// The article says Ethernet, and not which; 100 Mbit/s change no number by more than 0.1 ms.
pub(super) const BITS_PER_SECOND: u64 = 10_000_000;
/// No run takes as long; a longer one would be a mistake of ours.
const LATE: Duration = Duration::from_secs(1_000_000);

/// How a trace is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// How often the client writes; at least once.
    pub writes: u32,
    /// The octets of each write; at least 1.
    pub write: u64,
    /// From the first write to the last one.
    pub generating: Duration,
    /// `tcp_naglim_def`, in octets; 1 is TCP_NODELAY.
    pub naglim: u32,
    /// The server's delayed-ACK clock.
    pub ack_clock: AckClock,
}

/// When the server sends the ACKs that it has delayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckClock {
    /// At every tick of a clock that runs freely. Trace 1 asks for it: its waits are 54 ms once and
    /// 200 ms thereafter.
    Cyclic {
        /// From tick to tick; more than nothing.
        period: Duration,
        /// From the client's first write to the next tick; up to `period`.
        phase: Duration,
    },
    /// So long after the first packet that is not acknowledged.
    PerConnection(Duration),
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Measured {
    /// When each data packet was sent, the first write being at zero, and its octets of data.
    pub data: Vec<(Instant, u32)>,
    /// When each ACK was sent.
    pub acks: Vec<Instant>,
    /// Every packet, by side.
    pub sent: Vec<(Side, Frame)>,
    parameters: Parameters,
}

impl Parameters {
    /// "The client generates 10 bytes of data every 10 ms, taking 490 ms to generate all of the
    /// data", and the server delays ACKs to a tick of 200 ms that falls at the first write.
    pub const SLOW: Self = Self {
        writes: 50,
        write: 10,
        generating: Duration::from_millis(490),
        naglim: NAGLIM_DEFAULT,
        ack_clock: AckClock::Cyclic {
            period: Duration::from_millis(200),
            phase: Duration::from_millis(200),
        },
    };

    /// The same, "as fast as it can, taking about 9 ms".
    pub const FAST: Self = Self {
        generating: Duration::from_millis(9),
        ..Self::SLOW
    };

    /// With this `tcp_naglim_def`, in octets.
    #[must_use]
    pub const fn with_naglim(self, naglim: u32) -> Self {
        Self { naglim, ..self }
    }

    /// With the server's tick so many ms after the first write.
    #[must_use]
    pub const fn with_phase_ms(self, phase: u64) -> Self {
        self.with_phase(Duration::from_millis(phase))
    }

    /// With the server's tick so long after the first write; a timer has no phase.
    #[must_use]
    pub const fn with_phase(self, phase: Duration) -> Self {
        let AckClock::Cyclic { period, .. } = self.ack_clock else {
            return self;
        };
        let ack_clock = AckClock::Cyclic { period, phase };
        Self { ack_clock, ..self }
    }

    /// With so many ms between the ticks of the server's clock; its phase stands.
    #[must_use]
    pub const fn with_tick_ms(self, period: u64) -> Self {
        let period = Duration::from_millis(period);
        let phase = match self.ack_clock {
            AckClock::Cyclic { phase, .. } => phase,
            AckClock::PerConnection(_) => period,
        };
        let ack_clock = AckClock::Cyclic { period, phase };
        Self { ack_clock, ..self }
    }

    /// Makes the trace.
    #[must_use]
    pub fn run(&self) -> Measured {
        let writer = Writer {
            socket: 0,
            len: self.write,
            left: self.writes,
            period: self.between_writes(),
            due: Instant::ZERO,
        };
        let client = vec![Periodic::Writer(writer)];
        let server = vec![Periodic::Reader { socket: 0 }];
        let mut world = World::watched(wiring(), [client, server], SentFrames::default());
        world.connect(Opening::Established, self.ends());
        let ended = world.run(Instant::ZERO + LATE);
        assert_eq!(ended, Ended::Quiet, "everything is sent and acknowledged");
        Measured::new(world.observer().sent.clone(), *self)
    }

    fn between_writes(&self) -> Duration {
        let gaps = u64::from(self.writes.max(2) - 1);
        Duration::from_nanos(self.generating.as_nanos().div_ceil(gaps))
    }

    /// Client and server.
    fn ends(&self) -> [Config; 2] {
        let profile = Profile::SOLARIS_8;
        let sizes = Sizes {
            mss: MSS,
            send_buffer: BUFFER,
            receive_buffer: BUFFER,
        };
        let mut client = (profile.config)(&sizes);
        client.sender.policy = SendPolicy::naglim(self.naglim);
        let mut server = (profile.config)(&sizes);
        server.receiver.timer = match self.ack_clock {
            AckClock::Cyclic { period, phase } => AckTimer::Cyclic {
                period,
                phase,
                slow: None,
            },
            AckClock::PerConnection(length) => AckTimer::PerConnection(length),
        };
        [client, server]
    }
}

/// Returns a quiet Ethernet with hosts whose own work takes no time to speak of.
fn wiring() -> WorldConfig {
    let wire = Wire::new(BITS_PER_SECOND, DATA_OVERHEAD, ACK_OVERHEAD, Duration::ZERO);
    WorldConfig {
        medium: Medium::PointToPoint(PointToPoint::new(wire)),
        impairment: ImpairmentRules::NONE,
        costs: [HostCosts::NONE; 2],
        seed: 1,
    }
}

impl Measured {
    fn new(sent: Vec<(Side, Frame)>, parameters: Parameters) -> Self {
        let of = |side: Side| {
            let of_it = sent.iter().filter(move |(from, _)| *from == side);
            of_it.map(|(_, frame)| frame)
        };
        let data = of(Side::Client).map(|frame| (frame.at, frame.segment.len));
        let acks = of(Side::Server).map(|frame| frame.at);
        Self {
            data: data.collect(),
            acks: acks.collect(),
            sent,
            parameters,
        }
    }

    /// Packets in both directions.
    #[must_use]
    pub fn packets(&self) -> u64 {
        (self.data.len() + self.acks.len()) as u64
    }

    /// From the first data packet to the last one, in ms.
    #[must_use]
    pub fn sending_ms(&self) -> f64 {
        let ends = self.data.first().zip(self.data.last());
        ends.map_or(0.0, |(first, last)| last.0.since(first.0).as_millis_f64())
    }

    /// From the application's first write to its last one, in ms.
    #[must_use]
    pub fn generating_ms(&self) -> f64 {
        self.parameters.generating.as_millis_f64()
    }

    /// "A delay of (654 - 490)/490": how much longer sending took than generating, in percent.
    #[must_use]
    pub fn delay_percent(&self) -> f64 {
        (self.sending_ms() / self.generating_ms() - 1.0) * 100.0
    }

    /// Returns the overhead of the data packets, in octets: "5 * 78".
    #[must_use]
    pub fn data_overhead(&self) -> u64 {
        self.data.len() as u64 * DATA_OVERHEAD
    }

    /// Returns the overhead of all packets, in octets: "(5 * 78) + (5 * 84)".
    #[must_use]
    pub fn total_overhead(&self) -> u64 {
        self.data_overhead() + self.acks.len() as u64 * ACK_OVERHEAD
    }

    /// Returns an overhead in percent of the data: "(5 * 78)/500".
    #[must_use]
    pub fn percent_of_data(&self, overhead: u64) -> f64 {
        let data = u64::from(self.parameters.writes) * self.parameters.write;
        overhead as f64 / data as f64 * 100.0
    }
}
