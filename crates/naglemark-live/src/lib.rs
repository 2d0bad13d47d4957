//! Naglemark's backends that need Linux and take real time: the running kernel's sockets
//! ([`Kernel`]), also under the papers' send policies as BPF ([`Kernel::with_policies`]), and our own stack on real packets
//! ([`OurStack`]). [`LoadedKernel`] is the kernel under load. A [`Talk`] is any conversation in given writes between
//! [`TwoHosts`], for what is no benchmark.
//!
//! The same client, which uses the running kernel's sockets, asks both with the same protocol: a
//! request of [`REQUEST`](tinygram_naglemark::REQUEST) octets tells the server everything that it
//! needs to know. So a server can also run on another host ([`serve`]).

#![cfg(target_os = "linux")]

mod client;
mod kernel;
mod load;
mod networks;
mod request;
mod socket;
mod stack;
mod talk;

pub use kernel::{Kernel, Where, in_kernel, listen, serve};
pub use load::LoadedKernel;
pub use networks::acquire_privilege;
pub use socket::Options;
pub use stack::{Line, OurStack, Settings};
pub use talk::{Heard, Piece, Talk, TwoHosts};
