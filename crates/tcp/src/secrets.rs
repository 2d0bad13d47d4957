//! Numbers that an attacker off the path must not be able to guess.

use std::hash::{Hash, Hasher};

use siphasher::sip::SipHasher24;
use tinygram_engine::Instant;
use tinygram_wire::endpoint::Endpoint;

use super::Pair;

/// The keys, drawn anew for each stack.
#[derive(Clone, Debug)]
pub(crate) struct Secrets {
    sequence: [u8; 16],
    ports: [u8; 16],
    /// The number of ports assigned so far (RFC 6056, algorithm 3: `next_ephemeral`).
    ports_given: u32,
}

/// The initial numbers of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub(crate) initial_sequence: u32,
    pub(crate) timestamp_offset: u32,
}

/// The dynamic ports (RFC 6335, section 6). RFC 6056 prefers all ports above 1023, but firewalls
/// and users expect this range.
const EPHEMERAL: std::ops::RangeInclusive<u16> = 49152..=65535;

impl Secrets {
    /// Returns keys from the system's generator.
    ///
    /// # Errors
    ///
    /// If the system has no generator.
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let mut keys = [[0; 16]; 2];
        getrandom::fill(keys.as_flattened_mut())?;
        Ok(Self::from_keys(keys))
    }

    /// Returns given keys, for tests that must be repeatable.
    pub(crate) fn from_keys([sequence, ports]: [[u8; 16]; 2]) -> Self {
        Self {
            sequence,
            ports,
            ports_given: 0,
        }
    }

    /// Computes the initial numbers of a new connection. `ISN = M + F(localip, localport, remoteip,
    /// remoteport, secretkey)` (RFC 6528, section 3), where M is the timer of four microseconds.
    /// The timestamps' offset is another part of the same hash (RFC 7323, section 7.1).
    pub(crate) fn numbers(&self, now: Instant, local: &Endpoint, remote: &Endpoint) -> Numbers {
        let clock = now.as_nanos() / 4000;
        let mut hash = SipHasher24::new_with_key(&self.sequence);
        (local, remote).hash(&mut hash);
        let hash = hash.finish();
        Numbers {
            initial_sequence: (clock as u32).wrapping_add(hash as u32),
            timestamp_offset: (hash >> 32) as u32,
        }
    }

    /// Returns a part of a SYN cookie (RFC 4987, section 3.6): what only this stack can compute for
    /// a connection whose peer began with `irs`, in a period or in all.
    pub(crate) fn cookie_hash(&self, pair: &Pair, irs: u32, period: Option<u32>) -> u32 {
        let mut hash = SipHasher24::new_with_key(&self.sequence);
        ("cookie", pair, irs, period).hash(&mut hash);
        hash.finish() as u32
    }

    /// Chooses a port for a connection from `local` (whose port does not matter) to `remote` for
    /// which `is_free` is true; `None` if all are taken. RFC 6056, section 3.3.3: a hash makes the
    /// search begin at a different place for each destination.
    pub(crate) fn ephemeral_port(
        &mut self,
        local: &Endpoint,
        remote: &Endpoint,
        is_free: impl Fn(u16) -> bool,
    ) -> Option<u16> {
        let mut hash = SipHasher24::new_with_key(&self.ports);
        (local.high, local.low, remote).hash(&mut hash);
        let offset = hash.finish() as u32;
        let count = EPHEMERAL.len() as u32;
        for _ in 0..count {
            let place = offset.wrapping_add(self.ports_given) % count;
            self.ports_given = self.ports_given.wrapping_add(1);
            let port = EPHEMERAL.start() + place as u16;
            if is_free(port) {
                return Some(port);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn endpoint(text: &str) -> Endpoint {
        text.parse::<std::net::SocketAddr>().unwrap().into()
    }

    #[test]
    fn every_free_port_is_found_once_and_no_other() {
        let mut secrets = Secrets::from_keys([[1; 16], [2; 16]]);
        let (local, remote) = (endpoint("10.0.0.1:0"), endpoint("10.0.0.2:80"));
        let mut taken = HashSet::from([49_152, 60_000]);
        while let Some(port) = secrets.ephemeral_port(&local, &remote, |p| !taken.contains(&p)) {
            assert!(taken.insert(port), "{port} was free");
        }
        assert_eq!(taken.len(), EPHEMERAL.len());
    }

    #[test]
    fn a_connections_numbers_follow_the_clock_and_differ_from_anothers() {
        let secrets = Secrets::from_keys([[1; 16], [2; 16]]);
        let (local, one) = (endpoint("10.0.0.1:80"), endpoint("10.0.0.2:4000"));
        let at = |nanos| secrets.numbers(Instant::from_nanos(nanos), &local, &one);
        let (first, later) = (at(0), at(4_000_000));
        let passed = later.initial_sequence.wrapping_sub(first.initial_sequence);
        assert_eq!(
            (passed, later.timestamp_offset),
            (1000, first.timestamp_offset)
        );
        let other = secrets.numbers(Instant::ZERO, &local, &endpoint("10.0.0.2:4001"));
        assert_ne!(first.initial_sequence, other.initial_sequence);
        assert_ne!(first.timestamp_offset, other.timestamp_offset);
    }
}
