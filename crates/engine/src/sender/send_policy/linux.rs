//! LINUX: Minshall's test on the last small segment sent, under MSG_MORE and autocorking
//! (net/ipv4/tcp_output.c: `tcp_nagle_test`; tcp.c: `tcp_should_autocork`).

use super::{Because, Moment, Offer, Rule, Vars, Verdict, Why};
use crate::offset::Offset;

/// Linux's rule.
#[derive(Clone, Copy, Debug, Default)]
pub struct Linux {
    /// `snd_sml`: the end of the last small segment sent.
    sml: Offset,
    /// Whether an ACK has come since the last piece was copied. MSG_MORE is a flag of the call, and
    /// what an ACK sends no longer knows of it (measured: the tail of a large send leaves early).
    more_forgotten: bool,
}

impl Rule for Linux {
    fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict {
        // MSG_MORE corks for the length of a call.
        if vars.more_to_come && !self.more_forgotten {
            return offer.corked(Why::MoreToCome, vars);
        }
        if vars.device_busy && !vars.idle() {
            return Verdict::hold(Why::DeviceBusy);
        }
        if vars.nodelay {
            Verdict::Send(Because::NoDelay)
        } else if vars.idle() {
            Verdict::Send(Because::Idle)
        } else if self.sml <= vars.una {
            Verdict::Send(Because::NoSmallOutstanding)
        } else {
            Verdict::hold(Why::SmallUnacknowledged)
        }
    }

    fn observe(&mut self, moment: Moment, _: &Vars) {
        match moment {
            Moment::Sent {
                span, short: true, ..
            } => self.sml = span.end,
            Moment::ChunkCopied { .. } => self.more_forgotten = false,
            Moment::AckArrived => self.more_forgotten = true,
            _ => {}
        }
    }

    fn heeds_blocking(&self) -> bool {
        true
    }
}
