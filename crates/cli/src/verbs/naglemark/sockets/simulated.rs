//! The engine in the simulator: a server of any profile, told what a socket is told or a policy of
//! ours, and a client that is Linux.

use tinygram_engine::Duration;
use tinygram_engine::Instant;
use tinygram_engine::connection::Config;
use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::receiver::ack_policy::AckPolicy;
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_papers::mogul::naglemark::Sample;
use tinygram_sim::costs::{ComesIn, HostCosts, SegmentCost};
use tinygram_sim::medium::{ImpairmentRules, Medium, PointToPoint, Side, Wire};
use tinygram_sim::workload::naglemark::{Naglemark, Plan as Workload, Writes};
use tinygram_sim::{Ended, Opening, World, WorldConfig};

use super::super::args::BackendName;
use super::super::experiment;
use super::client::REQUEST;
use super::plan::{LINUX, Plan};
use super::policy::Policy;
use super::trial::{Backend, Conditions, Taken, Trial};
use crate::exit::Failure;

/// Two simulated hosts.
pub(super) struct Simulated {
    /// The server's.
    profile: &'static Profile,
    naglim: Option<u32>,
    /// As announced, which is more than a segment with timestamps carries.
    mss: u16,
    receive_buffer: u64,
    rate: Option<u64>,
    impairment: ImpairmentRules,
    costs: HostCosts,
    /// What they are those of, and the link is like.
    as_over: &'static str,
}

impl Simulated {
    pub(super) fn new(plan: &Plan) -> Self {
        let beside_the_stack_alone = plan.backends.contains(&BackendName::Stack)
            && !plan.backends.contains(&BackendName::Kernel);
        let (costs, as_over) = match beside_the_stack_alone {
            true => (TUN_COSTS, "as over tun"),
            false => (VETH_COSTS, "as over veth"),
        };
        Self {
            profile: Profile::named(plan.profile).expect("the plan names a registered one"),
            naglim: plan.naglim,
            mss: plan.mss.unwrap_or(ETHERNET_MSS),
            receive_buffer: plan.receive_buffer.unwrap_or(RECEIVE_BUFFER),
            rate: plan.typed_rate,
            impairment: ImpairmentRules {
                delay: Duration::from_nanos(plan.rtt.as_nanos() as u64 / 2),
                loss: plan.loss,
                reorder: plan.reorder,
                reorder_by: Duration::from_millis(1),
                duplicate: plan.duplicate,
            },
            costs,
            as_over,
        }
    }

    fn config(&self, profile: &Profile, send_buffer: u64) -> Config {
        (profile.config)(&Sizes {
            mss: self.mss,
            send_buffer,
            receive_buffer: self.receive_buffer,
        })
    }

    /// The ends of a connection, the client's first.
    fn ends(&self, trial: &Trial) -> [Config; 2] {
        let linux = Profile::named(LINUX).expect("registered");
        let mut client = self.config(linux, SEND_BUFFER);
        let mut server = self.config(self.profile, trial.socket_buffer);
        match trial.policy {
            Policy::Default | Policy::Cork | Policy::More | Policy::FlushByHand => {}
            Policy::NoDelay => server.sender.policy = SendPolicy::named("off").expect("registered"),
            Policy::QuickAck => {
                client.receiver.policy = AckPolicy::named("linux-quickack").expect("registered");
            }
            Policy::Ours(entry) => server.sender.policy = experiment::policy(entry, self.naglim),
        }
        [client, server]
    }
}

impl Backend for Simulated {
    fn conditions(&self) -> Conditions {
        let server = self.config(self.profile, SEND_BUFFER);
        Conditions {
            backend: "sim",
            link: self.as_over.into(),
            stack: self.profile.name.into(),
            mss: self.mss - options_of(&server),
            congestion: congestion(&server),
        }
    }

    fn run(&mut self, trial: &Trial, made: &mut dyn FnMut()) -> Result<Taken, Failure> {
        let wire = Wire::new(self.rate.unwrap_or(VETH_RATE), HEADERS, 0, VETH_PROPAGATION);
        let config = WorldConfig {
            medium: Medium::PointToPoint(PointToPoint::new(wire)),
            impairment: self.impairment,
            costs: [self.costs; 2],
            seed: trial.seed,
        };
        let workload = workload(trial);
        let programs = [
            vec![Naglemark::client(workload.clone())],
            vec![Naglemark::server(workload)],
        ];
        let mut world = World::new(config, programs);
        world.connect(Opening::Established, self.ends(trial));
        let ended = world.run(Instant::ZERO + LONGEST_TRIAL);
        debug_assert_eq!(ended, Ended::Stopped, "{trial:?}");
        let counters = world.host(Side::Server).sockets()[0].counters();
        let client = world.host(Side::Client).programs().next();
        let elapsed = client.map_or(&[][..], Naglemark::elapsed);
        let sample = |(&length, &elapsed)| {
            made();
            Sample { length, elapsed }
        };
        Ok(Taken {
            samples: trial.lengths.iter().zip(elapsed).map(sample).collect(),
            data_segments: counters.data_segments,
            short_segments: Some(counters.short_segments),
            retransmitted: counters.retransmitted_segments,
        })
    }
}

/// Octets that options take away from each segment, with a peer that has all of them.
fn options_of(config: &Config) -> u16 {
    match config.extensions.timestamps {
        true => TIMESTAMPS,
        false => 0,
    }
}

/// The name of a configuration's congestion control.
pub(super) fn congestion(config: &Config) -> String {
    let name = format!("{:?}", config.sender.congestion).to_lowercase();
    let end = name.find(['(', ' ', '{']).unwrap_or(name.len());
    name[..end].into()
}

fn workload(trial: &Trial) -> Workload {
    Workload {
        lengths: trial.lengths.clone(),
        request: REQUEST,
        app_buffer: trial.app_buffer,
        read_size: u64::MAX,
        requests_per_connection: trial.requests_per_connection,
        set_up: Duration::ZERO,
        service: Duration::ZERO,
        think: Duration::ZERO,
        writes: match trial.policy {
            Policy::Cork => Writes::Corked,
            Policy::More => Writes::More,
            Policy::FlushByHand => Writes::MoreThenFlush,
            _ => Writes::Plain,
        },
    }
}

/// What a host's calls cost over a veth pair: the medians of six runs of `cargo bench -p tinygram-link
/// --bench host_costs` on Linux 6.18 in a virtual machine, and about how far the middle 80 % of them lie
/// apart. There the sender's processor does all that happens when a packet arrives, so a segment
/// costs its sender both ends' work and its receiver nothing; copying is in it.
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
/// What they cost over a TUN device to our stack: orders of magnitude, not measured. The stack writes an
/// answer in one burst, which no cost makes the simulated host do.
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
/// Of an MTU of 1500, as the SYN announces it.
const ETHERNET_MSS: u16 = 1460;
/// What the option takes away from each segment.
const TIMESTAMPS: u16 = 12;
/// The window that `tcp_rmem`'s middle value begins with.
const RECEIVE_BUFFER: u64 = 65_535;
/// The client's requests fit any.
const SEND_BUFFER: u64 = 65_536;
/// A trial that has not ended by then never will.
const LONGEST_TRIAL: Duration = Duration::from_secs(100_000);
