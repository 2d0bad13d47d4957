//! Undo of needless window reductions: what was deemed lost had only been late, or the
//! retransmission timer was too quick. Three kinds of evidence show it: an echoed timestamp that is
//! older than the retransmission (RFC 3522, section 3.2); DSACKs for everything that was resent
//! (RFC 3708, section 3.3); and, after a timeout, the arrival of data that was not resent (F-RTO,
//! RFC 5682, section 3.1).
//!
//! The undo restores what RFC 9438, section 4.9, names: the window, the threshold and the
//! algorithm's memory. RFC 4015 would set the window to what is in flight (section 3.2, step 4) and
//! restart the timeout from the late round trip (step 7). Linux does neither, and this sender
//! follows Linux.

use crate::offset::{Offset, Span};
use crate::options::Timestamps;
use crate::sender::context::Context;
use crate::sender::window::Saved;
use crate::time::{Duration, Instant};

/// The state before the window was reduced, and what has been reported about the retransmissions
/// since.
#[derive(Clone, Debug)]
pub(crate) struct Undo {
    saved: Saved,
    /// SND.UNA at that time: DSACKs below it report something else.
    marker: Offset,
    /// When the first retransmission left (RetransmitTS).
    resent_at: Option<Instant>,
    /// Retransmissions that no DSACK has reported yet.
    unreported: u64,
    /// Whether at least one retransmission left.
    any: bool,
}

/// The state of F-RTO after a timeout (RFC 5682, section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Frto {
    /// F-RTO is off, or the loss was real.
    #[default]
    Off,
    /// Step 2: waiting for the ACK of the first retransmission.
    Resent,
    /// Step 3: new data has left, and its ACK will decide.
    Probing,
}

/// What an ACK told about a timeout.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Evidence {
    /// Whether something was delivered that had been sent only once, before the timeout.
    pub(crate) original: bool,
    /// Whether a block SACKed something new.
    pub(crate) sacked: bool,
}

impl Undo {
    /// Begins to watch: `saved` is the state before the reduction, and `resent` segments were sent
    /// again before it, whose receipt a DSACK may report.
    pub(crate) fn new(saved: Saved, resent: u64, context: &Context<'_>) -> Self {
        Self {
            saved,
            marker: context.seq.una,
            resent_at: None,
            unreported: resent,
            any: resent > 0,
        }
    }

    /// Counts a retransmission.
    pub(crate) fn resent(&mut self, span: Span, context: &Context<'_>) {
        self.any = true;
        self.resent_at.get_or_insert(context.now);
        self.unreported += span.len().div_ceil(u64::from(context.mss));
    }

    /// Records that a DSACK reports `duplicate` as received twice, in segments of `mss` octets.
    pub(crate) fn reported(&mut self, duplicate: Span, mss: u32) {
        if duplicate.end > self.marker {
            let segments = duplicate.len().div_ceil(u64::from(mss));
            self.unreported = self.unreported.saturating_sub(segments);
        }
    }

    /// Returns the state to go back to.
    pub(crate) fn into_saved(self) -> Saved {
        self.saved
    }

    /// RFC 3522, section 3.2, step 5: returns whether the ACK echoes a timestamp that is older than
    /// RetransmitTS.
    pub(crate) fn echo_is_older(&self, now: Instant, age: Option<Duration>) -> bool {
        let ticks = |time: Instant| time.as_nanos() / Timestamps::TICK.as_nanos();
        let (Some(age), Some(resent_at)) = (age, self.resent_at) else {
            return false;
        };
        age.as_nanos() / Timestamps::TICK.as_nanos() > ticks(now) - ticks(resent_at)
    }

    /// RFC 3708, section 3.3: returns whether DSACKs reported every retransmission.
    pub(crate) fn all_were_duplicates(&self) -> bool {
        self.any && self.unreported == 0
    }
}

impl Frto {
    /// RFC 5682, section 3.1, after a timeout: takes in an ACK. `advanced` says that it advanced
    /// SND.UNA, `new_data` that there is data that was never sent and may leave.
    pub(crate) fn follow(self, advanced: bool, evidence: Evidence, new_data: bool) -> Self {
        match self {
            // Steps 2.a and 2.b.
            Self::Resent if advanced && new_data => Self::Probing,
            Self::Resent if !advanced && !evidence.sacked => Self::Resent,
            // Step 3.a: the loss was real.
            _ => Self::Off,
        }
    }
}
