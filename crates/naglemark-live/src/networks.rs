//! Makes the networks for a run, in namespaces that nobody else sees.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use tinygram_link::device::Addresses;
use tinygram_link::namespace::{self, Namespace};
use tinygram_link::netlink;
use tinygram_naglemark::Error;

/// Acquires the right to make namespaces, which every place needs except loopback and another host.
/// Call it before any thread is started.
///
/// # Errors
///
/// Returns an error whose message says in one line what is missing.
pub fn acquire_privilege() -> Result<(), namespace::Error> {
    namespace::acquire_privilege()?;
    // If this moved the process into a network of its own, the loopback device there is still down.
    let _ = netlink::loopback_up();
    Ok(())
}

/// Makes a namespace whose loopback device is up.
pub(crate) fn space() -> Result<Namespace, Error> {
    let make = || -> io::Result<Namespace> {
        let space = Namespace::new()?;
        space.within(netlink::loopback_up)??;
        Ok(space)
    };
    make().map_err(|error| Error::failed("making a network namespace", error))
}

/// The name of the device at each end.
pub(crate) const DEVICE: &str = "nagle0";
/// The MTU of these devices, in octets.
pub(crate) const MTU: u16 = 1500;
/// The addresses of the client's end.
pub(crate) const NEAR: Addresses = Addresses {
    v4: Ipv4Addr::new(10, 77, 0, 1),
    v6: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1),
};
/// The addresses of the server's end.
pub(crate) const FAR: Addresses = Addresses {
    v4: Ipv4Addr::new(10, 77, 0, 2),
    v6: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 2),
};
