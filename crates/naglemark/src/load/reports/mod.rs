//! Published reports of what TCP_NODELAY did to a service, and the same loads simulated.
//!
//! The reports contradict each other, and each is right about its own load. A [`Report`] has what was published; its
//! [`Scene`]s have the load with which we simulate it, each value with its [`Origin`]. Nothing is fitted: where a report
//! does not give a value, ours is assumed, and it says why this one.

mod list;
mod measured;

use tinygram_engine::Duration;
use tinygram_engine::sender::send_policy::SendPolicy;

pub use list::REPORTS;
pub use measured::{Compared, Reported, Verdict, reproduce};

use super::plan::{Demand, LoadPlan};
use super::sizes::Sizes;
use super::trial::{Ends, Programs, Replies, Server};
use crate::policy::{Policy, SocketPolicy};

/// What was published of a service with TCP_NODELAY and without.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// Its name as typed: `redis-rs`.
    pub name: &'static str,
    /// Where it is published.
    pub url: &'static str,
    /// When.
    pub year: u16,
    /// What was measured, in its own numbers.
    pub said: &'static str,
    /// The figure that is compared; `None` if it has none.
    pub figure: Option<Figure>,
    /// The loads that we simulate; none if it needs what the simulated hosts do not have.
    pub scenes: &'static [Scene],
    /// What else it would take to reproduce it.
    pub needs: &'static str,
}

/// A report's figure: how many times better it is with TCP_NODELAY.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// What became better or worse.
    pub measure: Measure,
    /// The lowest and the highest of what it reports.
    pub times: [f64; 2],
}

/// What a report compares. More than 1 times better is a higher throughput, or a lower latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Answers a second.
    Throughput,
    /// The mean latency.
    Mean,
    /// The highest load that is carried without a long queue ([`knees`](super::knees)).
    Knee,
}

impl Measure {
    /// Returns its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Mean => "mean latency",
            Self::Knee => "highest load",
        }
    }
}

/// A value of a scene, and where it is from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Given<T>(pub T, pub Origin);

/// Where a scene's value is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The report states it, or it follows from what it states; how.
    Report(&'static str),
    /// It is so in the program that was measured; how.
    Program(&'static str),
    /// It is neither; why it is what it is.
    Assumed(&'static str),
}

/// A load that stands for a report's: two hosts with one processor each.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    /// What it is, in a few words; empty if the report has no other.
    pub name: &'static str,
    /// Connections, and requests under way on each.
    pub asked: Given<&'static [UnderWay]>,
    /// Where it is from that a request follows as soon as one is answered: all loads are closed loops.
    pub again: Origin,
    /// Octets of a request, and the writes that it takes.
    pub request: Given<(u32, u32)>,
    /// Octets of an answer, and the writes that it takes; none if a read's answers are written together.
    pub answer: Given<(u32, Option<u32>)>,
    /// Whose policy is changed.
    pub ends: Given<Ends>,
    /// The other end's policy.
    pub other: Given<SocketPolicy>,
    /// The server's program.
    pub server: Given<Server>,
    /// How long the server waits for something else, for each request.
    pub pause: Given<Duration>,
    /// How long it computes.
    pub service: Given<Duration>,
    /// The line's rate in bits a second; as fast as memory if absent.
    pub rate: Given<Option<u64>>,
    /// The round trip beyond the line.
    pub rtt: Given<Duration>,
    /// How long is measured, and as long as a fifth of it before that.
    pub window: Duration,
}

/// How many requests are under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnderWay {
    /// Connections.
    pub connections: u32,
    /// Requests under way on each.
    pub depth: u32,
    /// Whether this is the report's own number. Others show how it depends on the load.
    pub is_reports: bool,
}

impl Scene {
    /// Returns the plan of one of its loads: TCP_NODELAY, then what it is compared with.
    #[must_use]
    pub fn plan(&self, asked: UnderWay) -> LoadPlan {
        let (request, request_writes) = self.request.0;
        let (answer, answer_writes) = self.answer.0;
        LoadPlan {
            policies: vec![
                SocketPolicy::NoDelay.into(),
                SocketPolicy::Default.into(),
                Policy::from(SendPolicy::Nagle),
            ],
            ends: self.ends.0,
            other: Some(self.other.0.into()),
            programs: Programs {
                connections: asked.connections,
                depth: asked.depth,
                request_writes,
                answer_writes: answer_writes.unwrap_or(1),
                server: self.server.0,
                replies: match answer_writes {
                    Some(_) => Replies::Each,
                    None => Replies::Gathered,
                },
                pause: self.pause.0,
                service: self.service.0,
                digest: Duration::ZERO,
            },
            request: Sizes::Fixed(request),
            answer: Sizes::Fixed(answer),
            demands: vec![Demand::Closed],
            warmup: Duration::from_nanos(self.window.as_nanos() / 5),
            window: self.window,
            patience: self.window,
            ..LoadPlan::default()
        }
    }

    /// Returns its conditions in words, each with its origin.
    #[must_use]
    pub fn conditions(&self) -> Vec<(String, Origin)> {
        let us = |time: Duration| format!("{} us", time.as_nanos() / 1000);
        let in_writes = |octets: u32, writes: u32| match writes {
            1 => format!("{octets} bytes in 1 write"),
            _ => format!("{octets} bytes in {writes} writes"),
        };
        let under_way = |it: &UnderWay| match it.depth {
            1 => it.connections.to_string(),
            depth => format!("{} x {depth}", it.connections),
        };
        let under_way: Vec<String> = self.asked.0.iter().map(under_way).collect();
        let (request, writes) = self.request.0;
        let request = format!("requests of {}", in_writes(request, writes));
        let answer = match self.answer.0 {
            (octets, Some(writes)) => format!("answers of {}", in_writes(octets, writes)),
            (octets, None) => format!("answers of {octets} bytes, those to one read in one write"),
        };
        let whose = match self.ends.0 {
            Ends::Both => "both ends' policy",
            Ends::Server => "the server's policy",
            Ends::Client => "the clients' policy",
        };
        let line = match self.rate.0 {
            Some(rate) => format!("{} Mbit/s", rate / 1_000_000),
            None => "a line as fast as memory".into(),
        };
        let mut all = vec![
            (
                format!("connections, requests under way: {}", under_way.join(", ")),
                self.asked.1,
            ),
            ("each asks again when it is answered".into(), self.again),
            (request, self.request.1),
            (answer, self.answer.1),
            (whose.into(), self.ends.1),
        ];
        if self.ends.0 != Ends::Both {
            all.push((
                format!("the other end's: {}", self.other.0.name()),
                self.other.1,
            ));
        }
        all.extend([
            (format!("the server: {}", self.server.0), self.server.1),
            (
                format!("which waits for {}", us(self.pause.0)),
                self.pause.1,
            ),
            (
                format!("and computes for {} a request", us(self.service.0)),
                self.service.1,
            ),
            (line, self.rate.1),
            (
                format!("a round trip of {} beyond it", us(self.rtt.0)),
                self.rtt.1,
            ),
        ]);
        all
    }
}
