//! The networks that are made for a run, in namespaces that nobody else sees.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use tinygram_link::device::Addresses;
use tinygram_link::namespace::{self, Namespace};
use tinygram_link::netlink;
use tinygram_naglemark::Error;

/// Sees to it that this process may make namespaces, which every place but loopback and another host
/// needs. To be called before any thread is started.
///
/// # Errors
///
/// A line that says what is missing.
pub fn acquire_privilege() -> Result<(), namespace::Error> {
    namespace::acquire_privilege()?;
    // Where that moved the process into a network of its own, its loopback device is still down.
    let _ = netlink::loopback_up();
    Ok(())
}

/// Returns a namespace with its loopback device.
pub(crate) fn space() -> Result<Namespace, Error> {
    let make = || -> io::Result<Namespace> {
        let space = Namespace::new()?;
        space.within(netlink::loopback_up)?;
        Ok(space)
    };
    make().map_err(|error| Error::failed("making a network namespace", error))
}

/// Of a device at each end.
pub(crate) const DEVICE: &str = "nagle0";
/// In octets.
pub(crate) const MTU: u16 = 1500;
/// The client's end.
pub(crate) const NEAR: Addresses = Addresses {
    v4: Ipv4Addr::new(10, 77, 0, 1),
    v6: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1),
};
/// The server's.
pub(crate) const FAR: Addresses = Addresses {
    v4: Ipv4Addr::new(10, 77, 0, 2),
    v6: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 2),
};
