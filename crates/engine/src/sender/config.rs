//! The rules of a sender.

use super::congestion::{Congestion, restart::IdleRestart};
use super::rtt::RtoRules;
use super::send_policy::SendPolicy;

/// The rules of a sender, in octets unless said otherwise.
#[derive(Clone, Debug)]
pub struct SenderConfig {
    /// The largest segment to send; the peer's MSS option may lower it.
    pub mss: u32,
    /// The send buffer (`so_snd.sb_hiwat`).
    pub buffer: u64,
    /// The policy that decides about runts.
    pub policy: SendPolicy,
    /// Whether MORE applies whatever the policy (Mogul & Minshall's kernel, as its results show).
    pub more_in_every_variant: bool,
    /// MCLBYTES, which some policies look at.
    pub cluster: u64,
    /// The congestion control algorithm.
    pub congestion: Congestion,
    /// What an idle period does to the congestion window.
    pub idle_restart: IdleRestart,
    /// The congestion window after the handshake.
    pub initial_cwnd: u64,
    /// The initial `ssthresh`, which is also the bound of `cwnd` (fast recovery may exceed it while
    /// it lasts, RFC 5681, section 3.2).
    pub cwnd_cap: u64,
    /// The bounds of the retransmission timeout.
    pub rto: RtoRules,
}
