//! The tail loss probe. If the last segments of a flight are lost, only a timeout would show it. A
//! probe after two round trips causes an ACK that shows it earlier (RFC 8985, section 7).

use crate::offset::Offset;
use crate::time::Duration;

/// How long the peer may delay the ACK of a single segment (section 7.2; Linux: TCP_RTO_MIN).
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
/// The timeout of the probe before anything was measured (section 7.2).
const WITHOUT_SRTT: Duration = Duration::from_secs(1);

/// TLP.end_seq and TLP.is_retrans of a probe that is on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TailProbe {
    /// SND.NXT when it left.
    pub(crate) end_seq: Offset,
    /// Whether it repeated a segment.
    pub(crate) is_retrans: bool,
}

/// What an ACK tells about the probe on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing yet.
    Pending,
    /// Nothing was lost.
    NothingLost,
    /// The probe repaired the loss of the last segment.
    Repaired,
}

/// The contents of an ACK that matter to a probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Met {
    pub(crate) ack: Offset,
    /// Whether it acknowledged or SACKed something new.
    pub(crate) news: bool,
    /// The end of a range that a DSACK reports as received twice.
    pub(crate) duplicate_end: Option<Offset>,
}

impl TailProbe {
    /// Section 7.4.2 (TLP_process_ack).
    pub(crate) fn outcome(&self, met: &Met) -> Outcome {
        if met.ack < self.end_seq {
            return Outcome::Pending;
        }
        if !self.is_retrans || met.duplicate_end == Some(self.end_seq) {
            return Outcome::NothingLost;
        }
        if met.ack > self.end_seq {
            return Outcome::Repaired;
        }
        if !met.news {
            // A duplicate ACK without SACK: both copies arrived.
            return Outcome::NothingLost;
        }
        Outcome::Pending
    }
}

/// Section 7.2 (TLP_calc_PTO). Linux's tick on top is for round trips below its clock's resolution.
pub(crate) fn probe_timeout(srtt: Option<Duration>, alone: bool, tick: Duration) -> Duration {
    let Some(srtt) = srtt else {
        return WITHOUT_SRTT;
    };
    let delayed = if alone { MAX_ACK_DELAY } else { Duration::ZERO };
    srtt.times(2) + delayed + tick
}
