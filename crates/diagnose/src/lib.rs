//! Finds stalls of small segments in captured TCP traffic and names them.
//!
//! A frame becomes a segment (`tinygram-wire`), and the segment finds its connection in a bounded
//! table: that of its share of the connections, so that several threads can work ([`Analyzer`]). Then it goes
//! through three rooms:
//!
//! 1. `flow` observes. The half of the connection that sent the segment asks why it left now and
//!    not earlier, and says what it saw: held, lost, answered, closed. It names no finding. A
//!    segment that left right after a late ACK is a [`Hold`].
//! 2. `verdict` decides. A hold stays pending until the turn passes, which shows whether anybody
//!    waited for it; then it is a stall of one kind or a [`Lookalike`].
//! 3. `findings` speak: what the sender does, why that is known, and what helps.
//!
//! A `conversation` joins the three for one connection. The law that they all ask (kinds, tiers,
//! advice, thresholds) is the crate `tinygram-stalls`.
//!
//! A false accusation costs more than a miss: what cannot be told apart from a lookalike is
//! counted, not accused.

mod about;
mod analyzer;
mod batch;
mod conversation;
mod cores;
mod elsewhere;
mod explain;
mod findings;
mod flow;
mod front;
mod gathered;
mod notes;
mod parameters;
mod pool;
mod report;
mod shard;
mod sight;
mod table;
mod verdict;

pub use analyzer::Analyzer;
pub use findings::finding::{Facts, Finding};
pub use flow::hold::Hold;
pub use flow::mark::Mark;
pub use parameters::{Filter, Parameters};
pub use report::{CapturePoint, ConnectionReport, Direction, Report, Summary, Unseen};
pub use sight::{Dominant, Sight, Stamps};
pub use tinygram_stalls::{
    Advice, Case, Cost, Kind, Obstacle, Obstacles, Pieces, Protocol, Side, Tier, Timeout, Verdict,
    recipes,
};
pub use verdict::check::{Asked, Check, Effect, Saw};
pub use verdict::checked::Checked;
pub use verdict::examine::checks;
pub use verdict::lookalikes::Lookalike;
pub use verdict::ruled_out::{Event, RuledOut, Tally};
