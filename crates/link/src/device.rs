//! A TUN device inside a namespace, up and with addresses. It is gone when it is dropped.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use tun_rs::{DeviceBuilder, Layer, SyncDevice};

use crate::namespace::Namespace;
use crate::netlink;

/// A TUN device that is read and written without blocking.
///
/// Segmentation is not offloaded to it: what is read are packets as they would be on a wire.
pub struct Device(SyncDevice);

/// The addresses of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// With the prefix length [`Addresses::V4_PREFIX`].
    pub v4: Ipv4Addr,
    /// With the prefix length [`Addresses::V6_PREFIX`].
    pub v6: Ipv6Addr,
}

impl Addresses {
    /// Prefix length of the IPv4 network.
    pub const V4_PREFIX: u8 = 24;
    /// Prefix length of the IPv6 network.
    pub const V6_PREFIX: u8 = 64;
}

impl Device {
    /// Makes a device in `space`, up, with `addresses` and an MTU in octets.
    ///
    /// # Errors
    /// What the system says: no TUN driver, a name or address that is taken, no privilege.
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
            // A burst that comes while the relay has no CPU waits in the device's queue. It must be
            // the emulator's queue that is full first.
            netlink::set_queue_length(device.if_index()?, DEVICE_QUEUE)?;
            device.set_nonblocking(true)?;
            Ok(Self(device))
        })
    }

    pub(crate) fn recv(&self, packet: &mut [u8]) -> io::Result<usize> {
        self.0.recv(packet)
    }

    pub(crate) fn send(&self, packet: &[u8]) -> io::Result<usize> {
        self.0.send(packet)
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the device keeps its descriptor open as long as it lives.
        unsafe { BorrowedFd::borrow_raw(self.0.as_raw_fd()) }
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Device({})", self.0.as_raw_fd())
    }
}

/// Keeps the kernel from soliciting routers on devices to come, which would count as packets. Where
/// these files may not be written it does no harm but that.
fn be_silent() {
    for (file, value) in [("router_solicitations", "0"), ("addr_gen_mode", "1")] {
        let path = format!("/proc/sys/net/ipv6/conf/default/{file}");
        let _ = std::fs::write(path, value);
    }
}

const DEVICE_QUEUE: u32 = 10_000;
