//! How a sender finds losses and repairs them: by acknowledgments alone, or with a scoreboard.

mod by_acks;
mod rack;
mod rate_reduction;
mod report;
mod resend;
mod scoreboard;
mod selective;
mod tail_probe;
mod undo;
mod view;

use alloc::boxed::Box;

use super::context::Context;
use crate::extensions::{Extensions, Sack};
use crate::offset::Offset;
use crate::time::Instant;
use by_acks::ByAcks;
use selective::Selective;

pub(crate) use by_acks::Progress;
pub use report::Acked;
pub(crate) use report::Report;
pub(crate) use resend::Resend;
pub(crate) use selective::Reach;
pub(crate) use tail_probe::TailProbe;
pub use view::{LossState, LossView};

/// The state of loss recovery.
#[derive(Clone, Debug)]
pub(super) enum Loss {
    /// Acknowledgments alone show losses (RFC 5681, RFC 6582).
    ByAcks(ByAcks),
    /// Both sides permitted SACK (RFC 6675, RFC 8985).
    Scoreboard(Box<Selective>),
}

impl Loss {
    /// Returns the state before the handshake.
    pub(super) fn new(extensions: &Extensions) -> Self {
        Self::ByAcks(ByAcks::new(extensions.limited_transmit))
    }

    /// Takes in what SACK is used for, if both SYNs permitted it.
    pub(super) fn permit_sack(&mut self, sack: Option<&Sack>, extensions: &Extensions) {
        match (sack, &self) {
            (Some(sack), _) => *self = Self::Scoreboard(Box::new(Selective::new(sack))),
            (None, Self::ByAcks(_)) => {}
            (None, Self::Scoreboard(_)) => *self = Self::new(extensions),
        }
    }

    /// Returns one past the last octet that the window `cwnd`, in octets, allows. Sending does not
    /// move it, unless a scoreboard counts what the network carries.
    #[inline]
    pub(super) fn window_end(&self, cwnd: u64, context: &Context<'_>) -> Offset {
        match self {
            Self::ByAcks(by_acks) => context.seq.una + cwnd + by_acks.limited_transmit(),
            Self::Scoreboard(selective) => context.seq.nxt + selective.room(cwnd, context.mss),
        }
    }

    /// Returns the octets that the network is believed to carry.
    pub(super) fn in_network(&self, context: &Context<'_>) -> u64 {
        match self {
            Self::ByAcks(_) => context.seq.outstanding(),
            Self::Scoreboard(selective) => selective.pipe(),
        }
    }

    /// Returns whether everything in flight is believed to arrive in order.
    pub(super) fn arrives_in_order(&self) -> bool {
        match self {
            Self::ByAcks(by_acks) => by_acks.is_quiet(),
            Self::Scoreboard(selective) => selective.arrives_in_order(),
        }
    }

    /// Returns when the first segment left that `ack` acknowledges, if a scoreboard knows it and
    /// none of these segments was sent twice.
    #[inline]
    pub(super) fn first_left(&self, ack: Offset) -> Option<Instant> {
        match self {
            Self::ByAcks(_) => None,
            Self::Scoreboard(selective) => selective.first_left(ack),
        }
    }

    /// Returns what is believed about the flight. Without a scoreboard only the state is known, and
    /// how many full-sized segments are outstanding.
    pub(super) fn view(&self, context: &Context<'_>) -> LossView {
        match self {
            Self::ByAcks(by_acks) => by_acks.view(context),
            Self::Scoreboard(selective) => selective.view(),
        }
    }
}
