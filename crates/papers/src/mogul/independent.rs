//! Scores of an independent simulation of the same rules, beside this project's.
//!
//! Two simulations draw different random numbers, so single scores differ by their standard
//! deviations. And some cells depend on microseconds: whether the writer has copied its next piece
//! when the acknowledgment comes. Such a *race* can be detected: its score changes by more than
//! [`RACE`] if one cost of one host changes by 1 %.

use tinygram_engine::Duration;
use tinygram_naglemark::hosts::{Costs, PaperHosts};
use tinygram_naglemark::{Keep, Plan, Score, TrialType};
use tinygram_sim::costs::{HostCosts, SegmentCost};

use super::stalled::outcome;

/// A score that changes by more than this many percentage points depends on a race.
pub const RACE: f64 = 3.0;

/// Scores for one set of parameters.
#[derive(Clone, Debug)]
pub struct Set {
    /// Its name.
    pub name: String,
    /// The hosts.
    pub hosts: PaperHosts,
    /// What is asked of them: one pair of buffers, and the policies and trial types of all scores.
    pub plan: Plan,
    /// The independent simulation's scores.
    pub scores: Vec<IndependentScore>,
}

/// A score of the independent simulation.
#[derive(Clone, Debug)]
pub struct IndependentScore {
    /// The variant in the paper's spelling.
    pub variant: String,
    /// The trial type.
    pub trial_type: TrialType,
    /// The score, in percent.
    pub percent: f64,
    /// The standard deviation over repetitions.
    pub sd: f64,
    /// The segments below the MSS for each transfer, if the other simulation counts them.
    pub short_segments_per_transfer: Option<f64>,
}

/// A cost that was changed by 1 %, and the effect on a score.
#[derive(Clone, Debug)]
pub struct Move {
    /// The cost, and the direction of the change.
    pub cost: String,
    /// The change of the score, in percentage points.
    pub points: f64,
}

/// Returns the reason why a score cannot be compared with this project's, if there is one.
///
/// "Allows transmission without delay of two small packets in a row, if the first was caused by
/// tearing a buffer at a multiple of MCLBYTES" (section 5.2): with MCLBYTES of 1K, buffers of 4K and
/// 32K are torn at one every time, and MSMV hardly ever holds.
#[must_use]
pub fn not_comparable(set: &Set, score: &IndependentScore) -> Option<&'static str> {
    let msmv = ["MSMV", "E+M+M"].contains(&score.variant.as_str());
    (msmv && set.hosts.mclbytes <= 1024).then_some("MSMV's flag as in section 5.2")
}

impl Set {
    /// Returns this project's scores, in the order of the other simulation's.
    #[must_use]
    pub fn ours(&self) -> Vec<Score> {
        self.with(self.plan.repetitions, None)
    }

    /// Returns for each score the cost that changes it most if changed by 1 %. Runs `repetitions`
    /// with each of the costs changed either way, with the same random numbers as without.
    #[must_use]
    pub fn moves(&self, repetitions: u32) -> Vec<Move> {
        let usual = self.with(repetitions, None);
        let none = Move {
            cost: String::new(),
            points: 0.0,
        };
        let mut furthest = vec![none; usual.len()];
        if self.scores.is_empty() {
            return furthest;
        }
        for (cost, costs) in moved_by_a_percent(self.hosts.costs()) {
            let moved = self.with(repetitions, Some(costs));
            for (furthest, (usual, moved)) in furthest.iter_mut().zip(usual.iter().zip(&moved)) {
                let points = (moved.score_percent - usual.score_percent).abs();
                if points > furthest.points {
                    *furthest = Move {
                        cost: cost.clone(),
                        points,
                    };
                }
            }
        }
        furthest
    }

    fn with(&self, repetitions: u32, costs: Option<Costs>) -> Vec<Score> {
        let wanted = |label: &str| self.scores.iter().any(|score| score.variant == label);
        let mut plan = self.plan.clone().repetitions(repetitions);
        plan.policies.retain(|policy| wanted(policy.label()));
        let hosts = PaperHosts {
            costs: costs.or(self.hosts.costs),
            ..self.hosts.clone()
        };
        let measured = outcome(&plan, hosts, Keep::Scores).cells;
        let ours = |theirs: &IndependentScore| {
            let same = measured.iter().find(|it| {
                it.cell.policy.label() == theirs.variant && it.cell.trial_type == theirs.trial_type
            });
            same.expect("the plan includes all scores").score.clone()
        };
        self.scores.iter().map(ours).collect()
    }
}

/// Returns each cost that is not zero, 1 % higher and 1 % lower, with its name.
fn moved_by_a_percent(costs: Costs) -> Vec<(String, Costs)> {
    let mut all = Vec::new();
    for (sign, percent) in [("+1 %", 101), ("-1 %", 99)] {
        let mut add = |name: String, moved: Costs| {
            if moved != costs {
                all.push((format!("{name} {sign}"), moved));
            }
        };
        for (name, part) in PARTS {
            let (mut client, mut server) = (costs, costs);
            part(&mut client.client, percent);
            part(&mut server.server, percent);
            add(format!("client's {name}"), client);
            add(format!("server's {name}"), server);
        }
        let service = scaled(costs.service, percent);
        add("server's service".to_owned(), Costs { service, ..costs });
        let think = scaled(costs.think, percent);
        add("client's pause".to_owned(), Costs { think, ..costs });
    }
    all
}

/// A part of a host's costs, and how to scale it to a number of percent.
type Part = (&'static str, fn(&mut HostCosts, u64));

const PARTS: [Part; 7] = [
    ("input", |host, percent| {
        scale_segment(&mut host.input, percent);
    }),
    ("output", |host, percent| {
        scale_segment(&mut host.output, percent);
    }),
    ("wake-up", |host, percent| {
        host.wakeup = scaled(host.wakeup, percent);
    }),
    ("read", |host, percent| {
        host.read = scaled(host.read, percent);
    }),
    ("write", |host, percent| {
        host.write = scaled(host.write, percent);
    }),
    ("piece", |host, percent| {
        host.chunk = scaled(host.chunk, percent);
    }),
    ("copying", |host, percent| {
        host.copy_ps_per_octet = host.copy_ps_per_octet * percent / 100;
    }),
];

fn scale_segment(cost: &mut SegmentCost, percent: u64) {
    cost.data = scaled(cost.data, percent);
    cost.empty = scaled(cost.empty, percent);
}

fn scaled(cost: Duration, percent: u64) -> Duration {
    Duration::from_nanos(cost.as_nanos() * percent / 100)
}
