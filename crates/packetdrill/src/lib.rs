//! The byte stack as packetdrill sees it: a shared object with the table of functions that its
//! `--so_filename` asks for, and time that passes only when the script waits.
//!
//! [`interface`] is C's side of it, [`world`] the stack with its virtual clock and its descriptors;
//! [`conformance`] runs whole suites and compares what came of them with what is expected.

mod call;
pub mod commands;
pub mod conformance;
mod descriptor;
mod descriptors;
mod dialect;
mod info;
pub mod interface;
mod options;
mod settings;
mod world;
