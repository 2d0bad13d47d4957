//! Linux's hosts: a server of any profile, with a socket option or one of the engine's send
//! policies, and a client with Linux's rules.

use tinygram_engine::Duration;
use tinygram_engine::connection::Config;
use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::receiver::ack_policy::AckPolicy;
use tinygram_sim::WorldConfig;
use tinygram_sim::costs::{ComesIn, HostCosts, SegmentCost};
use tinygram_sim::medium::{ImpairmentRules, Medium, MediumKind, PointToPoint, Wire};
use tinygram_sim::observer::{Nobody, Observer};

use super::{HostsKind, Impairment, Scene, congestion, told, writes};
use crate::backend::{Backend, Conditions, Error, NOMINAL_RATE, VirtualTime};
use crate::policy::{Policy, SocketPolicy};
use crate::trial::{REQUEST, Taken, Trial};
use crate::workload::{Script, Waits};

/// Two hosts of today and the line that joins them. Sizes are in octets.
#[derive(Clone, Debug)]
pub struct LinuxHosts {
    /// What the hosts' calls cost, and what the line is like.
    pub over: Over,
    /// The server's rules; the client's are `linux_6`.
    pub profile: &'static Profile,
    /// The MSS as announced, which is more than a segment with timestamps carries.
    pub mss: u16,
    /// The client's receive buffer.
    pub receive_buffer: u64,
    /// The line's rate in bits per second; if absent it is as fast as a machine's memory, and scores
    /// are based on [`NOMINAL_RATE`].
    pub bits_per_second: Option<u64>,
    /// The round-trip time beyond the line.
    pub rtt: Duration,
    /// What happens to segments on their way.
    pub impairment: Impairment,
}

/// The device whose costs and line the hosts have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Over {
    /// Two namespaces of one machine, joined by a veth pair.
    Veth,
    /// A kernel and a stack in user space, joined by a TUN device.
    Tun,
    /// A veth pair whose hosts' costs were measured elsewhere than [`Veth`](Self::Veth)'s.
    Measured(MeasuredCosts),
}

/// What a host's calls cost where they were measured. On veth the sender's processor does all work on an arriving packet, so a
/// segment has the work of both ends, and copying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredCosts {
    /// A write, besides its segments.
    pub write: Duration,
    /// A segment with data.
    pub segment: Duration,
    /// An acknowledgment.
    pub acknowledgment: Duration,
    /// A read.
    pub read: Duration,
    /// A wake-up.
    pub wakeup: Duration,
}

impl MeasuredCosts {
    /// Returns all costs of a host. How far each varies is as on [`Over::Veth`].
    const fn costs(self) -> HostCosts {
        HostCosts {
            output: SegmentCost {
                data: self.segment,
                data_ps_per_octet: 0,
                empty: self.acknowledgment,
            },
            wakeup: self.wakeup,
            read: self.read,
            write: self.write,
            ..VETH_COSTS
        }
    }
}

impl Over {
    /// Returns what a host's calls cost.
    pub(crate) const fn costs(self) -> HostCosts {
        match self {
            Self::Veth => VETH_COSTS,
            Self::Tun => TUN_COSTS,
            Self::Measured(costs) => costs.costs(),
        }
    }
}

impl LinuxHosts {
    /// Returns today's hosts at both ends of a line as fast as the machine.
    #[must_use]
    pub fn new(over: Over) -> Self {
        Self {
            over,
            profile: &Profile::LINUX_6,
            mss: ETHERNET_MSS,
            receive_buffer: RECEIVE_BUFFER,
            bits_per_second: None,
            rtt: Duration::ZERO,
            impairment: Impairment::NONE,
        }
    }

    /// Runs a trial with an observer; also returns the observer.
    #[must_use]
    pub fn watched<O: Observer>(&self, trial: &Trial, observer: O) -> (Taken, O) {
        self.scene(trial).play(observer)
    }

    pub(crate) fn config(&self, profile: &Profile, send_buffer: u64) -> Config {
        (profile.config)(&Sizes {
            mss: self.mss,
            send_buffer,
            receive_buffer: self.receive_buffer,
        })
    }

    /// Returns the configurations of the two ends of a connection, the client's first.
    fn ends(&self, trial: &Trial) -> [Config; 2] {
        let mut client = self.config(&Profile::LINUX_6, SEND_BUFFER);
        let mut server = self.config(self.profile, trial.socket_buffer);
        server.sender.policy = told(&trial.policy, &server.sender.policy);
        if let Policy::Socket(SocketPolicy::QuickAck) = trial.policy {
            client.receiver.policy = AckPolicy::LinuxQuickack;
        }
        [client, server]
    }

