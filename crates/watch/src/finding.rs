//! What is found on a live host, in diagnose's words.

use std::sync::Arc;

use tinygram_diagnose::{Case, Cost, Kind, Side, Tier};

use crate::event::{Connection, Reason, Release, Writer};
use crate::site::CallSite;

/// One stall, or one flood, of one end of a connection on this host.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What it is.
    pub kind: Kind,
    /// How sure it is that somebody waited.
    pub tier: Tier,
    /// What this host's end did.
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
    /// Where in the program the first held octet was written; not every write is looked at.
    pub call: Option<Arc<CallSite>>,
}

/// Which part this host's end had in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// It sent the data that was held, or the flood.
    Sent,
    /// It acknowledged late what the peer had sent.
    AcknowledgedLate,
}

/// What was measured.
#[derive(Clone, Debug)]
pub enum Facts {
    /// Octets held by this host.
    Held {
        /// Octets in the segment that left at last.
        held: u32,
        /// Octets on the way when they were written.
        behind: u32,
        /// Writes that waited; none if they are not known.
        writes: Option<u32>,
        /// What kept them.
        reason: Reason,
        /// What let them go.
        release: Release,
        /// Of the cost, what the path takes in any case, in nanoseconds; none if it is not known.
        path_ns: Option<i64>,
        /// The thread that wrote slept meanwhile; known of a process tree alone.
        slept: bool,
    },
    /// Octets that the peer kept until an acknowledgment of this host's came.
    LateAck {
        /// Octets that came behind it.
        length: u32,
        /// Octets read before it, since the program had written.
        before: u32,
    },
    /// Many short segments.
    Flood {
        /// Data segments.
        segments: u64,
        /// Writes; none if they are not known.
        writes: Option<u64>,
        /// Times at which the program read after it had written.
        turns: u64,
        /// Payload in octets.
        bytes: u64,
        /// How long it lasted, in nanoseconds.
        lasted_ns: i64,
    },
}

impl Finding {
    /// Who sent the data in question.
    #[must_use]
    pub fn sender(&self) -> Side {
        match self.part {
            Part::Sent => self.side,
            Part::AcknowledgedLate => self.side.other(),
        }
    }

    /// Returns the case that advice is asked about.
    #[must_use]
    pub fn case(&self) -> Case {
        let mut case = Case::new(self.kind, self.sender());
        case.mss = self.connection.mss;
        match self.facts {
            Facts::Held { held, behind, .. } => (case.held, case.flight) = (held, behind),
            Facts::LateAck { length, before } => (case.held, case.flight) = (length, before),
            Facts::Flood { .. } => {}
        }
        case
    }
}

/// Returns which side `connection`'s local end is, by the ports alone: the server has the lower one.
pub(crate) fn side(connection: &Connection) -> Side {
    match connection.local.port() < connection.remote.port() {
        true => Side::Server,
        false => Side::Client,
    }
}
