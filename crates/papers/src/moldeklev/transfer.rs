//! A transfer: its parameters, and its results.

use tinygram_engine::connection::Config;
use tinygram_engine::profile::Sizes;
use tinygram_engine::receiver::ack_policy::AckTimer;
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_engine::{Duration, Instant, Offset};
use tinygram_sim::captured::{opened, opening};
use tinygram_sim::costs::HostCosts;
use tinygram_sim::dice::{Dice, Purpose};
use tinygram_sim::medium::{MediumFrame, Side, Wire};
use tinygram_sim::observer::{Nobody, Observer, Tap};
use tinygram_sim::workload::bulk::Bulk;
use tinygram_sim::{Ended, Opening, World, WorldConfig};

use super::hosts::{ATM_MSS, CALL, COSTS, TRANSFER, sun_os, wire};
use super::predict::timer_period;

/// A bulk transfer between two hosts of one kind.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The rules of both ends, with their buffers and MSS.
    pub rules: Config,
    /// The octets of each write, and the most that a read takes.
    pub call: u64,
    /// The number of octets to transfer.
    pub octets: u64,
    /// The costs of the hosts' work.
    pub costs: HostCosts,
    /// The wire between the hosts.
    pub wire: Wire,
    /// The seed of the hosts' random numbers, if their costs use any.
    pub seed: u64,
}

/// A deadlocked transfer: from some time on, only the timer sent ACKs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deadlock {
    /// When it was detected, from the beginning of the transfer.
    pub by: Duration,
    /// The remaining throughput, in Mbit/s.
    pub mbit_per_s: f64,
}

/// The time after which a transfer is considered endless.
const LONGEST: Duration = Duration::from_secs(100_000);
/// How often it is checked whether the capture is long enough.
const LOOKED_AT: Duration = Duration::from_millis(100);
/// The time over which a transfer is checked for a deadlock; ten of the paper's ticks.
const WATCHED: Duration = Duration::from_secs(2);

impl Transfer {
    /// Returns the paper's transfer with these send and receive buffers, in octets.
    #[must_use]
    pub fn paper(send_buffer: u64, receive_buffer: u64, mss: u16) -> Self {
        Self {
            rules: sun_os(&Sizes {
                mss,
                send_buffer,
                receive_buffer,
            }),
            call: CALL,
            octets: TRANSFER,
            costs: COSTS,
            wire: wire(),
            seed: 0,
        }
    }

    /// Returns the same under another send policy.
    #[must_use]
    pub fn with_policy(mut self, policy: SendPolicy) -> Self {
        self.rules.sender.policy = policy;
        self
    }

    /// Returns the same with the receiver's tick at this phase.
    #[must_use]
    pub fn at_phase(mut self, at: Duration) -> Self {
        if let AckTimer::Cyclic { phase, .. } = &mut self.rules.receiver.timer {
            *phase = at;
        }
        self
    }

    /// Returns the same transfer `runs` times, at phases drawn from `seed`.
    pub fn at_random_phases(&self, runs: u32, seed: u64) -> impl Iterator<Item = Self> + use<> {
        let mut dice = Dice::new(seed, Purpose::Phase);
        let transfer = self.clone();
        (0..runs).map(move |run| {
            let phase = match transfer.rules.receiver.timer {
                AckTimer::Cyclic { period, .. } => dice.below(period.as_nanos().clamp(1, 1 << 32)),
                AckTimer::PerConnection(_) => 0,
            };
            Self {
                seed: seed.wrapping_add(u64::from(run)),
                ..transfer.clone().at_phase(Duration::from_nanos(phase))
            }
        })
    }

    /// Returns its world, ready to run.
    #[must_use]
    pub fn world<O: Observer>(&self, observer: O) -> World<Bulk, O> {
        self.between(Bulk::ends(self.octets, self.call), observer)
    }

    /// Returns a world like its own, with these programs at its ends, the writer's first.
    pub(super) fn between<O: Observer>(&self, ends: [Bulk; 2], observer: O) -> World<Bulk, O> {
        let programs = ends.map(|program| vec![program]);
        let mut world = World::watched(self.world_config(), programs, observer);
        world.connect(Opening::Established, self.ends());
        world
    }

    fn world_config(&self) -> WorldConfig {
        WorldConfig::over(self.wire, [self.costs; 2], self.seed)
    }

    fn ends(&self) -> [Config; 2] {
        [self.rules.clone(), self.rules.clone()]
    }

