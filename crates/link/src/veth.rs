//! Two namespaces joined by a pair of veth devices: a wire that takes no time and loses nothing.

use std::io;
use std::net::IpAddr;
use std::os::fd::AsRawFd;

use crate::device::Addresses;
use crate::namespace::Namespace;
use crate::netlink;

/// Whether segments may be joined beneath TCP (TSO, GSO and GRO).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// Every segment is a packet of its own, as on a wire.
    Off,
    /// The kernel's default: a packet may carry 64 KB.
    On,
}

/// Joins two namespaces by devices with this name, which are up and have these addresses. The
/// devices disappear with the first of the two namespaces.
///
/// # Errors
/// Returns the kernel's error.
pub fn join(
    spaces: [&Namespace; 2],
    name: &str,
    addresses: [Addresses; 2],
    offload: Offload,
) -> io::Result<()> {
    let [first, second] = spaces;
    first.within(|| netlink::make_veth(name, second))??;
    for (space, own) in spaces.into_iter().zip(addresses) {
        space.within(|| -> io::Result<()> {
            let device = netlink::index_of(name)?;
            netlink::add_address(device, IpAddr::V4(own.v4), Addresses::V4_PREFIX)?;
            netlink::add_address(device, IpAddr::V6(own.v6), Addresses::V6_PREFIX)?;
            if offload == Offload::Off {
                turn_offloads_off(name)?;
            }
            netlink::set_up(device)
        })??;
    }
    Ok(())
}

/// Does what `ethtool -K NAME tso off gso off gro off` does; each option is a single `SIOCETHTOOL`,
/// so no library is needed.
fn turn_offloads_off(name: &str) -> io::Result<()> {
    #[repr(C)]
    struct Value {
        command: u32,
        data: u32,
    }
    let socket = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        None,
    )?;
    for command in [ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO] {
        let mut value = Value { command, data: 0 };
        // SAFETY: all zeros is a valid `ifreq`.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(name.as_bytes()) {
            *to = *from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        // SAFETY: the request names a device and points to a value that outlives the call.
        let failed =
            unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
        if failed != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

// linux/ethtool.h
const ETHTOOL_STSO: u32 = 0x1f;
const ETHTOOL_SGSO: u32 = 0x24;
const ETHTOOL_SGRO: u32 = 0x2c;
