//! Naglemark's backends that need Linux and take real time: the running kernel's sockets
//! ([`Kernel`]) and our own stack on real packets ([`OurStack`]).
//!
//! Both are asked by one client, the running kernel's sockets, in one protocol: a request of
//! [`REQUEST`](tinygram_naglemark::REQUEST) octets that says all its server needs to know. So a server
//! can be on another host, too ([`serve`]).

#![cfg(target_os = "linux")]

mod client;
mod kernel;
mod networks;
mod request;
mod socket;
mod stack;

pub use kernel::{Kernel, Where, listen, serve};
pub use networks::acquire_privilege;
pub use socket::Options;
pub use stack::{Line, OurStack, Settings};
