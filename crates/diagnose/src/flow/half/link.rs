//! How long the link between a sender and the capture point takes to carry a segment.

use super::{AT_ONCE_NS, saturate};

/// What segments of one flight that follow each other take at the capture point.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Link {
    /// Their time, in nanoseconds.
    ns: u32,
    /// Their bytes, with headers.
    bytes: u32,
}

impl Link {
    /// Returns how much longer than an empty segment one of this length takes to the capture point, in
    /// nanoseconds; 0 if nothing tells.
    pub(super) fn carries_ns(&self, len: u32) -> i64 {
        i64::from(len) * i64::from(self.ns) / i64::from(self.bytes.max(1))
    }

    /// A segment follows another of its flight. Returns whether its sender has paused: what comes four times as
    /// slowly as others has, and so has what comes more slowly than the link can be, for an empty segment takes
    /// no longer than the way there and back.
    #[inline]
    pub(super) fn follows(
        &mut self,
        gap_ns: i64,
        len: u32,
        sender_distance_ns: Option<i64>,
    ) -> bool {
        let (gap, bytes) = (saturate(gap_ns), len + HEADERS);
        let (here, usual) = (
            u64::from(gap) * u64::from(self.bytes),
            u64::from(self.ns) * u64::from(bytes),
        );
        let most_ns = sender_distance_ns.map_or(i64::MAX, |ns| ns * i64::from(bytes));
        if gap_ns.saturating_mul(LEAST_FRAME) > most_ns {
            return gap_ns > AT_ONCE_NS;
        }
        let paused = gap_ns > AT_ONCE_NS && here > usual * 4 && self.bytes > 0;
        if self.bytes == 0 || here * 4 < usual {
            (self.ns, self.bytes) = (gap, bytes);
        } else if here < usual * 4 {
            (self.ns, self.bytes) = match self.bytes > MANY_BYTES {
                true => (self.ns / 2 + gap, self.bytes / 2 + bytes),
                false => (self.ns.saturating_add(gap), self.bytes + bytes),
            };
        }
        paused
    }
}

/// Ethernet, IPv4 and TCP with timestamps, in bytes.
const HEADERS: u32 = 66;
/// An empty segment without options, in bytes.
const LEAST_FRAME: i64 = 54;
/// Links change: of more bytes than this the older half counts half.
const MANY_BYTES: u32 = 100_000;
