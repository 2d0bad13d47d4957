//! The Internet checksum (RFC 1071).
//!
//! We do not use `etherparse`'s, because the checksum runs over every octet that the stack sends
//! and receives. This one adds 32 octets in a step, which the compiler turns into vector
//! instructions. The tests compare it with `etherparse`.

use crate::endpoint::Endpoint;

/// An unfinished ones' complement sum, in the machine's own octet order: "the sum of 16-bit
/// integers can be computed in either byte order" (RFC 1071, section 2.B).
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(u64);

impl Sum {
    /// Adds octets. All pieces but the last must have an even length.
    #[must_use]
    #[inline]
    pub fn with(self, octets: &[u8]) -> Self {
        // Eight parallel sums, which become two or more vector registers.
        let mut lanes = [0_u64; 8];
        let (steps, rest) = octets.as_chunks::<32>();
        for step in steps {
            let (words, _) = step.as_chunks::<4>();
            for (at, lane) in lanes.iter_mut().enumerate() {
                *lane += u64::from(u32::from_ne_bytes(words[at]));
            }
        }
        let mut sum = self.0 + lanes.iter().sum::<u64>();
        let (pairs, last) = rest.as_chunks::<2>();
        for pair in pairs {
            sum += u64::from(u16::from_ne_bytes(*pair));
        }
        if let [last] = last {
            sum += u64::from(u16::from_ne_bytes([*last, 0]));
        }
        Self(sum)
    }

    /// Adds a 16-bit number.
    #[must_use]
    #[inline]
    pub const fn with_u16(self, number: u16) -> Self {
        Self(self.0 + number.to_be() as u64)
    }

    /// Returns the 16-bit sum, not inverted, in network order. A device that finishes the checksum
    /// expects this sum in the checksum field.
    #[must_use]
    #[inline]
    pub const fn folded(self) -> [u8; 2] {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        (sum as u16).to_ne_bytes()
    }

    /// Returns the checksum: the sum inverted.
    #[must_use]
    #[inline]
    pub const fn checksum(self) -> [u8; 2] {
        let [high, low] = self.folded();
        [!high, !low]
    }

    /// Returns whether octets that include their checksum are unchanged.
    #[must_use]
    #[inline]
    pub const fn is_right(self) -> bool {
        matches!(self.folded(), [0xff, 0xff])
    }
}

/// Returns the pseudo-header's sum. IPv4 addresses in their IPv6-mapped form give the same sum as
/// plain ones, because the prefix `ffff` adds nothing to a ones' complement sum.
#[inline]
pub(crate) fn pseudo_header(source: &Endpoint, destination: &Endpoint, tcp_len: usize) -> Sum {
    let mut octets = [0; 32];
    octets[..16].copy_from_slice(&source.v6_octets());
    octets[16..].copy_from_slice(&destination.v6_octets());
    Sum::default()
        .with(&octets)
        .with_u16(TCP.into())
        .with_u16(tcp_len as u16)
}

/// TCP's protocol number.
const TCP: u8 = 6;
