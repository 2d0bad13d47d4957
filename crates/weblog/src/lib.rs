//! Reads web server logs and returns the sizes of the responses.
//!
//! [`mod@line`] reads one line of the Common or Combined Log Format; [`Survey`] reads whole logs, plain
//! or in gzip, and counts how often each size was sent. This crate does not know what a size means
//! for TCP.

pub mod line;
mod lines;
mod survey;

pub use survey::{FirstUnreadable, Survey, utc};
