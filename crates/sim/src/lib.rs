//! Virtual-time hosts, links and workloads for the tinygram engine.
//!
//! A [`World`] is two [hosts](host) joined by a [medium]. A host has one processor, whose work
//! [costs](costs::HostCosts) time. Its threads run [programs](program) of system calls over the
//! engine's connections. Everything random is drawn from seeded [dice], so a run is a function of
//! its parameters.
//!
//! The path of a write: a program's [`Call::Write`](program::Call) -> the host copies it piece by
//! piece -> the engine's outbox -> the device's queue -> the medium -> the peer's input -> its
//! engine -> the program that reads.

pub mod captured;
pub mod costs;
pub mod dice;
pub mod host;
pub mod medium;
pub mod observer;
pub mod program;
pub mod workload;
mod world;

pub use world::{Ended, Opening, World, WorldConfig};
