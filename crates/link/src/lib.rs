//! A link that exists in software: two TUN devices, and between them a rate, a delay, loss,
//! reordering, duplication and a bounded queue, all from one seed.
//!
//! The road of a packet: its kernel routes it to the device; [`relay`] reads it and tells the
//! [`emulator`] when it came; the emulator, which knows no device and no clock, says whether and
//! when it arrives; the relay sleeps till then and writes it to the other device.
//!
//! [`namespace`] makes the two ends where there is only one machine, and [`netlink`] what else the
//! two need: their loopback, and a pair of veth devices where nothing is to be emulated.

#![cfg(target_os = "linux")]

pub mod device;
pub mod emulator;
pub mod namespace;
pub mod netlink;
pub mod priority;
pub mod processors;
pub mod relay;
pub mod tcp_info;
pub mod veth;
