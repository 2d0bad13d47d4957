//! What a sender counted. The efficiency axis of every result comes from here.

use super::send_policy::Why;

/// Counts since the connection began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments that carried data, retransmissions included.
    pub data_segments: u64,
    /// Those below the MSS.
    pub short_segments: u64,
    /// Octets of data they carried.
    pub data_octets: u64,
    /// Segments that carried data sent before.
    pub retransmitted_segments: u64,
    /// Segments without data.
    pub empty_segments: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
    /// Fast retransmits: recoveries that a time-out did not begin.
    pub fast_retransmits: u64,
    /// Tail loss probes.
    pub tail_probes: u64,
    /// Reductions of the window that proved needless and were taken back.
    pub undone_reductions: u64,
    /// Runts kept back, by reason; a runt that is kept at several passes for one reason counts once.
    pub holds: [u64; Why::ALL.len()],
}

impl Counters {
    /// Both added up.
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

    /// Returns how often a runt was kept back for this reason.
    #[must_use]
    pub fn held(&self, why: Why) -> u64 {
        self.holds[why as usize]
    }
}
