//! `tinygram run` where a test needs the processors for itself: cargo runs the test programs one after the other.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

#[allow(dead_code)] // the other tests of `run` use the rest
#[path = "run/programs.rs"]
mod programs;
#[allow(dead_code)] // the programs of the others send to it
#[path = "run/sink.rs"]
mod sink;
#[path = "run/trial.rs"]
mod trial;
