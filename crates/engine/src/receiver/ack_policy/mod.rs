//! ACK policies: when a receiver acknowledges.
//!
//! A policy is asked when data arrives in order and after the application has read. Out-of-order
//! data is acknowledged at once whatever the policy (RFC 5681, section 4.2). The [`AckTimer`] says
//! how long an ACK may wait, unless the policy names a deadline itself.

mod back_to_back;
mod bytes_consumed;
mod custom;
mod every_second;
mod every_segment;
mod inference;
mod linux;
mod registry;
mod reverse_data;
mod timer;

use crate::offset::Offset;
use crate::time::Instant;

pub use bytes_consumed::BytesConsumed;
pub use custom::Custom;
pub use linux::{Jiffies, Linux, LinuxKnobs};
pub use registry::{AckPolicy, Installed, Registered};
pub use timer::{AckTimer, SlowTick};

/// The receiver's variables as an ACK policy sees them, in octets unless said otherwise.
#[derive(Clone, Copy, Debug)]
pub struct AckView {
    /// The time of this call.
    pub now: Instant,
    /// RCV.NXT.
    pub nxt: Offset,
    /// The acknowledgment number last sent.
    pub acked: Offset,
    /// The right edge of the window last advertised (BSD's `rcv_adv`).
    pub advertised: Offset,
    /// The right edge that could be advertised now.
    pub could_advertise: Offset,
    /// The octets that the application has not read yet.
    pub unread: u64,
    /// The size of the receive buffer (`so_rcv.sb_hiwat`).
    pub capacity: u64,
    /// The octets of data in a full-sized segment of the peer.
    pub mss: u32,
}

impl AckView {
    /// Returns how far an ACK now would move the window's right edge.
    #[must_use]
    pub fn advance(&self) -> u64 {
        self.could_advertise.since(self.advertised)
    }
}

/// Data that arrived in order.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Octets of data in the segment.
    pub len: u32,
    /// Where the segment ends.
    pub end: Offset,
    /// Whether it carried PSH.
    pub push: bool,
}

/// A policy's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckVerdict {
    /// Acknowledge at once.
    Now,
    /// Acknowledge when the [`AckTimer`] says so, or with the next segment that goes out.
    Delay,
    /// Acknowledge at this time, or with the next segment that goes out.
    DelayUntil(Instant),
    /// Change nothing.
    Nothing,
}

/// The other moments that a receiver tells its policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AckMoment {
    /// A segment went out that carried an acknowledgment.
    AckSent {
        /// Whether it also carried data.
        with_data: bool,
    },
    /// The delayed ACK's timer expired.
    TimerFired,
    /// The application set or cleared TCP_QUICKACK.
    QuickAck(
        /// Whether ACKs are to be quick from now on.
        bool,
    ),
}

/// The methods of an ACK policy.
pub trait Rule {
    /// Returns what tables and traces call a rule of your own; those of the list have the list's names.
    fn name(&self) -> &str {
        "custom"
    }

    /// Decides when data has arrived in order.
    fn on_arrival(&mut self, arrival: &Arrival, view: &AckView) -> AckVerdict;

    /// Decides when the application has read.
    fn on_read(&mut self, view: &AckView) -> AckVerdict {
        window_update(view)
    }

    /// Decides when the peer's FIN has arrived in order, with the last of its data or alone, and
    /// that data is not yet acknowledged.
    fn on_fin(&mut self, arrival: &Arrival, view: &AckView) -> AckVerdict {
        let _ = (arrival, view);
        AckVerdict::Now
    }

    /// Takes note of a moment.
    fn observe(&mut self, moment: AckMoment, view: &AckView) {
        let _ = (moment, view);
    }
}

/// RFC 1122, section 4.2.3.3: announces a window that grew by two segments or half the buffer.
fn window_update(view: &AckView) -> AckVerdict {
    let advance = view.advance();
    if advance >= 2 * u64::from(view.mss) || 2 * advance >= view.capacity {
        AckVerdict::Now
    } else {
        AckVerdict::Nothing
    }
}

/// Does the same, but only if the peer was left with less than a segment's room: policies that
/// acknowledge on arrival need no second ACK when the application catches up.
fn reopening(view: &AckView) -> AckVerdict {
    let left = view.advertised.since(view.nxt);
    if left < u64::from(view.mss) {
        window_update(view)
    } else {
        AckVerdict::Nothing
    }
}
