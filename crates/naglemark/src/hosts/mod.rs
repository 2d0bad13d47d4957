//! Simulated hosts, by name: the paper's, and Linux's over two kinds of device.
//!
//! | hosts | the server | the client | what joins them |
//! |---|---|---|---|
//! | [`PaperHosts`] | Tru64 UNIX 4 as the paper's text describes it, or as its results require ([`Model`]) | the same | the paper's media, or a line of any rate |
//! | [`LinuxHosts`] | any profile of the engine's | Linux | a line like veth or like a TUN device |

mod companions;
mod linux;
mod model;
mod paper;

use tinygram_engine::connection::Config;
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_engine::{Duration, Instant};
use tinygram_sim::captured::{opened, opening};
pub use tinygram_sim::medium::Impairment;
use tinygram_sim::medium::{MediumFrame, Side};
use tinygram_sim::observer::{Observer, Tap};
use tinygram_sim::{Ended, Opening, World, WorldConfig};

pub use linux::{LinuxHosts, MeasuredCosts, Over};
pub use model::{ACK_TICK, Costs, INFERENCE, Model, PARAMETERS, Parameter};
pub use paper::PaperHosts;

use crate::policy::{Policy, SocketPolicy};
use crate::trial::{Sample, Taken};
use crate::workload::{Naglemark, Script, Waits, Writes};

/// The name of a kind of simulated hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostsKind {
    /// [`PaperHosts`].
    Paper,
    /// [`LinuxHosts`] over a device of this kind.
    Linux(Over),
}

impl HostsKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Paper, Self::Linux(Over::Veth), Self::Linux(Over::Tun)];

    /// Returns the name as typed and shown.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Linux(Over::Veth) => "linux-veth",
            Self::Linux(Over::Tun) => "linux-tun",
            Self::Linux(Over::Measured(_)) => "linux-measured",
        }
    }

    /// Returns a description in one line.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Paper => "Mogul & Minshall's, whose results can be held against their tables",
            Self::Linux(Over::Veth) => {
                "Linux's in two namespaces, joined by a veth pair; the server has the rules of a profile"
            }
            Self::Linux(Over::Tun) => {
                "The same, joined by a TUN device, as the kernel and our stack are"
            }
            Self::Linux(Over::Measured(_)) => {
                "The same, joined by a veth pair, with costs that were measured"
            }
        }
    }
}

/// A trial on simulated hosts, before it runs.
struct Scene {
    world: WorldConfig,
    /// The rules of client and server.
    ends: [Config; 2],
    waits: Waits,
    script: Script,
}

impl Scene {
    /// Runs the trial with an observer; also returns the observer.
    fn play<O: Observer>(self, observer: O) -> (Taken, O) {
        let lengths = self.script.lengths.clone();
        let programs = [
            vec![Naglemark::client(self.script.clone())],
            vec![Naglemark::server_that(self.waits, self.script)],
        ];
        let mut world = World::watched(self.world, programs, observer);
        world.connect(Opening::Established, self.ends);
        let ended = world.run(Instant::ZERO + LONGEST_TRIAL);
        debug_assert_eq!(ended, Ended::Stopped);
        let counters = world.host(Side::Server).sockets()[0].counters();
        let events = world.events();
        let client = world.host(Side::Client).programs().next();
        let elapsed = client.map_or(&[][..], Naglemark::elapsed);
        let sample = |(&length, &elapsed)| Sample { length, elapsed };
        let taken = Taken {
            samples: lengths.iter().zip(elapsed).map(sample).collect(),
            data_segments: Some(counters.data_segments),
            short_segments: Some(counters.short_segments),
            retransmitted_segments: Some(counters.retransmitted_segments),
            events,
        };
        (taken, world.into_observer())
    }

    /// Runs the trial and returns what a tap at this host saw: who sent which frame, in the order
    /// of time. The trial begins when the first connection is open.
    fn captured(self, at: Side) -> Vec<(Side, MediumFrame)> {
        let opening = opening(self.world.clone(), self.ends.clone(), at);
        let pause = self.script.think;
        let (_, tap) = self.play(Tap::at(at));
        // The first request follows the opening as any request follows an answer.
        opened(&opening, tap.passed(), pause)
    }
}

/// Returns the send policy that results from `policy` on a host whose default is `own`.
pub(crate) fn told(policy: &Policy, own: &SendPolicy) -> SendPolicy {
    match policy {
        Policy::Engine { policy, .. } => policy.clone().on_another_host(),
        Policy::Socket(SocketPolicy::NoDelay) => SendPolicy::Off,
        Policy::Socket(_) => own.clone(),
    }
}

/// Returns how a program marks the pieces of an answer under this policy.
fn writes(policy: &Policy) -> Writes {
    match policy {
        Policy::Socket(SocketPolicy::Cork) => Writes::Corked,
        Policy::Socket(SocketPolicy::More) => Writes::More,
        Policy::Socket(SocketPolicy::FlushByHand) => Writes::MoreThenFlush,
        _ => Writes::Plain,
    }
}

/// Returns the name of a configuration's congestion control.
#[must_use]
pub fn congestion(config: &Config) -> String {
    let name = format!("{:?}", config.sender.congestion).to_lowercase();
    let end = name.find(['(', ' ', '{']).unwrap_or(name.len());
    name[..end].into()
}

/// A trial that has not ended by this time will never end.
const LONGEST_TRIAL: Duration = Duration::from_secs(100_000);

#[cfg(test)]
mod tests;
