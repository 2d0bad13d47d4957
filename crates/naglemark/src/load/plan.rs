//! What to measure under load: every policy with every ACK policy at every demand.

use std::sync::Arc;

use tinygram_engine::Duration;
use tinygram_engine::receiver::ack_policy::{AckPolicy, AckTimer};
use tinygram_sim::dice::{Dice, Purpose};

use super::demand::{Arrivals, Course};
use super::sizes::Sizes;
use super::trial::{Asked, Ends, LoadTrial, Message, Programs, Replies, Server};
use crate::plan::seed_of;
use crate::policy::{Policy, SocketPolicy};

/// How much is asked of the server.
#[derive(Clone, Debug, PartialEq)]
pub enum Demand {
    /// An open loop with so many requests a second; above 0.
    Open(f64),
    /// An open loop whose requests a second change, part by part.
    Course(Course),
    /// A closed loop: every connection has as many requests under way as its depth allows.
    Closed,
}

impl Demand {
    /// Returns how many parts it has whose numbers are shown apart: a course its own, and every other one.
    #[must_use]
    pub fn parts(&self) -> u32 {
        match self {
            Self::Course(course) => course.rates.len() as u32,
            Self::Open(_) | Self::Closed => 1,
        }
    }
}

/// What to measure. Replace the fields of [`LoadPlan::default`] that you want to change.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    /// The policies, in the order in which they are shown.
    pub policies: Vec<Policy>,
    /// Both ends' rules for acknowledging; an absent one is the stack's own.
    pub ack_policies: Vec<Option<AckPolicy>>,
    /// How long both ends may delay an acknowledgment; the stack's own if absent.
    pub ack_timer: Option<AckTimer>,
    /// Which ends have the policies.
    pub ends: Ends,
    /// The policy of the end that has none of them; as it comes if absent.
    pub other: Option<Policy>,
    /// What the programs do.
    pub programs: Programs,
    /// The lengths of requests.
    pub request: Sizes,
    /// The lengths of answers.
    pub answer: Sizes,
    /// How requests of an open loop come together.
    pub arrivals: Arrivals,
    /// The demands, in the order in which they are shown.
    pub demands: Vec<Demand>,
    /// The time at the beginning of each trial that is not measured.
    pub warmup: Duration,
    /// The time that is measured; of a course, how long each of its parts lasts.
    pub window: Duration,
    /// How long it is waited for answers after that. A request without an answer counts with the time until then.
    pub patience: Duration,
    /// How often each cell is measured, each time with a seed of its own.
    pub repetitions: u32,
    /// The seed of all random numbers.
    pub seed: u64,
}

/// A row of the results: a policy, an ACK policy and a demand.
#[derive(Clone, Debug)]
pub struct LoadCell {
    /// The policy.
    pub policy: Policy,
    /// The ACK policy; the stack's own if absent.
    pub ack_policy: Option<AckPolicy>,
    /// What is asked.
    pub demand: Demand,
}

impl Default for LoadPlan {
    fn default() -> Self {
        Self {
            policies: vec![SocketPolicy::Default.into(), SocketPolicy::NoDelay.into()],
            ack_policies: vec![None],
            ack_timer: None,
            ends: Ends::Both,
            other: None,
            programs: Programs {
                connections: 16,
                depth: 1,
                request_writes: 1,
                answer_writes: 1,
                server: Server::EventLoops(1),
                replies: Replies::Each,
                pause: Duration::ZERO,
                service: Duration::from_micros(2),
                digest: Duration::ZERO,
            },
            request: Sizes::Fixed(100),
            answer: Sizes::Fixed(400),
            arrivals: Arrivals::Poisson,
            demands: vec![Demand::Open(1000.0)],
            warmup: Duration::from_millis(200),
            window: Duration::from_secs(1),
            patience: Duration::from_millis(500),
            repetitions: 1,
            seed: 1,
        }
    }
}

impl LoadPlan {
    /// Returns the cells, in the order in which they are shown.
    #[must_use]
    pub fn cells(&self) -> Vec<LoadCell> {
        let mut cells = Vec::new();
        for ack_policy in &self.ack_policies {
            for policy in &self.policies {
                cells.extend(self.demands.iter().map(|demand| LoadCell {
                    policy: policy.clone(),
                    ack_policy: ack_policy.clone(),
                    demand: demand.clone(),
                }));
            }
        }
        cells
    }

    /// Returns a repetition of a cell's trial. A repetition's seed is the same for every cell, so that all policies
    /// meet the same arrivals and lengths, and demands differ in nothing but the time between arrivals.
    #[must_use]
    pub fn trial(&self, cell: &LoadCell, repetition: u32) -> LoadTrial {
        let seed = seed_of(self.seed, repetition);
        let connections = self.programs.connections;
        let until = self.warmup + self.window;
        LoadTrial {
            policy: cell.policy.clone(),
            ends: self.ends,
            other: self.other.clone(),
            ack_policy: cell.ack_policy.clone(),
            ack_timer: self.ack_timer,
            programs: self.programs,
            asked: match &cell.demand {
                Demand::Open(rate) => {
                    Asked::Open(self.arrivals.draw(*rate, until, connections, seed))
                }
                Demand::Course(course) => {
                    let times = [self.warmup, self.window];
                    Asked::Open(self.arrivals.draw_course(course, times, connections, seed))
                }
                Demand::Closed => Asked::Closed,
            },
            messages: self.messages(seed),
            warmup: self.warmup,
            window: self.window.times(cell.demand.parts().into()),
            parts: cell.demand.parts(),
            patience: self.patience,
            seed,
        }
    }

    /// Draws the lengths of every connection's messages.
    fn messages(&self, seed: u64) -> Arc<[Box<[Message]>]> {
        let mut requests = Dice::new(seed, Purpose::Requests);
        let mut answers = Dice::new(seed, Purpose::Lengths);
        let mut one = || Message {
            request: self.request.draw(&mut requests),
            answer: self.answer.draw(&mut answers),
        };
        let mut list = |_| (0..LISTED).map(|_| one()).collect();
        (0..self.programs.connections).map(&mut list).collect()
    }
}

/// How many messages of a connection are drawn before they begin again.
const LISTED: usize = 1024;
