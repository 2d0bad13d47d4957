//! The settings that the command passes to the library in the program, in one environment variable.
//!
//! `tinygram run` writes them ([`Settings::encode`]). Every process it starts reads them
//! ([`Settings::decode`], which does not allocate because it runs before `main`).

use tinygram_coalesce::{Only, Policy, Rules};

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
    only[0].is_none()
        || only
            .iter()
            .flatten()
            .any(|only| only.covers(peer.address, peer.port))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
