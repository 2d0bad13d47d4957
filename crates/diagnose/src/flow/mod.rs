//! Observes connections, kept as small as possible; read `connection`, `half` (one direction), `hold`, `seen`.
//!
//! `connection` takes a segment and tells a witness what was `seen`; `facts`, `opening`, `held` and `ending` are parts of it.
//! `half` remembers what one host sent and how the other acknowledged it, with `odds`, `numbers` and the parts below `half/`.
//! `hold`, `timer` and `restart` say of two halves why a segment left now. This room names no other, and no finding.

pub(crate) mod connection;
pub(crate) mod copies;
mod ending;
pub(crate) mod ends;
mod facts;
pub(crate) mod half;
mod held;
pub(crate) mod hold;
pub(crate) mod mark;
mod numbers;
pub(crate) mod odds;
mod opening;
pub(crate) mod restart;
pub(crate) mod seen;
mod timer;
