//! The devices through which packets leave and arrive.

mod memory;
mod socket;
mod tun;

use std::io;
use std::task::{Context, Poll};

pub use tinygram_tcp::{Abilities, Offload};

pub use memory::{Memory, memory_pair};
pub use socket::PacketSocket;
pub use tun::{Tun, TunSettings};

/// A device of the network layer. Its methods may be called from any thread, and none waits.
pub trait Device: Send + Sync + 'static {
    /// Returns what it can do; asked once.
    fn abilities(&self) -> Abilities;

    /// Sends a packet, or drops it where there is no room. The packet begins
    /// [`Abilities::headroom`] octets into `octets`; those before may be overwritten.
    ///
    /// # Errors
    ///
    /// If the packet was dropped. A device that is gone says so in [`Device::receive`].
    fn send(&self, octets: &mut [u8], offload: Option<Offload>) -> io::Result<()>;

    /// Takes a packet that has arrived.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::WouldBlock`] if there is none; all others mean that the device is gone.
    fn receive(&self, buffer: &mut [u8]) -> io::Result<Received>;

    /// Waits until there may be a packet; after it [`Device::receive`] is called until it has none.
    ///
    /// # Errors
    ///
    /// If the device is gone.
    fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Nobody need be told of packets until [`Device::poll_readable`] is called again: for a while
    /// the caller asks of its own accord. What telling costs can be saved meanwhile.
    fn unwatch(&self) {}
}

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Where in the buffer it begins.
    pub start: usize,
    /// Where in the buffer it ends.
    pub end: usize,
    /// The device vouches for the TCP checksum.
    pub verified: bool,
}
