//! The settings that the command passes to the library in the program, in one environment variable.
//!
//! `tinygram run` writes them ([`Settings::encode`]). Every process it starts reads them
//! ([`Settings::decode`], which does not allocate because it runs before `main`).

use std::fmt;
use std::net::IpAddr;

use tinygram_coalesce::{Policy, Rules};

/// The variable's name.
pub const VARIABLE: &str = "TINYGRAM_RUN";

/// The settings of the library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings<'a> {
    /// What to hold and how long.
    pub rules: Rules,
    /// The connections to cover; if none is named, all.
    pub only: [Option<Only>; MAX_ONLY],
    /// The file to map as a [`crate::page::Page`], if statistics are wanted.
    pub stats: Option<&'a str>,
}

/// The most `--only` filters.
pub const MAX_ONLY: usize = 8;

/// A filter `--only`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    /// The service's port: the peer's on a connection the program opened, its own on one it accepted.
    Port(u16),
    /// The peer's address is in this network.
    Net {
        /// The network; IPv4 as IPv4-mapped IPv6.
        bits: u128,
        /// The number of leading bits that count, 0 to 128.
        prefix: u8,
    },
}

/// The peer of a connection, for [`Only`] and for the statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The remote address; IPv4 as IPv4-mapped IPv6.
    pub address: u128,
    /// The service's port, see [`Only::Port`].
    pub port: u16,
    /// Whether the program accepted this connection instead of opening it.
    pub accepted: bool,
}

impl Settings<'_> {
    /// Returns the text for [`VARIABLE`].
    #[must_use]
    pub fn encode(&self) -> String {
        let Rules {
            policy,
            hold_below,
            watchdog_ns,
            eager,
        } = self.rules;
        let mut text = format!(
            "policy={},hold_below={hold_below},watchdog_ns={watchdog_ns}",
            policy.name()
        );
        if eager {
            text += ",eager=1";
        }
        for only in self.only.iter().flatten() {
            text += &format!(",only={only}");
        }
        // Last, because a path may hold commas.
        if let Some(path) = self.stats {
            text += &format!(",stats={path}");
        }
        text
    }
}

impl<'a> Settings<'a> {
    /// Parses [`VARIABLE`]; `None` if it is not what [`Settings::encode`] writes.
    #[must_use]
    pub fn decode(text: &'a str) -> Option<Self> {
        let mut settings = Self::default();
        let mut filters = settings.only.iter_mut();
        let mut rest = text;
        while !rest.is_empty() {
            let (key, tail) = rest.split_once('=')?;
            if key == "stats" {
                settings.stats = Some(tail);
                break;
            }
            let (value, next) = tail.split_once(',').unwrap_or((tail, ""));
            rest = next;
            match key {
                "policy" => settings.rules.policy = Policy::named(value)?,
                "hold_below" => settings.rules.hold_below = value.parse().ok()?,
                "watchdog_ns" => settings.rules.watchdog_ns = value.parse().ok()?,
                "eager" => settings.rules.eager = value == "1",
                "only" => *filters.next()? = Some(Only::parse(value)?),
                _ => return None,
            }
        }
        Some(settings)
    }
}

/// Returns whether a connection to `peer` is covered.
#[must_use]
pub fn covers(only: &[Option<Only>; MAX_ONLY], peer: &Peer) -> bool {
    only[0].is_none() || only.iter().flatten().any(|only| only.covers(peer))
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

    fn covers(&self, peer: &Peer) -> bool {
        match *self {
            Self::Port(port) => port == peer.port,
            Self::Net { bits, prefix } => {
                let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
                (bits ^ peer.address) & mask == 0
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
    std::net::Ipv6Addr::from_bits(bits).to_canonical()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(address: &str, port: u16) -> Peer {
        Peer {
            address: mapped(address.parse().unwrap()),
            port,
            accepted: false,
        }
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let mut only = [None; MAX_ONLY];
        only[0] = Only::parse("80");
        only[1] = Only::parse("10.1.0.0/16");
        only[2] = Only::parse("fd00::/8");
        let settings = Settings {
            rules: Rules {
                policy: Policy::CorkUntilBlock,
                hold_below: 7,
                watchdog_ns: 9,
                eager: true,
            },
            only,
            stats: Some("/tmp/a,b=c"),
        };
        assert_eq!(Settings::decode(&settings.encode()), Some(settings));
        assert_eq!(Settings::decode(""), Some(Settings::default()));
        for bad in ["policy=none", "watchdog_ns=1ms", "what", "x=1"] {
            assert_eq!(Settings::decode(bad), None, "{bad}");
        }
    }

    #[test]
    fn filters_choose_by_service_port_or_by_network() {
        let covers = |filter: &str, peer: Peer| Only::parse(filter).unwrap().covers(&peer);
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
