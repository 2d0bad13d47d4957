//! What is changed on a host, and how it is put back: the [`journal`] has it before [`apply`] does it. Nothing here
//! prints.

#![cfg(target_os = "linux")]

pub mod apply;
pub mod journal;
