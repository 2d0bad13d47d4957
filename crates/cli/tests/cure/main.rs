//! `tinygram cure`, and `set` on knobs, each in namespaces or on programs of the tests' own. One program, so that what waits
//! waits beside the others.
#![cfg(target_os = "linux")]

#[path = "../answering/mod.rs"]
mod answering;
mod beside;
mod forking;
#[path = "../hosting/mod.rs"]
mod hosting;
mod knobs;
mod midway;
mod scenes;
mod service;
mod split;
