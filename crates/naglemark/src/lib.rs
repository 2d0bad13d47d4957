//! Naglemark, the benchmark of send policies (Mogul & Minshall, sections 6 and 7): a client asks, a
//! server answers with so many octets, and the client takes the time.

mod backend;
mod compare;
pub mod hosts;
mod lengths;
mod measure;
mod outcome;
mod outliers;
mod plan;
mod policy;
mod score;
mod trial;
pub mod workload;

pub use backend::{Backend, Conditions, Error, NOMINAL_RATE, VirtualTime};
pub use compare::{Agreement, compare};
pub use lengths::{Lengths, Random, Series};
pub use measure::{Progress, measure};
pub use outcome::{Keep, Measured, Outcome};
pub use outliers::Outliers;
pub use plan::{Cell, Plan};
pub use policy::{Policy, SocketPolicy};
pub use score::{Score, Work, Yardstick, regression};
pub use tinygram_engine::Duration;
pub use tinygram_sim::medium::MediumKind;
pub use trial::{REQUEST, Sample, Taken, Trial, TrialType};
