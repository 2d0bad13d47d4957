//! Addresses that cannot be an end of a connection (RFC 9293, MUST-46 and MUST-63; RFC 1122, sections
//! 3.2.1.3 and 4.2.3.10).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The reason why an address cannot be an end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// 0.0.0.0 or `::`, which stands for no host.
    #[error("the unspecified address is no host's")]
    Unspecified,
    /// 127.0.0.0/8 or `::1`, which must not appear outside a host: a stack's device leads outside.
    #[error("a loopback address does not leave its host, and a stack has no loopback")]
    Loopback,
    /// 224.0.0.0/4 or ff00::/8.
    #[error("a multicast address is no single host's")]
    Multicast,
    /// 240.0.0.0/4, including the limited broadcast address 255.255.255.255. The broadcast address
    /// of a subnet is unknown, because a stack knows no netmasks.
    #[error("a broadcast or reserved address is no single host's")]
    Broadcast,
    /// `::ffff:a.b.c.d`, which stands for an IPv4 address and must not be on the wire (RFC 4291,
    /// section 2.5.5.2).
    #[error("an IPv4 address in the form of IPv6 is not on any wire: write it as IPv4")]
    Mapped,
    /// One of the stack's own addresses at the other end (a LAND attack, if it arrives).
    #[error("the address is the stack's own, and a stack has no loopback")]
    Own,
    /// Port 0, which is reserved (RFC 6335, section 6).
    #[error("port 0 is nobody's")]
    Port,
}

impl From<Unfit> for io::Error {
    fn from(reason: Unfit) -> Self {
        Self::new(io::ErrorKind::InvalidInput, reason)
    }
}

/// Checks that the address can be a single host's.
///
/// # Errors
///
/// See [`Unfit`]; not [`Unfit::Own`] and not [`Unfit::Port`].
pub fn check_address(address: IpAddr) -> Result<(), Unfit> {
    match address {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) | IpAddr::V6(Ipv6Addr::UNSPECIFIED) => {
            Err(Unfit::Unspecified)
        }
        address if address.is_loopback() => Err(Unfit::Loopback),
        address if address.is_multicast() => Err(Unfit::Multicast),
        IpAddr::V4(v4) if v4.octets()[0] >= RESERVED => Err(Unfit::Broadcast),
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => Err(Unfit::Mapped),
        _ => Ok(()),
    }
}

/// Checks that the address can be another host's than the one with the addresses `own`.
///
/// # Errors
///
/// See [`Unfit`]; not [`Unfit::Port`].
pub(super) fn check_peer(address: IpAddr, own: &[IpAddr]) -> Result<(), Unfit> {
    check_address(address)?;
    match own.contains(&address) {
        true => Err(Unfit::Own),
        false => Ok(()),
    }
}

/// The first octet of the first reserved address behind the multicast ones.
const RESERVED: u8 = 240;
