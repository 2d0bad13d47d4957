//! Policies under load: many connections, requests that come when they come, and a server that is busy.
//!
//! The rest of this crate measures one transfer at a time. Whether it is better to hold a small segment or to send it
//! depends on what else the processors have to do, so here the variable is the load.
//!
//! ```
//! use tinygram_naglemark::hosts::Over;
//! use tinygram_naglemark::load::{Demand, LoadPlan, LoadedHosts, measure_load};
//!
//! let plan = LoadPlan {
//!     demands: [1000.0, 10_000.0].map(Demand::Open).into(),
//!     ..LoadPlan::default()
//! };
//! let outcome = measure_load(&plan, &LoadedHosts::new(Over::Veth), &|_| ())?;
//! let row = &outcome.rows[0];
//! println!("{}: {:.3} ms", row.cell.policy.label(), row.score.p99_ms.expect("there were requests").value);
//! # Ok::<(), tinygram_naglemark::Error>(())
//! ```
//!
//! | word | what it is |
//! |---|---|
//! | [`LoadPlan`] | what to measure: policies, ACK policies, [programs](Programs), [lengths](Sizes), [demands](Demand) |
//! | [`Demand`] | an open loop with its requests a second, which a [course](Course) changes, or a closed loop |
//! | [`LoadTrial`] | the task of a [backend](LoadBackend): the requests, one by one, with the times when they are due |
//! | [`LoadTaken`] | its result: how long each answer took from the time when its request was due, and both ends' work |
//! | [`LoadScore`] | a row's numbers, with intervals |
//! | [`LoadThread`](program::LoadThread) | a program of either end, which simulated hosts and real ones run |
//!
//! A latency counts from the time when a request was due, whether or not it could be sent then. So a server that does
//! not keep up is charged with all waiting (there is no coordinated omission).

mod backend;
mod compare;
mod demand;
mod envelope;
mod hosts;
mod knee;
mod measure;
mod plan;
pub mod program;
pub mod reports;
mod score;
mod sizes;
mod trial;

pub use backend::LoadBackend;
pub use compare::{Ratio, ratio};
pub use demand::{Arrival, Arrivals, Change, Course};
pub use envelope::{Distance, Least, Metric, distance, envelope, is_simple};
pub use hosts::LoadedHosts;
pub use knee::{KneeRule, Knees, capacity, knees};
pub use measure::{LoadOutcome, LoadRow, measure_load};
pub use plan::{Demand, LoadCell, LoadPlan};
pub use score::{Estimate, LoadPart, LoadScore, Repetition, Times};
pub use sizes::Sizes;
pub use trial::{
    Answer, Asked, EndWork, Ends, LoadTaken, LoadTrial, Message, Programs, Replies, Server,
};
