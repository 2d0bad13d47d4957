//! What the kernel tells of a socket: its options and its counts.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::order::Figures;

/// What the program, or the system, set on the socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Options {
    pub(crate) nodelay: bool,
    pub(crate) cork: bool,
    /// Whether the receiver acknowledges at once; false means "pingpong" mode, in which it waits
    /// for data to carry the acknowledgment.
    pub(crate) quickack: bool,
    /// The longest an acknowledgment is delayed (`TCP_DELACK_MAX_US`, Linux 6.15).
    pub(crate) delayed_ack_max_us: Option<u32>,
    /// The least retransmission timeout, which also bounds a cork (`TCP_RTO_MIN_US`, Linux 6.15).
    pub(crate) rto_min_us: Option<u32>,
    pub(crate) send_buffer: u32,
    pub(crate) receive_buffer: u32,
}

/// What the kernel counted (`struct tcp_info`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) mss: u32,
    pub(crate) rtt_us: u32,
    pub(crate) min_rtt_us: u32,
    /// The present length of the delayed-acknowledgment timer.
    pub(crate) ack_timeout_us: u32,
    pub(crate) congestion_window: u32,
    pub(crate) data_segments_sent: u32,
    pub(crate) data_segments_received: u32,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) segments_unacknowledged: u32,
    pub(crate) bytes_not_sent: u32,
    /// The time with data on its way.
    pub(crate) busy_us: u64,
}

impl Counts {
    /// Returns the payload per data segment; `None` if none was sent.
    pub(crate) fn bytes_per_segment(&self) -> Option<f64> {
        self.figures().bytes_per_segment()
    }

    /// Returns the figures by which connections are sorted.
    pub(super) fn figures(&self) -> Figures {
        Figures {
            segments: self.data_segments_sent.into(),
            bytes: self.bytes_sent,
            rtt_us: self.rtt_us.into(),
        }
    }
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Every field is named, so that a new field that is forgotten here does not compile.
        let Self {
            mss,
            rtt_us,
            min_rtt_us,
            ack_timeout_us,
            congestion_window,
            data_segments_sent,
            data_segments_received,
            bytes_sent,
            bytes_received,
            segments_unacknowledged,
            bytes_not_sent,
            busy_us,
        } = self;
        let mut fields = serializer.serialize_struct("Counts", 13)?;
        fields.serialize_field("mss", mss)?;
        fields.serialize_field("rtt_us", rtt_us)?;
        fields.serialize_field("min_rtt_us", min_rtt_us)?;
        fields.serialize_field("ack_timeout_us", ack_timeout_us)?;
        fields.serialize_field("congestion_window", congestion_window)?;
        fields.serialize_field("data_segments_sent", data_segments_sent)?;
        fields.serialize_field("data_segments_received", data_segments_received)?;
        fields.serialize_field("bytes_sent", bytes_sent)?;
        fields.serialize_field("bytes_received", bytes_received)?;
        fields.serialize_field("bytes_per_segment", &self.bytes_per_segment())?;
        fields.serialize_field("segments_unacknowledged", segments_unacknowledged)?;
        fields.serialize_field("bytes_not_sent", bytes_not_sent)?;
        fields.serialize_field("busy_us", busy_us)?;
        fields.end()
    }
}
