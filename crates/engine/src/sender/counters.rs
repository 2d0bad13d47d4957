//! The counters of a sender. Every result about efficiency is based on them.

use super::send_policy::Why;

/// Counts since the connection began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments that carried data, retransmissions included.
    pub data_segments: u64,
    /// Data segments below the MSS.
    pub short_segments: u64,
    /// Octets of data in all data segments.
    pub data_octets: u64,
    /// Segments that carried data sent before.
    pub retransmitted_segments: u64,
    /// Segments without data.
    pub empty_segments: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast retransmits: recoveries that did not begin with a timeout.
    pub fast_retransmits: u64,
    /// Tail loss probes.
    pub tail_probes: u64,
    /// Window reductions that proved needless and were undone.
    pub undone_reductions: u64,
    /// Runts held, by reason: see [`Counters::held`] and
    /// [`Sender::holds`](super::Sender::holds). A runt that several passes hold for one reason counts once.
    pub holds: [u64; Why::COUNTED],
}

impl Counters {
    /// Returns the sum of both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let mut holds = self.holds;
        for (sum, more) in holds.iter_mut().zip(other.holds) {
            *sum += more;
        }
        Self {
            data_segments: self.data_segments + other.data_segments,
            short_segments: self.short_segments + other.short_segments,
            data_octets: self.data_octets + other.data_octets,
            retransmitted_segments: self.retransmitted_segments + other.retransmitted_segments,
            empty_segments: self.empty_segments + other.empty_segments,
            timeouts: self.timeouts + other.timeouts,
            fast_retransmits: self.fast_retransmits + other.fast_retransmits,
            tail_probes: self.tail_probes + other.tail_probes,
            undone_reductions: self.undone_reductions + other.undone_reductions,
            holds,
        }
    }

    /// Returns how often a runt was held for this reason.
    #[must_use]
    pub fn held(&self, why: Why) -> u64 {
        self.holds[why.place()]
    }
}
