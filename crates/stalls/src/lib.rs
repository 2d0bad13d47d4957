//! The law of stalls of small segments, wherever they were seen.
//!
//! A capture, a live host and a test suite find the same things: a [`Kind`] of stall by one
//! [`Side`] of a connection, with a [`Cost`] and a [`Tier`] that says how sure it is; together they
//! make a [`Verdict`], and there is `Advice` for both ends. The [`thresholds`] are all numbers on
//! which a verdict depends, and [`flood`] measures floods. Nothing here depends on where a finding
//! came from.
//!
//! What judges allocates nothing and needs no standard library. The words (`habit`, `Advice`, `recipes`)
//! need an allocator and are behind the feature `texts`.

#![no_std]

#[cfg(feature = "texts")]
extern crate alloc;

#[cfg(feature = "texts")]
mod advice;
pub mod buffer;
mod case;
mod cost;
pub mod cure;
pub mod flood;
mod kind;
mod pieces;
#[cfg(feature = "texts")]
mod programs;
mod protocol;
#[cfg(feature = "texts")]
pub mod recipes;
#[cfg(feature = "texts")]
mod remedies;
#[cfg(feature = "texts")]
mod remedy_table;
mod roles;
mod side;
pub mod thresholds;
mod tier;
mod timeout;
mod verdict;
#[cfg(feature = "texts")]
mod words;

#[cfg(feature = "texts")]
pub use advice::{Advice, Effort, Step, headline};
pub use case::Case;
#[cfg(feature = "texts")]
pub use cost::ms;
pub use cost::{Cost, Ms};
pub use cure::Cure;
pub use kind::Kind;
pub use pieces::Pieces;
#[cfg(feature = "texts")]
pub use programs::{Page, Program, is_said};
pub use protocol::Protocol;
pub use roles::Roles;
pub use side::Side;
pub use tier::Tier;
pub use timeout::Timeout;
pub use verdict::{Obstacle, Obstacles, Verdict};
#[cfg(feature = "texts")]
pub use words::habit;
