//! What a sender believes about its flight, as callers see it.

use crate::time::Duration;

/// What the sender believes about its flight, for callers that show the state of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossView {
    /// The phase of loss recovery.
    pub state: LossState,
    /// Segments that are not acknowledged yet.
    pub outstanding: u32,
    /// Outstanding segments that the peer holds beyond a hole.
    pub sacked: u32,
    /// Outstanding segments that are deemed lost and not resent yet.
    pub lost: u32,
    /// Outstanding segments that were resent and may be on their way.
    pub retransmitted: u32,
    /// The farthest that the network reordered segments so far, in octets.
    pub reordering: u64,
    /// How often acknowledgments showed reordering.
    pub reorderings: u32,
    /// The least round trip of the last five minutes, if RACK measures it
    /// ([`LossDetection::RackTlp`](crate::extensions::LossDetection::RackTlp)).
    pub min_rtt: Option<Duration>,
}

/// The phase of loss recovery, in Linux's terms (`tcpi_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossState {
    /// No loss or reordering is suspected.
    #[default]
    Open,
    /// Something came out of order; the cause is not known yet.
    Disorder,
    /// The window is being reduced because the network reported congestion.
    Reducing,
    /// A loss is being repaired.
    Recovery,
    /// After a retransmission timeout, or after the path did not take what was sent.
    Loss,
}
