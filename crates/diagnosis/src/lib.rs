//! The exporters of what `tinygram-diagnose` finds in captures: as a page, as JSON, as tables, as comments for Wireshark.
//!
//! A caller reads each capture into a [`Work`], adds the [`Capture`] that this becomes to a
//! [`Diagnosis`], and writes the diagnosis with one of the exporters: [`html`], [`json`], [`tables`],
//! [`annotate`]. Nothing here opens a file, asks a clock or starts a thread.

pub mod annotate;
pub mod audit;
mod capture;
mod group;
pub mod html;
pub mod json;
mod outcome;
mod perhaps;
mod results;
mod ring;
mod rows;
pub mod tables;
pub mod totals;
pub mod trace;

pub use capture::{Capture, Open, Source, Work};
pub use group::{Group, groups, rtt, seconds};
pub use json::Echo;
pub use outcome::{asides, outcome};
pub use perhaps::{Perhaps, perhaps};
pub use results::Diagnosis;
pub use ring::streams;