    /// Runs it and returns what a tap at this host saw: the frames with their senders, in the order
    /// of time, up to `most` segments. The run begins when the connection is open. If the transfer
    /// is going to deadlock, the capture is long enough to show it.
    #[must_use]
    pub fn captured(
        &self,
        deadlock: Option<Deadlock>,
        at: Side,
        most: usize,
    ) -> Vec<(Side, MediumFrame)> {
        let (of, end) = match deadlock {
            Some(deadlock) => (self.without_end(), deadlock.by + WATCHED),
            None => (self.clone(), LONGEST),
        };
        let mut world = of.world(Tap::at(at));
        let mut until = Instant::ZERO;
        while world.observer().len() < most && until < Instant::ZERO + end {
            until += LOOKED_AT;
            if world.run(until) != Ended::TimeUp {
                break;
            }
        }
        let opening = opening(self.world_config(), self.ends(), at);
        let mut seen = opened(&opening, world.observer().passed(), Duration::ZERO);
        seen.truncate(most);
        seen
    }

    /// Runs it; returns its throughput in Mbit/s (10^6) and the share of its time, from 0 to 1, in
    /// which nothing moved until a timer fired: 0 and 1 if it never ends.
    #[must_use]
    pub fn paced(&self) -> (f64, f64) {
        let mut world = self.world(Pauses::default());
        if world.run(Instant::ZERO + LONGEST) != Ended::Stopped {
            return (0.0, 1.0);
        }
        let elapsed = world.now().since(Instant::ZERO);
        let waited = world.observer().waited.as_nanos() as f64;
        let share = waited / elapsed.as_nanos().max(1) as f64;
        (mbit_per_s(self.octets, elapsed), share)
    }

    /// Returns the mean of `runs` runs at phases drawn from `seed`, in Mbit/s.
    #[must_use]
    pub fn mean_mbit_per_s(&self, runs: u32, seed: u64) -> f64 {
        let sum: f64 = self
            .at_random_phases(runs, seed)
            .map(|run| run.paced().0)
            .sum();
        sum / f64::from(runs.max(1))
    }

    /// Runs an endless transfer; returns the throughput in Mbit/s between two instants.
    #[must_use]
    pub fn settled_mbit_per_s(&self, after: Duration, over: Duration) -> f64 {
        let mut world = self.endless();
        world.run(Instant::ZERO + after);
        let before = octets_read(&world);
        world.run(Instant::ZERO + after + over);
        mbit_per_s(octets_read(&world) - before, over)
    }

    fn endless(&self) -> World<Bulk> {
        self.without_end().world(Nobody)
    }

    fn without_end(&self) -> Self {
        Self {
            octets: u64::MAX,
            ..self.clone()
        }
    }

    /// Runs an endless transfer until it has deadlocked: until at most `most` octets get through
    /// for each ACK that the timer can send. Returns `None` if it has not deadlocked after
    /// `within`.
    #[must_use]
    pub fn deadlock(&self, most: u64, within: Duration) -> Option<Deadlock> {
        let mut world = self.endless();
        let period = timer_period(&self.rules.receiver);
        let timer_acks = WATCHED.as_nanos() / period.as_nanos().max(1) + 1;
        let mut begin = Duration::ZERO;
        let mut before = 0;
        while begin < within {
            let end = begin + WATCHED;
            world.run(Instant::ZERO + end);
            let read = octets_read(&world);
            if read - before <= most * timer_acks {
                // The first period may still contain a part of the transfer before the deadlock, so
                // it is left out.
                world.run(Instant::ZERO + end + WATCHED);
                let through = octets_read(&world) - read;
                return Some(Deadlock {
                    by: end,
                    mbit_per_s: mbit_per_s(through, WATCHED),
                });
            }
            begin = end;
            before = read;
        }
        None
    }
}

/// Adds up the times in which nobody sent anything.
#[derive(Clone, Copy, Debug, Default)]
struct Pauses {
    last: Instant,
    waited: Duration,
}

impl Observer for Pauses {
    fn sent(&mut self, _: Side, frame: &MediumFrame) {
        let pause = frame.at.since(self.last);
        if pause >= PAUSE {
            self.waited += pause;
        }
        self.last = self.last.max(frame.at);
    }
}

/// Longer than any host's work or wire takes, and shorter than every delayed-ACK timer.
const PAUSE: Duration = Duration::from_millis(20);

fn octets_read(world: &World<Bulk>) -> u64 {
    let reader = world.host(Side::Server).sockets()[0].connection();
    reader.receiver().read_up_to().since(Offset::FIRST)
}

/// Returns the throughput in Mbit/s (10^6), as the paper counts.
fn mbit_per_s(octets: u64, elapsed: Duration) -> f64 {
    octets as f64 * 8e3 / elapsed.as_nanos().max(1) as f64
}

/// Returns the paper's transfer on its own network.
#[must_use]
pub fn on_atm(send_buffer: u64, receive_buffer: u64) -> Transfer {
    Transfer::paper(send_buffer, receive_buffer, ATM_MSS)
}
