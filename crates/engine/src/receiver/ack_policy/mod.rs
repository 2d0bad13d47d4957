//! ACK policies: when a receiver says what it has got.
//!
//! A policy is asked when data arrives in order and after the application has read; out-of-order
//! data is acknowledged at once whatever the policy (RFC 5681, section 4.2). How long an ACK may
//! wait is the [`AckTimer`]'s business, unless the policy names a deadline itself.

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
pub use registry::{AckPolicy, Installed, Registered};
pub use timer::{AckTimer, SlowTick};

/// The receiver's variables as an ACK policy sees them. Octets, unless said otherwise.
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
    /// What the application has not read yet.
    pub unread: u64,
    /// The size of the receive buffer (`so_rcv.sb_hiwat`).
    pub capacity: u64,
    /// The data of a full-sized segment of the peer's.
    pub mss: u32,
}

impl AckView {
    /// By how much an ACK now would move the window's right edge.
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

/// What a policy says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckVerdict {
    /// Acknowledge at once.
    Now,
    /// Acknowledge when the [`AckTimer`] says so, or with the next segment that goes out.
    Delay,
    /// Acknowledge at this time, or with the next segment that goes out.
    DelayUntil(Instant),
    /// Nothing changes.
    Nothing,
}

/// What a receiver tells its policy besides.
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
    /// The application said whether ACKs are to be quick from here on (TCP_QUICKACK).
    QuickAck(
        /// They are.
        bool,
    ),
}

/// An ACK policy's methods.
pub trait Rule {
    /// Data arrived in order.
    fn on_arrival(&mut self, arrival: &Arrival, view: &AckView) -> AckVerdict;

    /// The application has read.
    fn on_read(&mut self, view: &AckView) -> AckVerdict {
        window_update(view)
    }

    /// The peer's FIN arrived in order, with the last of its data or alone; what it ends was not
    /// acknowledged yet.
    fn on_fin(&mut self, arrival: &Arrival, view: &AckView) -> AckVerdict {
        let _ = (arrival, view);
        AckVerdict::Now
    }

    /// Takes note.
    fn observe(&mut self, moment: AckMoment, view: &AckView) {
        let _ = (moment, view);
    }
}

/// RFC 1122, section 4.2.3.3: announce a window that grew by two segments or half the buffer.
fn window_update(view: &AckView) -> AckVerdict {
    let advance = view.advance();
    if advance >= 2 * u64::from(view.mss) || 2 * advance >= view.capacity {
        AckVerdict::Now
    } else {
        AckVerdict::Nothing
    }
}

/// The same, but only where the peer was left with less than a segment's room: policies that
/// acknowledge on arrival need no second ACK when the application catches up.
fn reopening(view: &AckView) -> AckVerdict {
    let left = view.advertised.since(view.nxt);
    if left < u64::from(view.mss) {
        window_update(view)
    } else {
        AckVerdict::Nothing
    }
}
