//! The networks that are made for a run, in namespaces that nobody else sees.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use tinygram_link::device::Addresses;
use tinygram_link::namespace::{self, Namespace};
use tinygram_link::netlink;

use crate::exit::Failure;

/// Sees to it that this process may make namespaces. To be called before any thread is started.
pub(super) fn acquire_privilege() -> Result<(), Failure> {
    namespace::acquire_privilege().map_err(|error| Failure::Input(error.to_string()))?;
    // Where that moved the process into a network of its own, its loopback device is still down.
    let _ = netlink::loopback_up();
    Ok(())
}

/// A namespace with its loopback device.
pub(super) fn space() -> Result<Namespace, Failure> {
    let make = || -> io::Result<Namespace> {
        let space = Namespace::new()?;
        space.within(netlink::loopback_up)?;
        Ok(space)
    };
    make().map_err(|error| Failure::Io {
        doing: "making a network namespace".into(),
        error,
    })
}

/// Of a device at each end.
pub(super) const DEVICE: &str = "nagle0";
/// In octets.
pub(super) const MTU: u16 = 1500;
/// The client's end.
pub(super) const NEAR: Addresses = Addresses {
    v4: Ipv4Addr::new(10, 77, 0, 1),
    v6: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1),
};
/// The server's.
pub(super) const FAR: Addresses = Addresses {
    v4: Ipv4Addr::new(10, 77, 0, 2),
    v6: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 2),
};
