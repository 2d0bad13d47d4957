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
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// Runts kept back, by reason; a runt that is kept at several passes for one reason counts once.
    pub holds: [u64; Why::ALL.len()],
}

impl Counters {
    /// How often a runt was kept back for this reason.
    #[must_use]
    pub fn held(&self, why: Why) -> u64 {
        self.holds[why as usize]
    }
}
