//! A socket as a device: a program at its other end carries the packets on, for example a link
//! emulator.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::task::{Context, Poll, ready};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::{Abilities, Device, Offload, Received};

/// One end of a pair of Unix sockets that preserve packet boundaries (SOCK_DGRAM or
/// SOCK_SEQPACKET).
#[derive(Debug)]
pub struct PacketSocket {
    socket: AsyncFd<UnixDatagram>,
    mtu: u16,
}

impl PacketSocket {
    /// Returns a device with an MTU in octets. Must be called on a tokio runtime with its IO driver.
    ///
    /// # Errors
    ///
    /// If the system cannot register the socket.
    pub fn new(socket: UnixDatagram, mtu: u16) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self {
            // SAFETY: the socket owns its descriptor, always returns that one, and is reached only
            // through the `AsyncFd`, which takes it out of the reactor before it is closed.
            socket: unsafe { AsyncFd::register_with_interest(socket, Interest::READABLE) }?,
            mtu,
        })
    }
}

impl Device for PacketSocket {
    fn abilities(&self) -> Abilities {
        Abilities::plain(self.mtu)
    }

    fn send(&self, octets: &mut [u8], _: Option<Offload>) -> io::Result<()> {
        self.socket.get_ref().send(octets).map(|_| ())
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<Received> {
        match self.socket.get_ref().recv(buffer)? {
            // No packet is empty: the other end is closed.
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            end => Ok(Received {
                start: 0,
                end,
                verified: false,
            }),
        }
    }

    fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut guard = ready!(self.socket.poll_read_ready(context))?;
        // The caller reads until nothing is left, so the next packet causes a new notification.
        guard.clear_ready();
        Poll::Ready(Ok(()))
    }
}
