//! Stalls and floods of small segments on a live host, by the kernel's events or by packets that diagnose judges.
//!
//! The [`kernel`] reports events ([`event`]) and their places in the program ([`site`]); the
//! [`judge`] turns them into findings, in diagnose's terms ([`finding`]). Alternatively the crate
//! reads [`packets`], and diagnose judges them. [`live`] is one of these two sources; [`summary`]
//! adds the findings up by process and peer, and [`who`] looks the processes up. Nothing here
//! prints.

#![cfg(target_os = "linux")]

#[cfg(test)]
#[path = "../../host/tests/contract/mod.rs"]
mod contract;
pub mod event;
pub mod finding;
pub mod judge;
pub mod kernel;
pub mod live;
pub mod packets;
pub mod seen;
pub mod site;
pub mod summary;
pub mod who;
