//! The TCP sockets of a host: who has them, and what keeps a BPF program from them. Nothing here prints.

#![cfg(target_os = "linux")]

pub mod lacking;
pub mod process;
pub mod start;
