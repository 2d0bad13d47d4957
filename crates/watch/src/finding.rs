//! Findings on a live host, in diagnose's terms.

use std::sync::Arc;

use tinygram_stalls::{Case, Cost, Kind, Side, Tier};

use crate::event::{Connection, Reason, Release, Timer, Writer};
use crate::site::CallSite;

/// One stall or one flood, at one end of a connection on this host.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The kind of stall or flood.
    pub kind: Kind,
    /// How sure it is that somebody waited.
    pub tier: Tier,
    /// The part that this host's end had in it.
    pub part: Part,
    /// The connection, seen from this host's end.
    pub connection: Connection,
    /// Which side of the connection this host's end is; see [`crate::who::Processes::side`].
    pub side: Side,
    /// The process at this end.
    pub process: Writer,
    /// When the wait, or the flood, began, in nanoseconds since the epoch.
    pub start_ns: i64,
    /// What it cost.
    pub cost: Cost,
    /// The measurements behind it.
    pub facts: Facts,
    /// The place in the program that wrote the first held octet. It is not known for every write.
    pub call: Option<Arc<CallSite>>,
}

/// The part that this host's end had in a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// It sent the data that was held, or the flood.
    Sent,
    /// It acknowledged the peer's data late.
    AcknowledgedLate,
}

/// The measurements behind a finding.
#[derive(Clone, Debug)]
pub enum Facts {
    /// This host held octets.
    Held {
        /// Octets in the segment that finally left.
        held: u32,
        /// Unacknowledged octets when they were written.
        behind: u32,
        /// Writes that waited; `None` if they are not known.
        writes: Option<u32>,
        /// The reason why they waited.
        reason: Reason,
        /// What released them.
        release: Release,
        /// The part of the cost that the path takes in any case, in nanoseconds; `None` if it is
        /// not known.
        path_ns: Option<i64>,
        /// Whether the thread that wrote slept meanwhile. This is known only when a process tree is
        /// watched.
        slept: bool,
        /// Whether the receiver's timer ended the hold. This is known only when a process tree is
        /// watched.
        timer: Timer,
    },
    /// The peer kept octets until an acknowledgment from this host came.
    LateAck {
        /// Octets that came after it.
        length: u32,
        /// Octets read before it, after the program's last write.
        before: u32,
    },
    /// This host sent many short segments.
    Flood {
        /// Data segments.
        segments: u64,
        /// Writes; `None` if they are not known.
        writes: Option<u64>,
        /// How often the program read after it had written.
        turns: u64,
        /// Payload in octets.
        bytes: u64,
        /// How long it lasted, in nanoseconds.
        lasted_ns: i64,
        /// Data segments that the connection had sent before it was looked at.
        unseen: u64,
    },
}

impl Finding {
    /// Returns which side sent the data.
    #[must_use]
    pub fn sender(&self) -> Side {
        match self.part {
            Part::Sent => self.side,
            Part::AcknowledgedLate => self.side.other(),
        }
    }

    /// Returns the case on which the advice depends.
    #[must_use]
    pub fn case(&self) -> Case {
        let mut case = Case::new(self.kind, self.sender());
        case.mss = self.connection.mss;
        let (local, remote) = (self.connection.local.ip(), self.connection.remote.ip());
        let (sender, receiver) = match self.part {
            Part::Sent => (local, remote),
            Part::AcknowledgedLate => (remote, local),
        };
        (case.sender_address, case.receiver_address) = (Some(sender), Some(receiver));
        case.loopback = local == remote || (local.is_loopback() && remote.is_loopback());
        match self.facts {
            Facts::Held { held, behind, .. } => (case.held, case.flight) = (held, behind),
            Facts::LateAck { length, before } => (case.held, case.flight) = (length, before),
            Facts::Flood { .. } => {}
        }
        case
    }
}

/// Returns which side `connection`'s local end is, as far as the connection itself tells.
pub(crate) fn side(connection: &Connection) -> Side {
    connection.roles().side()
}
