//! From captured segments to named stalls.
//!
//! The road of a capture: a frame becomes a segment (`tinygram-wire`), which finds its
//! connection in a bounded table ([`Analyzer`]); the connection's half that sent it asks why it
//! left now and not before ([`hold`]); a segment that left right upon a late ACK is a hold, and
//! stays pending until the turn passes and shows whether anybody waited for it; then it is a
//! finding of one kind ([`findings`]) or one of the lookalikes ([`lookalikes`]).
//!
//! A false accusation costs more than a miss: whatever is not told apart is counted, not accused.

mod analyzer;
pub mod findings;
mod flow;
pub mod hold;
mod judge;
pub mod lookalikes;
mod odds;
mod parameters;
mod pool;
mod report;
mod sight;
mod story;
pub mod vocabulary;

pub use analyzer::Analyzer;
pub use findings::{Facts, Finding};
pub use flow::half::Mark;
pub use lookalikes::{Event, Lookalike};
pub use parameters::{Filter, Parameters};
pub use report::{CapturePoint, ConnectionReport, Direction, Report, Summary, Unseen};
pub use sight::{Dominant, Sight};
pub use vocabulary::{
    Advice, Case, Cost, Kind, Obstacle, Pieces, Protocol, Side, Tier, Verdict, recipes,
};
