//! Finds stalls of small segments in captured TCP traffic and names them.
//!
//! A frame becomes a segment (`tinygram-wire`). The segment finds its connection in a bounded table
//! ([`Analyzer`]). The half of the connection that sent it then asks why the segment left now and
//! not earlier ([`hold`]). A segment that left right after a late ACK is a hold. A hold stays
//! pending until the turn passes, which shows whether anybody waited for it; then it becomes a
//! finding of one kind ([`findings`]) or one of the lookalikes ([`lookalikes`]).
//!
//! A false accusation costs more than a miss: what cannot be told apart from a lookalike is
//! counted, not accused.

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

pub use analyzer::Analyzer;
pub use findings::{Facts, Finding};
pub use flow::half::Mark;
pub use lookalikes::{Event, Lookalike};
pub use parameters::{Filter, Parameters};
pub use report::{CapturePoint, ConnectionReport, Direction, Report, Summary, Unseen};
pub use sight::{Dominant, Sight, Stamps};
pub use tinygram_stalls::{
    Advice, Case, Cost, Kind, Obstacle, Obstacles, Pieces, Protocol, Side, Tier, Timeout, Verdict,
    recipes,
};
