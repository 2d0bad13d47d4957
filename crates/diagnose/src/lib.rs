//! Finds stalls of small segments in captured TCP traffic and names them.
//!
//! The rooms, in the order in which a captured segment passes through them:
//!
//! | room | what is done there | names |
//! |---|---|---|
//! | `run` | the entry ([`Analyzer`]) counts and filters each frame and finds its connection, in a bounded table; the table is in shares, so that several threads can work | `conversation`, `flow`, `findings`, `across`, `report`, `parameters` |
//! | `conversation` | joins the next three for one connection: what is seen of it, and what is concluded from that | `flow`, `verdict`, `findings` |
//! | `flow` | observes. The half of the connection that sent the segment asks why it left now and not earlier, and says what it saw: held, lost, answered, closed. It names no finding. A segment that left right after a late ACK is a [`Hold`] | |
//! | `verdict` | decides. A hold stays pending until the turn passes, which shows whether anybody waited for it; then it is a stall of one kind or a [`Lookalike`] | `flow` |
//! | `findings` | speak: what the sender does, why that is known, and what helps | `flow`, `verdict` |
//! | `across` | gathers what all connections say, and judges what they show only together | `conversation`, `flow`, `verdict`, `findings`, `report`, `parameters` |
//! | `report` | the result as data: each connection, the totals, and the story of a frame that somebody asks about | `conversation`, `flow`, `verdict`, `findings` |
//! | `parameters` | what a user may choose | |
//!
//! Frames become segments in the crate `tinygram-wire`; the law that all ask (kinds, tiers, advice, thresholds) is the
//! crate `tinygram-stalls`.
//!
//! A false accusation costs more than a miss: what cannot be told apart from a lookalike is
//! counted, not accused.

mod across;
mod conversation;
mod findings;
mod flow;
mod parameters;
mod report;
mod run;
mod verdict;

pub use findings::finding::{Facts, Finding};
pub use flow::hold::Hold;
pub use flow::mark::Mark;
pub use parameters::{Filter, Parameters};
pub use report::connections::{CapturePoint, ConnectionReport, Direction};
pub use report::sight::{Dominant, Sight, Stamps};
pub use report::summary::{Report, Summary, Unseen};
pub use run::analyzer::Analyzer;
pub use tinygram_stalls::{
    Advice, Case, Cost, Kind, Obstacle, Obstacles, Pieces, Protocol, Side, Tier, Timeout, Verdict,
    recipes,
};
pub use verdict::check::{Asked, Check, Effect, Saw};
pub use verdict::checked::Checked;
pub use verdict::examine::checks;
pub use verdict::lookalikes::Lookalike;
pub use verdict::ruled_out::{Event, RuledOut, Tally};
