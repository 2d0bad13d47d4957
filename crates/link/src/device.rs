//! The ends of a link: a TUN device inside a namespace, which is up, has addresses and disappears
//! when it is dropped; or a socket whose other end a program uses as its network.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixDatagram;

use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_send_buffer_size};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

use crate::namespace::Namespace;
use crate::netlink;

/// An end of a link, which receives and sends packets of the network layer without blocking.
pub trait Port: AsFd + Send + Sync + 'static {
    /// Receives a packet and returns its length in octets.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if there is none.
    fn recv(&self, packet: &mut [u8]) -> io::Result<usize>;

    /// Sends a packet to whatever is behind the port.
    ///
    /// # Errors
    /// The packet was not accepted and is lost.
    fn send(&self, packet: &[u8]) -> io::Result<usize>;
}

/// A TUN device that is read and written without blocking.
///
/// It offloads no segmentation: it returns packets as they would be on a wire.
pub struct TunDevice(SyncDevice);

/// The addresses of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// The IPv4 address, with the prefix length [`Addresses::V4_PREFIX`].
    pub v4: Ipv4Addr,
    /// The IPv6 address, with the prefix length [`Addresses::V6_PREFIX`].
    pub v6: Ipv6Addr,
}

impl Addresses {
    /// Prefix length of the IPv4 network.
    pub const V4_PREFIX: u8 = 24;
    /// Prefix length of the IPv6 network.
    pub const V6_PREFIX: u8 = 64;
}

impl TunDevice {
    /// Makes a device in `space`, up, with `addresses` and an MTU in octets.
    ///
    /// # Errors
    /// Returns the system's error: no TUN driver, a name or address that is taken, no privilege.
    pub fn new(space: &Namespace, name: &str, addresses: Addresses, mtu: u16) -> io::Result<Self> {
        space.within(|| {
            be_silent();
            let device = DeviceBuilder::new()
                .name(name)
                .layer(Layer::L3)
                .mtu(mtu)
                .ipv4(addresses.v4, Addresses::V4_PREFIX, None)
                .ipv6(addresses.v6, Addresses::V6_PREFIX)
                .build_sync()?;
            // A burst that comes while the relay has no CPU waits in the device's queue. That queue
            // is long, so that the emulator's queue is full first.
            netlink::set_queue_length(device.if_index()?, DEVICE_QUEUE)?;
            device.set_nonblocking(true)?;
            Ok(Self(device))
        })?
    }
}

impl Port for TunDevice {
    fn recv(&self, packet: &mut [u8]) -> io::Result<usize> {
        self.0.recv(packet)
    }

    fn send(&self, packet: &[u8]) -> io::Result<usize> {
        self.0.send(packet)
    }
}

impl Port for UnixDatagram {
    fn recv(&self, packet: &mut [u8]) -> io::Result<usize> {
        match Self::recv(self, packet)? {
            // No packet is empty: a length of 0 means that the other end has closed.
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            octets => Ok(octets),
        }
    }

    fn send(&self, packet: &[u8]) -> io::Result<usize> {
        Self::send(self, packet)
    }
}

/// Returns a pair of sockets, each a [`Port`], that carry packets whole, in order and without
/// blocking: one for the link, the other for a program that uses it as its network.
///
/// # Errors
/// Returns the system's error.
pub fn socket_pair() -> io::Result<[UnixDatagram; 2]> {
    // Datagram sockets would queue only ten packets (`net.unix.max_dgram_qlen`).
    let (one, other) = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?;
    for end in [&one, &other] {
        set_socket_send_buffer_size(end, SOCKET_BUFFER)?;
        set_socket_recv_buffer_size(end, SOCKET_BUFFER)?;
    }
    Ok([one.into(), other.into()])
}

impl AsFd for TunDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the device keeps its descriptor open as long as it lives.
        unsafe { BorrowedFd::borrow_raw(self.0.as_raw_fd()) }
    }
}

impl std::fmt::Debug for TunDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TunDevice({})", self.0.as_raw_fd())
    }
}

/// Keeps the kernel from sending router solicitations on new devices, because these would count as
/// packets. If these files may not be written, the only harm is that these packets are counted.
fn be_silent() {
    for (file, value) in [("router_solicitations", "0"), ("addr_gen_mode", "1")] {
        let path = format!("/proc/sys/net/ipv6/conf/default/{file}");
        let _ = std::fs::write(path, value);
    }
}

const DEVICE_QUEUE: u32 = 10_000;
/// The buffer to ask for, in octets; the system grants as much of it as it allows.
const SOCKET_BUFFER: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_carry_a_burst_of_packets_whole() {
        let [one, other] = socket_pair().expect("a pair");
        for packet in 1..=100_u16 {
            Port::send(&one, &vec![packet as u8; 15 * usize::from(packet)]).expect("it is taken");
        }
        let mut packet = [0; 2000];
        for sent in 1..=100_u16 {
            let octets = Port::recv(&other, &mut packet).expect("a packet");
            assert_eq!((octets, packet[0]), (15 * usize::from(sent), sent as u8));
        }
        let none = Port::recv(&other, &mut packet).expect_err("no more");
        assert_eq!(none.kind(), io::ErrorKind::WouldBlock);
        drop(one);
        let gone = Port::recv(&other, &mut packet).expect_err("nobody");
        assert_eq!(gone.kind(), io::ErrorKind::UnexpectedEof);
    }
}