    /// Returns the wire that joins the hosts.
    pub(crate) fn wire(&self) -> Wire {
        let rate = self.bits_per_second.unwrap_or(VETH_RATE);
        Wire::new(rate, HEADERS, 0, VETH_PROPAGATION)
    }

    fn scene(&self, trial: &Trial) -> Scene {
        Scene {
            world: WorldConfig {
                medium: Medium::PointToPoint(PointToPoint::new(self.wire())),
                impairment: ImpairmentRules::beyond(
                    self.rtt,
                    self.impairment,
                    Duration::from_millis(1),
                ),
                costs: [self.over.costs(); 2],
                seed: trial.seed,
            },
            ends: self.ends(trial),
            waits: Waits::Reading,
            script: script(trial),
        }
    }
}

impl Backend for LinuxHosts {
    fn conditions(&self) -> Conditions {
        let server = self.config(self.profile, SEND_BUFFER);
        Conditions {
            backend: "sim".into(),
            link: HostsKind::Linux(self.over).name().into(),
            stack: self.profile.name.into(),
            mss: self.mss - options_of(&server),
            congestion: congestion(&server),
            medium: MediumKind::PointToPoint {
                bits_per_second: self.bits_per_second.unwrap_or(NOMINAL_RATE),
            },
            wire: Some(self.wire()),
            rtt: self.rtt,
        }
    }

    fn run(&mut self, trial: &Trial) -> Result<Taken, Error> {
        self.simulate(trial)
    }

    fn virtual_time(&self) -> Option<&dyn VirtualTime> {
        Some(self)
    }
}

impl VirtualTime for LinuxHosts {
    fn simulate(&self, trial: &Trial) -> Result<Taken, Error> {
        Ok(self.watched(trial, Nobody).0)
    }
}

/// Returns the octets that options take from each segment if the peer has all options.
fn options_of(config: &Config) -> u16 {
    match config.extensions.timestamps {
        true => TIMESTAMPS,
        false => 0,
    }
}

fn script(trial: &Trial) -> Script {
    Script {
        lengths: trial.lengths.clone(),
        request: REQUEST,
        app_buffer: trial.app_buffer,
        read_size: u64::MAX,
        requests_per_connection: trial.requests_per_connection,
        set_up: Duration::ZERO,
        service: Duration::ZERO,
        think: Duration::ZERO,
        writes: writes(&trial.policy),
    }
}

/// What a host's calls cost over a veth pair: the medians of six runs of `cargo bench -p tinygram-link
/// --bench host_costs` on Linux 6.18 in a virtual machine, and about the range of the middle 80 %.
/// On veth the sender's processor does all work on an arriving packet, so a segment costs its
/// sender the work of both ends and its receiver nothing. The costs include copying.
const VETH_COSTS: HostCosts = HostCosts {
    output: SegmentCost {
        data: Duration::from_nanos(1300),
        data_ps_per_octet: 0,
        empty: Duration::from_nanos(3600),
    },
    wakeup: Duration::from_micros(18),
    read: Duration::from_nanos(1100),
    write: Duration::from_nanos(3600),
    comes_in: ComesIn::Nothing,
    jitter_percent: 30,
    ..HostCosts::NONE
};
/// What calls cost over a TUN device to our stack. These are orders of magnitude and not measured.
/// The stack writes an answer in one burst; no cost makes the simulated host do the same.
const TUN_COSTS: HostCosts = HostCosts {
    input: SegmentCost::flat(Duration::from_nanos(500)),
    output: SegmentCost::flat(Duration::from_nanos(500)),
    wakeup: Duration::from_micros(20),
    read: Duration::from_micros(1),
    write: Duration::from_micros(3),
    copy_ps_per_octet: 100,
    comes_in: ComesIn::Nothing,
    jitter_percent: 30,
    ..HostCosts::NONE
};
const VETH_RATE: u64 = 100_000_000_000;
const VETH_PROPAGATION: Duration = Duration::from_nanos(100);
/// Ethernet, IP, and TCP with timestamps.
const HEADERS: u64 = 66;
/// The MSS for an MTU of 1500, as the SYN announces it.
const ETHERNET_MSS: u16 = 1460;
/// The octets that the timestamps option takes from each segment.
const TIMESTAMPS: u16 = 12;
/// The initial window that results from `tcp_rmem`'s middle value.
const RECEIVE_BUFFER: u64 = 65_535;
/// The client's send buffer, which any request fits.
const SEND_BUFFER: u64 = 65_536;
