use core::net::IpAddr;

use crate::kind::Kind;
use crate::pieces::Pieces;
use crate::protocol::Protocol;
use crate::side::Side;
use crate::timeout::Timeout;

/// The facts on which advice depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// The kind of finding.
    pub kind: Kind,
    /// The side that sent the held data, or the flood.
    pub sender: Side,
    /// The side that must change something: the sender, except if a receive buffer is too small.
    pub blame: Side,
    /// What the segments before and after the wait were to the application.
    pub pieces: Pieces,
    /// The protocol of the two programs, if known.
    pub protocol: Option<Protocol>,
    /// Bytes in flight during the wait; 0 if unknown.
    pub flight: u32,
    /// The largest segment of the sender, in bytes; 0 if unknown.
    pub mss: u32,
    /// Bytes that were held.
    pub held: u32,
    /// Bytes of the segment before the wait; 0 if unknown.
    pub trigger: u32,
    /// Whether full segments followed that one before the wait (Minshall's rule).
    pub full_between: bool,
    /// Whether the segment before the wait begins a message of the protocol; `None` if unknown.
    pub begun: Option<bool>,
    /// Whether both ends are on one host and talk through its loopback device.
    pub loopback: bool,
    /// The address of the sender, as the capture, or this host, sees it, if known.
    pub sender_address: Option<IpAddr>,
    /// The address of the receiver, as the capture, or this host, sees it, if known.
    pub receiver_address: Option<IpAddr>,
    /// Whether a retransmission timeout before had made the congestion window small.
    pub timeout: Timeout,
}

impl Case {
    /// Returns a case of which only kind and sender are known.
    #[must_use]
    pub fn new(kind: Kind, sender: Side) -> Self {
        Self {
            kind,
            sender,
            blame: sender,
            pieces: Pieces::Unknown,
            protocol: None,
            flight: 0,
            mss: 0,
            held: 0,
            trigger: 0,
            full_between: false,
            begun: None,
            loopback: false,
            sender_address: None,
            receiver_address: None,
            timeout: Timeout::No,
        }
    }
}
