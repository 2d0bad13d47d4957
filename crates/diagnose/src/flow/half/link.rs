//! How long the link between a sender and the capture point takes to carry a segment.

use super::saturate;
use tinygram_stalls::thresholds::{
    ANOTHER_PACE, BURST_NS, HEADER_BYTES, LEAST_FRAME_BYTES, LINK_MEMORY_BYTES,
};

/// What it takes for a segment, told in two ways.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// What segments of one flight that follow each other take at the capture point, in nanoseconds.
    ns: u32,
    /// Their bytes, with headers.
    bytes: u32,
    /// The most that it can take for a byte, in 1/16 ns: a segment came so soon after what it was sent upon.
    most: u32,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            ns: 0,
            bytes: 0,
            most: u32::MAX,
        }
    }
}

impl Link {
    /// Bounds the time of the link: a segment of this length came to the capture point within `within_ns`, beyond what
    /// an empty one needs for the way there and back.
    pub(crate) fn carried(&mut self, len: u32, within_ns: i64) {
        let within = within_ns.max(0).saturating_mul(16);
        if within < i64::from(self.most).saturating_mul(i64::from(len)) {
            self.most = saturate(within / i64::from(len));
        }
    }

    /// Returns how much longer than an empty segment one of this length can take at most, in nanoseconds, as
    /// segments that came sooner tell; none if none did.
    pub(crate) fn most_ns(&self, len: u32) -> Option<i64> {
        let told = self.most != u32::MAX;
        told.then_some(i64::from(len).saturating_mul(i64::from(self.most)) / 16)
    }

    /// Returns the same, also by this that an empty segment takes no longer than the way there and back.
    pub(crate) fn bound_ns(&self, len: u32, sender_distance_ns: i64) -> i64 {
        let by_distance_ns = sender_distance_ns.saturating_mul(i64::from(len)) / LEAST_FRAME_BYTES;
        self.most_ns(len).unwrap_or(i64::MAX).min(by_distance_ns)
    }

    /// Returns how much longer than an empty segment one of this length takes to the capture point, in
    /// nanoseconds; 0 if nothing tells.
    pub(crate) fn carries_ns(&self, len: u32) -> i64 {
        i64::from(len).saturating_mul(i64::from(self.ns)) / i64::from(self.bytes.max(1))
    }

    /// Notes a segment that follows another of its flight. Returns whether its sender has paused before it. It has if
    /// the gap is four times as long as usual, or longer than the link can take: an empty segment takes no longer than
    /// the way there and back.
    #[inline]
    pub(super) fn follows(
        &mut self,
        gap_ns: i64,
        len: u32,
        sender_distance_ns: Option<i64>,
    ) -> bool {
        let (gap, bytes) = (saturate(gap_ns), len.saturating_add(HEADER_BYTES));
        let (here, usual) = (
            u64::from(gap) * u64::from(self.bytes),
            u64::from(self.ns) * u64::from(bytes),
        );
        let most_ns = sender_distance_ns.map_or(i64::MAX, |ns| ns.saturating_mul(i64::from(bytes)));
        if gap_ns.saturating_mul(LEAST_FRAME_BYTES) > most_ns {
            return gap_ns > BURST_NS;
        }
        let paused =
            gap_ns > BURST_NS && here > usual.saturating_mul(ANOTHER_PACE) && self.bytes > 0;
        if self.bytes == 0 || here.saturating_mul(ANOTHER_PACE) < usual {
            (self.ns, self.bytes) = (gap, bytes);
        } else if here < usual.saturating_mul(ANOTHER_PACE) {
            (self.ns, self.bytes) = match self.bytes > LINK_MEMORY_BYTES {
                true => (
                    (self.ns / 2).saturating_add(gap),
                    (self.bytes / 2).saturating_add(bytes),
                ),
                false => (
                    self.ns.saturating_add(gap),
                    self.bytes.saturating_add(bytes),
                ),
            };
        }
        paused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 bytes within 2 ms: 500 take no more than one. And an empty segment takes no longer than the way there
    /// and back.
    #[test]
    fn what_came_soon_bounds_what_the_link_takes() {
        let mut link = Link::default();
        assert_eq!(link.most_ns(500), None);
        assert_eq!(link.bound_ns(540, 1_000_000), 10_000_000);
        link.carried(1000, 2_000_000);
        assert_eq!(link.most_ns(500), Some(1_000_000));
        assert_eq!(link.bound_ns(540, 1_000_000), 1_080_000);
        assert_eq!(link.bound_ns(540, 54_000), 540_000);
        // A slower one tells nothing, a swifter one more.
        link.carried(10, 1_000_000);
        assert_eq!(link.most_ns(500), Some(1_000_000));
        link.carried(1000, 500_000);
        assert_eq!(link.most_ns(500), Some(250_000));
    }

    /// Lengths come from headers, which may say anything.
    #[test]
    fn no_length_is_too_much() {
        for len in [1, 1000, u32::MAX - 100, u32::MAX] {
            for gap_ns in [1, 1_000_000, i64::MAX] {
                let mut link = Link::default();
                for _ in 0..3 {
                    link.carried(len, gap_ns);
                    link.follows(gap_ns, len, Some(gap_ns));
                    assert!(link.carries_ns(len) >= 0);
                    assert!(link.bound_ns(len, gap_ns) >= 0);
                }
            }
        }
    }
}
