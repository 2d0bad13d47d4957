//! Numbers that an attacker off the path must not guess.

use std::hash::{Hash, Hasher};

use siphasher::sip::SipHasher24;
use tinygram_engine::Instant;
use tinygram_wire::decode::Endpoint;

/// The keys, made anew for each stack.
#[derive(Clone, Debug)]
pub(crate) struct Secrets {
    sequence: [u8; 16],
    ports: [u8; 16],
    /// Counts the ports given out (RFC 6056, algorithm 3: `next_ephemeral`).
    ports_given: u32,
}

/// The dynamic ports (RFC 6335, section 6); RFC 6056 would rather have all above 1023, but what
/// people's firewalls and habits know is kept.
const EPHEMERAL: std::ops::RangeInclusive<u16> = 49152..=65535;

impl Secrets {
    /// From the system's generator.
    ///
    /// # Errors
    ///
    /// If it has none.
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let mut keys = [[0; 16]; 2];
        getrandom::fill(keys.as_flattened_mut())?;
        Ok(Self::from_keys(keys))
    }

    /// For tests that must repeat.
    pub(crate) fn from_keys([sequence, ports]: [[u8; 16]; 2]) -> Self {
        Self {
            sequence,
            ports,
            ports_given: 0,
        }
    }

    /// `ISN = M + F(localip, localport, remoteip, remoteport, secretkey)` (RFC 6528, section 3);
    /// M is the timer of four microseconds.
    pub(crate) fn initial_sequence(
        &self,
        now: Instant,
        local: &Endpoint,
        remote: &Endpoint,
    ) -> u32 {
        let clock = now.as_nanos() / 4000;
        let mut hash = SipHasher24::new_with_key(&self.sequence);
        (local, remote).hash(&mut hash);
        (clock as u32).wrapping_add(hash.finish() as u32)
    }

    /// A port for a connection from `local` (whose port does not matter) to `remote`, for which
    /// `is_free`; `None` if all are taken. RFC 6056, section 3.3.3: a hash gives each destination
    /// its own place to begin.
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
        let at = |nanos| secrets.initial_sequence(Instant::from_nanos(nanos), &local, &one);
        assert_eq!(at(4_000_000).wrapping_sub(at(0)), 1000);
        let other = secrets.initial_sequence(Instant::ZERO, &local, &endpoint("10.0.0.2:4001"));
        assert_ne!(at(0), other);
    }
}
