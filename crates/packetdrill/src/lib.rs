//! The byte stack for packetdrill: a shared object with the table of functions that `--so_filename`
//! requires, and time that passes only while the script waits.
//!
//! [`interface`] has the C functions, `world` the stack with its virtual clock and its
//! descriptors. [`conformance`] runs whole suites and compares the outcomes with the expected ones.

mod call;
pub mod commands;
mod conditions;
pub mod conformance;
mod descriptor;
mod descriptors;
mod dialect;
mod info;
pub mod interface;
mod options;
mod settings;
mod world;
