//! The TCP sockets of a host: who has them, and a hand that sets their options; and what every crate with BPF programs
//! shares, to load them, to read what they tell and to name what a host lacks for them. Nothing here prints.

#![cfg(target_os = "linux")]

pub mod calls;
pub mod clock;
pub mod container;
#[cfg(test)]
#[path = "../tests/contract/mod.rs"]
mod contract;
mod cookie;
pub mod follow;
mod groups;
pub mod hand;
pub mod knob;
pub mod lacking;
mod meaning;
pub mod meter;
pub mod names;
pub mod namespace;
pub mod pace;
pub mod place;
pub mod process;
mod programs;
pub mod ready;
pub mod record;
pub mod recorder;
mod release;
mod ring;
pub mod root;
pub mod route;
pub mod scope;
pub mod ssh;
pub mod start;
pub mod target;
pub mod text;
pub mod tunable;
