//! What is changed on a host, and how it is put back: the [`journal`]. Nothing here prints.

#![cfg(target_os = "linux")]

pub mod journal;
