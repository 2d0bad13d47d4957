//! `tinygram watch` and `guard` on programs, and beside the other judges. One program, so that what waits waits beside the
//! others; what watches the whole host is apart (`watch_host.rs`).
#![cfg(target_os = "linux")]

mod bound;
#[path = "../hosting/mod.rs"]
mod hosting;
mod judges;
mod monitoring;
mod otlp;
mod ours;
mod places;
mod programs;
#[path = "../stalling/mod.rs"]
mod stalling;
#[path = "../watching/mod.rs"]
mod watching;
