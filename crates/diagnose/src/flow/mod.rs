//! Connections and their two directions, kept as small as possible.

pub(crate) mod connection;
pub(crate) mod copies;
pub(crate) mod ends;
mod facts;
pub(crate) mod half;
mod numbers;
pub(crate) mod table;
