//! One end of a connection.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// An address and a port. An IPv4 address is kept in its IPv6-mapped form, so that both versions
/// compare in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// The address in network order, upper half.
    pub high: u64,
    /// The address in network order, lower half.
    pub low: u64,
    /// The port.
    pub port: u16,
}

impl Endpoint {
    /// Makes an endpoint from the two halves of an address.
    #[inline]
    pub(crate) fn of_bits(high: u64, low: u64, port: u16) -> Self {
        Self { high, low, port }
    }

    #[inline]
    pub(crate) fn v4(octets: [u8; 4], port: u16) -> Self {
        Self {
            high: 0,
            low: V4_MAPPED | u64::from(u32::from_be_bytes(octets)),
            port,
        }
    }

    #[inline]
    pub(crate) fn v6(octets: [u8; 16], port: u16) -> Self {
        let bits = u128::from_be_bytes(octets);
        Self::of_bits((bits >> 64) as u64, bits as u64, port)
    }

    #[inline]
    pub(crate) fn v4_octets(&self) -> [u8; 4] {
        (self.low as u32).to_be_bytes()
    }

    /// Returns the address in the form of IPv6.
    #[inline]
    pub(crate) fn v6_octets(&self) -> [u8; 16] {
        (u128::from(self.high) << 64 | u128::from(self.low)).to_be_bytes()
    }

    /// Returns whether the address is an IPv4 address.
    #[must_use]
    #[inline]
    pub const fn is_ipv4(&self) -> bool {
        self.high == 0 && self.low >> 32 == V4_MAPPED >> 32
    }

    /// Returns the address in its own version of IP.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        let bits = u128::from(self.high) << 64 | u128::from(self.low);
        Ipv6Addr::from_bits(bits).to_canonical()
    }
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        match address.ip() {
            IpAddr::V4(ip) => Self::v4(ip.octets(), address.port()),
            IpAddr::V6(ip) => Self::v6(ip.octets(), address.port()),
        }
    }
}

impl From<Endpoint> for SocketAddr {
    fn from(endpoint: Endpoint) -> Self {
        Self::new(endpoint.address(), endpoint.port)
    }
}

/// Writes the address in its own version of IP, and the port.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_ipv4() || f.width().is_some() || f.precision().is_some() {
            return SocketAddr::from(*self).fmt(f);
        }
        // The same text without a format for each number: JSON has two for each connection.
        let [a, b, c, d] = self.v4_octets();
        let mut text = *b"255.255.255.255:65535";
        let mut at = text.len();
        for (number, before) in [
            (self.port, b':'),
            (d.into(), b'.'),
            (c.into(), b'.'),
            (b.into(), b'.'),
            (a.into(), 0),
        ] {
            let mut rest = number;
            loop {
                at -= 1;
                text[at] = b'0' + (rest % 10) as u8;
                rest /= 10;
                if rest == 0 {
                    break;
                }
            }
            if before != 0 {
                at -= 1;
                text[at] = before;
            }
        }
        f.write_str(std::str::from_utf8(&text[at..]).unwrap_or_default())
    }
}

/// The prefix in the lower half of an IPv4 address in its IPv6 form `::ffff:a.b.c.d` (RFC 4291,
/// section 2.5.5.2).
const V4_MAPPED: u64 = 0xffff_0000_0000;

#[cfg(test)]
mod tests {
    use super::*;

    /// An address has the text that the standard library gives it, filled to a width or cut to a precision, too.
    #[test]
    fn it_is_written_as_a_socket_address_is() {
        for octets in [[0, 0, 0, 0], [255; 4], [10, 0, 100, 9], [127, 0, 0, 1]] {
            for port in [0, 9, 80, 443, 10_000, u16::MAX] {
                let end = Endpoint::v4(octets, port);
                let standard = SocketAddr::from(end);
                assert_eq!(end.to_string(), standard.to_string());
                assert_eq!(format!("{end:>25}"), format!("{standard:>25}"));
                assert_eq!(format!("{end:.9}"), format!("{standard:.9}"));
            }
        }
        let end = Endpoint::v6([0x20; 16], 443);
        assert_eq!(end.to_string(), SocketAddr::from(end).to_string());
    }
}
