//! A trace: a client writes small pieces to a server that only reads.

use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::receiver::ack_policy::AckTimer;
use tinygram_engine::sender::send_policy::{NAGLIM_DEFAULT, SendPolicy};
use tinygram_engine::{Config, Duration, Instant};
use tinygram_sim::costs::HostCosts;
use tinygram_sim::medium::{MediumFrame, Side, Wire};
use tinygram_sim::observer::{Observer, SentFrames};
use tinygram_sim::workload::periodic::{Periodic, Writer};
use tinygram_sim::{Ended, Opening, World, WorldConfig};
use tinygram_stalls::flood;
use tinygram_stalls::thresholds::{ACK_OVERHEAD_BYTES, DATA_OVERHEAD_BYTES};

/// The overhead of a data packet, in octets: "8-byte Ethernet preamble, 14 Ethernet header, 20 IP
/// header, 20 TCP header, 4 Ethernet trailer, and 12 interframe gap". The law of stalls has the number, because it
/// measures floods by the same formula.
pub const DATA_OVERHEAD: u64 = DATA_OVERHEAD_BYTES as u64;
/// The size of a packet without data, in octets: "an additional 6 bytes to pad out the Ethernet
/// frame to the minimum length".
pub const ACK_OVERHEAD: u64 = ACK_OVERHEAD_BYTES as u64;

/// The size of the buffers; larger than anything in the article needs.
const BUFFER: u64 = 65_535;
/// "For Ethernet ... the MSS is 1460."
pub(super) const MSS: u16 = 1460;
/// The article says Ethernet without a rate; 100 Mbit/s would change no number by more than 0.1 ms.
pub(super) const BITS_PER_SECOND: u64 = 10_000_000;
/// The time after which a run is stopped; no correct run takes as long.
const LATE: Duration = Duration::from_secs(1_000_000);

/// The parameters of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The number of the client's writes; at least one.
    pub writes: u32,
    /// The octets of each write; at least 1.
    pub write: u64,
    /// The time from the first write to the last.
    pub generating: Duration,
    /// `tcp_naglim_def`, in octets; 1 is TCP_NODELAY.
    pub naglim: u32,
    /// The server's delayed-ACK clock.
    pub ack_clock: AckClock,
}

/// The clock that determines when the server sends delayed ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckClock {
    /// A clock that runs freely; delayed ACKs leave at each tick. Trace 1 needs it: its waits are
    /// 54 ms once and 200 ms thereafter.
    Cyclic {
        /// The time from tick to tick; greater than zero.
        period: Duration,
        /// The time from the client's first write to the next tick; at most `period`.
        phase: Duration,
    },
    /// A timer that starts with the first unacknowledged packet.
    PerConnection(Duration),
}

/// The packets of a trace.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The time at which each data packet was sent, counted from the first write, and its octets of
    /// data.
    pub data: Vec<(Instant, u32)>,
    /// The time at which each ACK was sent.
    pub acks: Vec<Instant>,
    /// Every packet, by side.
    pub sent: Vec<(Side, MediumFrame)>,
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

    /// The same, but written "as fast as it can, taking about 9 ms".
    pub const FAST: Self = Self {
        generating: Duration::from_millis(9),
        ..Self::SLOW
    };

    /// Returns the parameters with this `tcp_naglim_def`, in octets.
    #[must_use]
    pub const fn with_naglim(self, naglim: u32) -> Self {
        Self { naglim, ..self }
    }

    /// Returns the parameters with the server's tick this many ms after the first write.
    #[must_use]
    pub const fn with_phase_ms(self, phase: u64) -> Self {
        self.with_phase(Duration::from_millis(phase))
    }

    /// Returns the parameters with the server's tick this long after the first write; a timer has
    /// no phase.
    #[must_use]
    pub const fn with_phase(self, phase: Duration) -> Self {
        let AckClock::Cyclic { period, .. } = self.ack_clock else {
            return self;
        };
        let ack_clock = AckClock::Cyclic { period, phase };
        Self { ack_clock, ..self }
    }

    /// Returns the parameters with this many ms between the server's ticks; the phase stays.
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

    /// Runs the trace.
    #[must_use]
    pub fn run(&self) -> Measured {
        Measured::new(self.watched(SentFrames::default()).sent, *self)
    }

    /// Runs the trace with an observer, which it returns.
    #[must_use]
    pub fn watched<O: Observer>(&self, observer: O) -> O {
        let writer = Writer {
            socket: 0,
            len: self.write,
            left: self.writes,
            period: self.between_writes(),
            due: Instant::ZERO,
        };
        let client = vec![Periodic::Writer(writer)];
        let server = vec![Periodic::Reader { socket: 0 }];
        let mut world = World::watched(wiring(), [client, server], observer);
        world.connect(Opening::Established, self.ends());
        let ended = world.run(Instant::ZERO + LATE);
        assert_eq!(ended, Ended::Quiet, "everything is sent and acknowledged");
        world.into_observer()
    }

    fn between_writes(&self) -> Duration {
        let gaps = u64::from(self.writes.max(2) - 1);
        Duration::from_nanos(self.generating.as_nanos().div_ceil(gaps))
    }

    /// Returns the rules of client and server.
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

/// Returns an idle Ethernet with hosts whose own work takes almost no time.
fn wiring() -> WorldConfig {
    let wire = Wire::new(BITS_PER_SECOND, DATA_OVERHEAD, ACK_OVERHEAD, Duration::ZERO);
    WorldConfig::over(wire, [HostCosts::NONE; 2], 1)
}

impl Measured {
    fn new(sent: Vec<(Side, MediumFrame)>, parameters: Parameters) -> Self {
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

    /// Returns the number of packets in both directions.
    #[must_use]
    pub fn packets(&self) -> u64 {
        (self.data.len() + self.acks.len()) as u64
    }

    /// Returns the time from the first data packet to the last, in ms.
    #[must_use]
    pub fn sending_ms(&self) -> f64 {
        let ends = self.data.first().zip(self.data.last());
        ends.map_or(0.0, |(first, last)| last.0.since(first.0).as_millis_f64())
    }

    /// Returns the time from the application's first write to its last, in ms.
    #[must_use]
    pub fn generating_ms(&self) -> f64 {
        self.parameters.generating.as_millis_f64()
    }

    /// Returns how much longer sending took than generating, in percent: "A delay of (654 -
    /// 490)/490".
    #[must_use]
    pub fn delay_percent(&self) -> f64 {
        (self.sending_ms() / self.generating_ms() - 1.0) * 100.0
    }

    /// Returns the overhead of the data packets, in octets: "5 * 78".
    #[must_use]
    pub fn data_overhead(&self) -> u64 {
        flood::overhead_bytes(self.data.len() as u64, 0, 0)
    }

    /// Returns the overhead of all packets, in octets: "(5 * 78) + (5 * 84)".
    #[must_use]
    pub fn total_overhead(&self) -> u64 {
        flood::overhead_bytes(self.data.len() as u64, self.acks.len() as u64, 0)
    }

    /// Returns an overhead in percent of the data: "(5 * 78)/500".
    #[must_use]
    pub fn percent_of_data(&self, overhead: u64) -> f64 {
        let data = u64::from(self.parameters.writes) * self.parameters.write;
        overhead as f64 / data as f64 * 100.0
    }
}
