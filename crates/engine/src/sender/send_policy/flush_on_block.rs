//! FLUSH-ON-BLOCK: DLDET without its limits.
//!
//! Runts are gathered until the thread that wrote is about to block on *anything* (a read, a poll,
//! a sleep, another socket) and then leave at once. The three objections to DLDET (section 5.6.1
//! of Mogul & Minshall) fall away: an event-driven program blocks in poll, a program that answers
//! on another socket blocks there, and a reader that always waits never wrote, so it flushes
//! nothing.

use super::{Because, BlockedOn, Moment, Offer, Rule, Vars, Verdict, Why};
use crate::offset::Offset;
use crate::time::Duration;

/// A thread that computes without blocking holds its data back no longer than this.
const WATCHDOG: Duration = Duration::from_millis(1);

/// Our own variant.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlushOnBlock {
    /// All that was written before this offset is to go.
    flushed: Offset,
}

impl Rule for FlushOnBlock {
    fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict {
        let until = offer.held_since.unwrap_or(vars.now) + WATCHDOG;
        if offer.span.start < self.flushed {
            Verdict::Send(Because::Blocked)
        } else if vars.now >= until {
            Verdict::Send(Because::HeldLongEnough)
        } else {
            Verdict::Hold {
                why: Why::WriterRuns,
                until: Some(until),
            }
        }
    }

    fn observe(&mut self, moment: Moment, vars: &Vars) {
        match moment {
            // A writer without space has not finished: full segments will go as space comes
            // free, and a runt now would tear its message.
            Moment::AppBlocks {
                on: BlockedOn::Write,
                ..
            } if !vars.idle() => {}
            Moment::AppBlocks { wrote: true, .. } => self.flushed = vars.written,
            _ => {}
        }
    }
}
