//! What was read of the logs and what it would cost, as data: Mogul & Minshall's Table 1 for them.

use serde::Serialize;

/// All results. The field order is that of the JSON document.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Prevalence {
    /// The lines that were read.
    pub(super) log: Log,
    /// Table 1: one entry per MSS and MCLBYTES.
    pub(super) shares: Vec<Share>,
    /// One entry per policy and MSS; empty if nothing was simulated.
    pub(super) costs: Vec<Cost>,
}

/// The lines that were read, all logs taken together.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Log {
    /// All lines.
    pub(super) lines: u64,
    /// Lines that are not a response.
    pub(super) unreadable: u64,
    /// Lines that are a response.
    pub(super) responses: u64,
    /// Responses with a body, which Table 1 counts.
    pub(super) with_body: u64,
    /// Responses without a body: answers to HEAD.
    pub(super) head: u64,
    /// Responses without a body: status 304.
    pub(super) not_modified: u64,
    /// Responses without a body: a size of `-` or 0.
    pub(super) empty: u64,
    /// Octets of all bodies.
    pub(super) body_bytes: u64,
    /// The number of different body sizes.
    pub(super) distinct_sizes: u64,
    /// The earliest time, UTC (RFC 3339); absent if there are no responses.
    pub(super) first: Option<String>,
    /// The latest time.
    pub(super) last: Option<String>,
    /// The days that the logs cover, each from its earliest to its latest time; overlaps count
    /// once.
    pub(super) days: f64,
}

/// An entry of Table 1.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Share {
    /// The MSS, in octets.
    pub(super) mss: u16,
    /// MCLBYTES, in octets; absent if the test for it is ignored.
    pub(super) mclbytes: Option<u64>,
    /// Responses that the paper's model delays.
    pub(super) delayed: u64,
    /// Delayed responses, in percent of the responses with a body; absent if there are none.
    pub(super) share_percent: Option<f64>,
    /// Delayed responses, in percent of all responses.
    pub(super) share_of_all_percent: Option<f64>,
}

/// What the responses took in the simulator.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Cost {
    /// The send policy's name.
    pub(super) policy: String,
    /// The MSS, in octets.
    pub(super) mss: u16,
    /// The simulated kernel's copying unit, in octets; absent if it has none.
    pub(super) mclbytes: Option<u64>,
    /// Responses that came noticeably later than if nothing is held.
    pub(super) delayed: u64,
    /// Delayed responses, in percent of the responses with a body; absent if there are none.
    pub(super) delayed_percent: Option<f64>,
    /// The sum of the delays, in seconds.
    pub(super) stall_s: f64,
    /// `stall_s` per day of the log; absent if the log has no length in time.
    pub(super) stall_s_per_day: Option<f64>,
    /// Data segments of all responses with a body.
    pub(super) segments: u64,
    /// `segments` per day of the log; absent if the log has no length in time.
    pub(super) segments_per_day: Option<f64>,
}
