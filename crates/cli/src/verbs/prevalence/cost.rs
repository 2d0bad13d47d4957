//! The cost of the responses: each size is simulated once for all responses of that size.

use super::found::Cost;
use rayon::prelude::*;
use tinygram_engine::Duration;
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_papers::mogul::response::Path;
use tinygram_report::units::grouped;

use super::plan::{CostPlan, Plan};
use crate::estimate::{self, Work};
use crate::outcome::Failure;
use crate::terminal::{self, Progress};

/// Returns one entry per MSS, copying unit and policy.
pub(super) fn costs(plan: &Plan, sizes: &[(u64, u64)], days: f64) -> Result<Vec<Cost>, Failure> {
    let Some(cost) = &plan.cost else {
        return Ok(Vec::new());
    };
    let pool = plan.processors.pool()?;
    let messages = messages(plan, sizes);
    let responses = sizes.iter().map(|(_, count)| count).sum();
    let kernels = plan.mss.iter().flat_map(|&mss| {
        let clusters = cost.clusters.iter();
        clusters.map(move |&mclbytes| (mss, mclbytes))
    });
    let benches: Vec<_> = kernels
        .map(|(mss, mclbytes)| Bench::of(cost, mss, mclbytes, &messages))
        .collect();
    let simulation = Simulation(benches);
    let effort = simulation.effort();
    estimate::tell("simulating", &simulation, 1, effort, |thin| {
        let silent = Progress::silent();
        for bench in &thin.0 {
            pool.install(|| bench.totals(&silent));
        }
        Ok(())
    })?;
    let progress = Progress::over(effort, "simulating segments:");
    let mut costs = Vec::new();
    for bench in &simulation.0 {
        let totals = pool.install(|| bench.totals(&progress));
        let per_day = |total: f64| (days > 0.0).then(|| total / days);
        costs.extend(cost.policies.iter().zip(totals).map(|(policy, total)| {
            let stall_s = total.stall_ns as f64 / 1e9;
            Cost {
                policy: policy.name.to_owned(),
                mss: bench.path.mss,
                mclbytes: bench.path.mclbytes,
                delayed: total.delayed,
                delayed_percent: percent(total.delayed, responses),
                stall_s,
                stall_s_per_day: per_day(stall_s),
                segments: total.segments,
                segments_per_day: per_day(total.segments as f64),
            }
        }));
    }
    Ok(costs)
}

/// Returns the conditions of the costs, as text.
pub(super) fn conditions(plan: &Plan) -> String {
    let Some(cost) = &plan.cost else {
        return String::new();
    };
    let CostPlan { profile, rtt, .. } = cost;
    format!(
        "Each size simulated as the second response of a persistent connection, written at once; \
         both ends {}; {} bit/s and {} ms of round-trip time. Stall: how much later than with \
         nothing held. Delayed: more than {} ms later.",
        profile.name,
        grouped(cost.rate_bits_per_second),
        rtt.as_secs_f64() * 1e3,
        NOTICED.as_nanos() / 1_000_000,
    )
}

/// Returns the lengths to simulate, each with its number of responses; prints which are left out.
fn messages(plan: &Plan, sizes: &[(u64, u64)]) -> Vec<(u32, u64)> {
    let mut longer = 0;
    let simulated = sizes.iter().filter_map(|&(size, count)| {
        let length = u32::try_from(plan.message(size)).ok();
        let length = length.filter(|length| *length <= LONGEST);
        if length.is_none() {
            longer += count;
        }
        Some((length?, count))
    });
    let simulated = simulated.collect();
    if longer > 0 {
        terminal::remark(&format!(
            "responses left out of the costs, being longer than {} MiB: {}",
            LONGEST >> 20,
            grouped(longer)
        ));
    }
    simulated
}

/// The simulator with one MSS.
#[derive(Clone, Debug)]
struct Bench {
    path: Path,
    policies: Vec<SendPolicy>,
    off: SendPolicy,
    trials: Vec<Trial>,
}

/// All that is simulated.
struct Simulation(Vec<Bench>);

impl Work for Simulation {
    fn effort(&self) -> u64 {
        let trials = |bench: &Bench| bench.trials.iter().map(|it| bench.effort(it)).sum::<u64>();
        self.0.iter().map(trials).sum()
    }

