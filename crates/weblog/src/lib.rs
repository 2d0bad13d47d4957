//! Web server logs in, the sizes of the responses out.
//!
//! [`line`] reads one line of the Common or Combined Log Format; [`Survey`] reads whole logs, plain
//! or in gzip, and counts how often each size was sent. What a size means for TCP is not known here.

pub mod line;
mod lines;
mod survey;

pub use survey::{FirstUnreadable, Survey, utc};
