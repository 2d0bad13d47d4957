//! The result as data, which `run` returns; read `summary`, then `connections`, `sight` and `explain`.
//!
//! `summary` has the whole and its totals, `connections` a row of each, made of a `conversation`. `sight` tells whether a
//! stall could have been seen at all: its `Sight` adds up conversations, its `Stamps` the times of frames. `explain` tells the
//! story of one frame that was asked about. It names `conversation` and the three rooms behind it; `across` and `run`
//! fill it.

pub(crate) mod connections;
pub(crate) mod explain;
pub(crate) mod sight;
pub(crate) mod summary;
