//! The phase of loss recovery.

use crate::offset::Offset;

/// What is being repaired or reduced, and until which offset is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Open,
    /// The window is being reduced for a mark (RFC 3168; Linux: CWR).
    Reducing(Offset),
    /// Fast recovery; the offset is RecoveryPoint.
    FastRecovery(Offset),
    /// After a timeout; the offset is the end of what was sent before it.
    AfterTimeout(Offset),
    /// What was too large for the path is being sent again in smaller segments; the window stays (RFC
    /// 1191, section 6.5; RFC 4821, section 7.6.2; Linux: `tcp_simple_retransmit`). Another loss, or
    /// a mark, does reduce it.
    Resegmenting(Offset),
}

impl Phase {
    /// Returns whether something lost is being resent.
    pub(super) fn repairs(self) -> bool {
        matches!(
            self,
            Self::FastRecovery(_) | Self::AfterTimeout(_) | Self::Resegmenting(_)
        )
    }

    /// Returns whether the window is being reduced, so that it does not grow.
    pub(super) fn reduces(self) -> bool {
        matches!(self, Self::Reducing(_) | Self::FastRecovery(_))
    }

    /// Returns whether the window has not been reduced in this phase, so that a mark reduces it.
    pub(super) fn heeds_a_mark(self) -> bool {
        matches!(self, Self::Open | Self::Resegmenting(_))
    }

    /// Returns whether this is fast recovery.
    pub(super) fn is_fast_recovery(self) -> bool {
        matches!(self, Self::FastRecovery(_))
    }

    /// Returns whether the loss that a timeout indicated is being repaired.
    pub(super) fn is_after_timeout(self) -> bool {
        matches!(self, Self::AfterTimeout(_))
    }

    /// Returns whether the phase ends with the acknowledgment of what is below `ack`.
    pub(super) fn ends_with(self, ack: Offset) -> bool {
        match self {
            Self::Open => false,
            Self::Reducing(end)
            | Self::FastRecovery(end)
            | Self::AfterTimeout(end)
            | Self::Resegmenting(end) => ack >= end,
        }
    }
}