    fn thinned(&self, each: u32) -> Self {
        let thin = |bench: &Bench| {
            // Not the first: sizes grow, and the middle of a group is like the group.
            let trials = bench.trials.iter().skip(each as usize / 2);
            Bench {
                trials: trials.step_by(each as usize).copied().collect(),
                ..bench.clone()
            }
        };
        Self(self.0.iter().map(thin).collect())
    }
}

/// Responses that are equal for the simulator.
#[derive(Clone, Copy, Debug)]
struct Trial {
    length: u32,
    phase: Duration,
    count: u64,
}

/// What some responses took under one policy.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    delayed: u64,
    stall_ns: u128,
    segments: u64,
}

impl Bench {
    fn of(cost: &CostPlan, mss: u16, mclbytes: Option<u64>, messages: &[(u32, u64)]) -> Self {
        let rtt = u64::try_from(cost.rtt.as_nanos()).expect("durations end at 60 s");
        let path = Path {
            profile: cost.profile,
            mss,
            mclbytes,
            bits_per_second: cost.rate_bits_per_second,
            rtt: Duration::from_nanos(rtt),
        };
        let trials = messages.iter().flat_map(|&(length, count)| {
            let phases = path.phases(length, count, PHASES).into_iter();
            phases.map(move |(phase, count)| Trial {
                length,
                phase,
                count,
            })
        });
        Self {
            trials: trials.collect(),
            path,
            policies: cost.policies.iter().map(|policy| (policy.make)()).collect(),
            off: SendPolicy::Off,
        }
    }

    /// Returns about how many segments are sent for a trial: under each policy and with nothing
    /// held.
    fn effort(&self, trial: &Trial) -> u64 {
        let segments = u64::from(trial.length) / u64::from(self.path.mss) + CONNECTION;
        segments * (self.policies.len() as u64 + 1)
    }

    /// Returns the totals by policy. They are sums of whole numbers, so their order does not
    /// matter.
    fn totals(&self, progress: &Progress) -> Vec<Total> {
        let none = || vec![Total::default(); self.policies.len()];
        // One by one, because the longest take a million times as long as the shortest.
        let of_all = self.trials.par_iter().with_max_len(1).map(|trial| {
            let totals = self.totals_of(trial);
            progress.steps(self.effort(trial));
            totals
        });
        of_all.reduce(none, |ours, theirs| {
            let pairs = ours.into_iter().zip(theirs);
            pairs.map(|(one, other)| one.and(other)).collect()
        })
    }

    fn totals_of(&self, trial: &Trial) -> Vec<Total> {
        let respond = |policy| self.path.respond(policy, trial.length, trial.phase);
        let free = respond(&self.off);
        let total = |policy| {
            let taken = respond(policy);
            let stall = taken
                .elapsed
                .as_nanos()
                .saturating_sub(free.elapsed.as_nanos());
            Total {
                delayed: if stall > NOTICED.as_nanos() {
                    trial.count
                } else {
                    0
                },
                stall_ns: u128::from(stall) * u128::from(trial.count),
                segments: taken.segments * trial.count,
            }
        };
        self.policies.iter().map(total).collect()
    }
}

impl Total {
    fn and(self, other: Self) -> Self {
        Self {
            delayed: self.delayed + other.delayed,
            stall_ns: self.stall_ns + other.stall_ns,
            segments: self.segments + other.segments,
        }
    }
}

/// A response that is later by more than this is delayed. A full segment takes a tenth of it on a
/// LAN, and the shortest ACK timer is forty times as long.
const NOTICED: Duration = Duration::from_millis(1);
/// A connection costs as much by itself as this many segments: 8 us, and a segment 0.6 us (1,340
/// sizes below a segment, and 60 of 5 MB, simulated on one thread).
const CONNECTION: u64 = 13;
/// The most phases of a free-running clock at which responses of one size are tried: with it the
/// mean stall is exact to a tenth of half a period, and only popular sizes need it.
const PHASES: u64 = 10;
/// The longest response that the simulator carries in a moment. For longer ones a stall does not
/// matter beside their time.
const LONGEST: u32 = 128 << 20;

/// Returns the share in percent; `None` if `whole` is 0.
pub(super) fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}
