//! Connections and their two directions, kept as small as possible. They observe, and name no finding.

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
