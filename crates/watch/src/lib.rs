//! Stalls and floods of small segments on a live host.
//!
//! A source ([`kernel`]) says what it sees ([`event`]), and where in the program ([`site`]); the [`judge`] says what it means, in
//! diagnose's words ([`finding`]); [`summary`] adds it up by process and peer, and [`who`] knows the
//! processes. Nothing here prints.

#![cfg(target_os = "linux")]

pub mod event;
pub mod finding;
pub mod judge;
pub mod kernel;
pub mod site;
pub mod summary;
pub mod who;
