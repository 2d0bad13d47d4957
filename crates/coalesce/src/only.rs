//! Which connections a rule is for.

use core::fmt;
use core::net::{IpAddr, Ipv6Addr};

/// Connections that a rule is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    /// Those of the service on this port: the peer's on a connection the program opened, its own on one it accepted.
    Port(u16),
    /// Those whose remote address is in this network.
    Net {
        /// The network; IPv4 as IPv4-mapped IPv6.
        bits: u128,
        /// The number of leading bits that count, 0 to 128.
        prefix: u8,
    },
}

impl Only {
    /// Parses a port (1 to 65535), an address or a CIDR network.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(port) = text.parse::<u16>() {
            return (port > 0).then_some(Self::Port(port));
        }
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length.parse::<u8>().ok()?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let width = if address.is_ipv4() { 32 } else { 128 };
        let length = length.unwrap_or(width);
        (length <= width).then(|| Self::Net {
            bits: mapped(address),
            prefix: 128 - width + length,
        })
    }

    /// Returns whether a connection to this address, of the service on this port, is one of them.
    #[must_use]
    pub fn covers(&self, address: u128, service: u16) -> bool {
        match *self {
            Self::Port(port) => port == service,
            Self::Net { bits, prefix } => {
                let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
                (bits ^ address) & mask == 0
            }
        }
    }
}

impl fmt::Display for Only {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Port(port) => write!(f, "{port}"),
            Self::Net { bits, prefix } => match unmapped(bits) {
                IpAddr::V4(address) if prefix >= 96 => write!(f, "{address}/{}", prefix - 96),
                address => write!(f, "{address}/{prefix}"),
            },
        }
    }
}

/// Returns an address as IPv6; IPv4 as IPv4-mapped.
#[must_use]
pub fn mapped(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// Undoes [`mapped`].
#[must_use]
pub fn unmapped(bits: u128) -> IpAddr {
    Ipv6Addr::from_bits(bits).to_canonical()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_choose_by_service_port_or_by_network() {
        let peer = |address: &str, port: u16| (mapped(address.parse().unwrap()), port);
        let covers =
            |filter: &str, (address, port)| Only::parse(filter).unwrap().covers(address, port);
        assert!(covers("6379", peer("10.0.0.1", 6379)));
        assert!(!covers("6379", peer("10.0.0.1", 80)));
        assert!(covers("10.0.0.0/8", peer("10.200.0.1", 80)));
        assert!(!covers("10.0.0.0/8", peer("11.0.0.1", 80)));
        assert!(covers("0.0.0.0/0", peer("192.0.2.1", 80)));
        assert!(!covers("0.0.0.0/0", peer("2001:db8::1", 80)));
        assert!(covers("::/0", peer("2001:db8::1", 80)));
        assert!(covers("2001:db8::1", peer("2001:db8::1", 1)));
        for bad in [
            "0",
            "65536",
            "10.0.0.0/33",
            "::/129",
            "name",
            "10.0.0.0/",
            "",
        ] {
            assert_eq!(Only::parse(bad), None, "{bad}");
        }
    }
}
