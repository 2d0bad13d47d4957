//! Simulated hosts under load.

use tinygram_engine::connection::Config;
use tinygram_engine::profile::Profile;
use tinygram_engine::{Duration, Instant};
use tinygram_sim::host::Socket;
use tinygram_sim::medium::{ImpairmentRules, Medium, PointToPoint, Side};
use tinygram_sim::program::Sockets;
use tinygram_sim::{Ended, Opening, World, WorldConfig};

use super::backend::LoadBackend;
use super::program::LoadThread;
use super::trial::{EndWork, Ends, LoadTaken, LoadTrial};
use crate::backend::{Backend, Conditions, Error};
use crate::hosts::{LinuxHosts, Over, told};
use crate::policy::{Policy, SocketPolicy};
use tinygram_engine::receiver::ack_policy::AckPolicy;

/// Two of Linux's simulated hosts: one has all clients, and the other one is the server. Each has one processor.
#[derive(Clone, Debug)]
pub struct LoadedHosts {
    /// The rules of both ends, and the line between them.
    pub hosts: LinuxHosts,
    /// The send buffers of both ends, in octets.
    pub send_buffer: u64,
}

impl LoadedHosts {
    /// The ways of using a socket that simulated programs under load know.
    pub const SOCKET_POLICIES: [SocketPolicy; 3] = [
        SocketPolicy::Default,
        SocketPolicy::NoDelay,
        SocketPolicy::QuickAck,
    ];

    /// Returns hosts with the costs and the line of such a device.
    #[must_use]
    pub fn new(over: Over) -> Self {
        Self {
            hosts: LinuxHosts::new(over),
            send_buffer: SEND_BUFFER,
        }
    }

    /// Returns whether simulated programs under load know this policy: each of the engine's, and of a socket's those of
    /// [`SOCKET_POLICIES`](Self::SOCKET_POLICIES).
    #[must_use]
    pub fn knows(policy: &Policy) -> bool {
        match policy {
            Policy::Socket(policy) => Self::SOCKET_POLICIES.contains(policy),
            Policy::Engine { .. } => true,
        }
    }

    /// Returns the rules of an end, which has the measured policy or not.
    fn end(&self, trial: &LoadTrial, profile: &Profile, is_measured: bool) -> Config {
        let mut config = self.hosts.config(profile, self.send_buffer);
        let policy = match is_measured {
            true => Some(&trial.policy),
            false => trial.other.as_ref(),
        };
        if let Some(policy) = policy {
            config.sender.policy = told(policy, &config.sender.policy);
            if let Policy::Socket(SocketPolicy::QuickAck) = policy {
                config.receiver.policy = AckPolicy::LinuxQuickack;
            }
        }
        if let Some(policy) = &trial.ack_policy {
            config.receiver.policy = policy.clone();
        }
        if let Some(timer) = trial.ack_timer {
            config.receiver.timer = timer;
        }
        config
    }

    fn world(&self, trial: &LoadTrial) -> World<LoadThread> {
        let config = WorldConfig {
            medium: Medium::PointToPoint(PointToPoint::new(self.hosts.wire())),
            impairment: ImpairmentRules::beyond(
                self.hosts.rtt,
                self.hosts.impairment,
                Duration::from_millis(1),
            ),
            costs: [self.hosts.over.costs(); 2],
            seed: trial.seed,
        };
        let programs = [
            vec![LoadThread::of_client(trial)],
            LoadThread::of_server(trial),
        ];
        let mut world = World::new(config, programs);
        let [client, server] = match trial.ends {
            Ends::Both => [true, true],
            Ends::Server => [false, true],
            Ends::Client => [true, false],
        };
        let ends = [
            self.end(trial, &Profile::LINUX_6, client),
            self.end(trial, self.hosts.profile, server),
        ];
        for _ in 0..trial.programs.connections {
            world.connect(Opening::Established, ends.clone());
        }
        world
    }
}

impl LoadBackend for LoadedHosts {
    fn conditions(&self) -> Conditions {
        Backend::conditions(&self.hosts)
    }

    fn serve(&self, trial: &LoadTrial) -> Result<LoadTaken, Error> {
        if trial.programs.connections > Sockets::MOST {
            let why = format!(
                "{} connections (accepted: 1 to {})",
                trial.programs.connections,
                Sockets::MOST
            );
            return Err(Error::failed("opening simulated connections", why));
        }
        let policies = [Some(&trial.policy), trial.other.as_ref()];
        if let Some(unknown) = policies.into_iter().flatten().find(|it| !Self::knows(it)) {
            return Err(Error::policy("sim under load", unknown));
        }
        let mut world = self.world(trial);
        let begins = Instant::ZERO + trial.warmup;
        let ends = begins + trial.window;
        let mut ended = world.run(begins);
        let before = Side::BOTH.map(|side| work(&world, side));
        // The client stops when all is answered, which may be before the measured time.
        if ended == Ended::TimeUp {
            ended = world.run(ends);
        }
        let after = Side::BOTH.map(|side| work(&world, side));
        if ended == Ended::TimeUp {
            ended = world.run(ends + trial.patience);
        }
        debug_assert_ne!(ended, Ended::Quiet, "the client waits for something");
        let client = world.host(Side::Client).programs().next();
        let client = client.expect("the client's host has the client's thread");
        Ok(LoadTaken {
            answers: client.answers().to_vec(),
            unanswered: client.unanswered(world.now()),
            work: [0, 1].map(|end| after[end].since(before[end])),
        })
    }

    fn is_virtual(&self) -> bool {
        true
    }
}

/// Returns what an end has done since the run began.
fn work(world: &World<LoadThread>, side: Side) -> EndWork {
    let host = world.host(side);
    let counters = host.sockets().iter().map(Socket::counters);
    counters.fold(
        EndWork {
            worked: host.worked(),
            ..EndWork::default()
        },
        |work, counters| EndWork {
            data_segments: work.data_segments + counters.data_segments,
            empty_segments: work.empty_segments + counters.empty_segments,
            ..work
        },
    )
}

/// `tcp_wmem`'s largest value is 4 MiB; a client and a server that do not wait for space come near this one.
const SEND_BUFFER: u64 = 256 * 1024;
