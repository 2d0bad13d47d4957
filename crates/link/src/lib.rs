//! A link that exists in software: two TUN devices, and between them the simulator's impairments:
//! a rate, a delay, loss, reordering, duplication and a bounded queue, all from one seed.
//!
//! The path of a packet: its kernel routes it to the device; [`relay`] reads it and tells the
//! [`emulator`] when it came; the emulator, which uses no device and no clock, says whether and
//! when it arrives; the relay sleeps until then and writes it to the other device.
//!
//! [`namespace`] makes the two ends if there is only one machine. [`netlink`] sets up what else the
//! two need: their loopback, and a pair of veth devices if nothing is to be emulated.

#![cfg(target_os = "linux")]

pub mod device;
pub mod emulator;
pub mod host_costs;
pub mod namespace;
pub mod netlink;
pub mod priority;
pub mod processors;
pub mod relay;
pub mod tcp_info;
pub mod veth;
