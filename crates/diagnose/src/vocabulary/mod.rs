//! The terms for stalls of small segments, wherever they were seen.
//!
//! A capture, a live host and a test suite find the same things: a [`Kind`] of stall by one
//! [`Side`] of a connection, with a [`Cost`] and a [`Tier`] that says how sure it is; together they
//! make a [`Verdict`], and there is [`Advice`] for both ends. Nothing here depends on where a
//! finding came from.

pub(crate) mod advice;
mod case;
mod cost;
mod kind;
mod pieces;
mod protocol;
pub mod recipes;
mod remedies;
mod side;
mod tier;
mod timeout;
mod verdict;

pub use advice::{Advice, Effort, Step};
pub use case::Case;
pub use cost::{Cost, ms};
pub use kind::Kind;
pub use pieces::Pieces;
pub use protocol::Protocol;
pub use recipes::Cure;
pub use side::Side;
pub use tier::Tier;
pub use timeout::Timeout;
pub use verdict::{Obstacle, Verdict};
