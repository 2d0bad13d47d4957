//! Stalls and floods of small segments on a live host.
//!
//! The [`kernel`] says what it sees ([`event`]), and where in the program ([`site`]); the [`judge`] says
//! what it means, in diagnose's words ([`finding`]). Or [`packets`] are read, and diagnose judges.
//! [`live`] is either; [`summary`] adds it up by process and peer, and [`who`] knows the processes.
//! Nothing here prints.

#![cfg(target_os = "linux")]

pub mod event;
pub mod finding;
pub mod judge;
pub mod kernel;
pub mod live;
pub mod packets;
pub mod site;
pub mod summary;
pub mod who;
