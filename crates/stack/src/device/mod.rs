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

/// A network-layer device. Its methods may be called from any thread, and none of them waits.
pub trait Device: Send + Sync + 'static {
    /// Returns its abilities; asked once.
    fn abilities(&self) -> Abilities;

    /// Sends a packet, or drops it if there is no room. The packet begins [`Abilities::headroom`]
    /// octets into `octets`; the octets before it may be overwritten.
    ///
    /// # Errors
    ///
    /// If the packet was dropped. That the device is gone is reported by [`Device::receive`].
    fn send(&self, octets: &mut [u8], offload: Option<Offload>) -> io::Result<()>;

    /// Receives a packet that has arrived.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::WouldBlock`] if there is none; any other kind means that the device is
    /// gone.
    fn receive(&self, buffer: &mut [u8]) -> io::Result<Received>;

    /// Waits until there may be a packet. [`Device::receive`] is then called until it has none.
    ///
    /// # Errors
    ///
    /// If the device is gone.
    fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Says that the caller polls by itself for a while and need not be notified of packets until
    /// [`Device::poll_readable`] is called again. The device may save the cost of notifying.
    fn unwatch(&self) {}
}

/// A packet that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its start in the buffer.
    pub start: usize,
    /// Its end in the buffer.
    pub end: usize,
    /// Whether the device has verified the TCP checksum.
    pub verified: bool,
}
