//! FLUSH-ON-BLOCK-SIMPLE: DLDET without its limits, for a stack whose timers cost nothing.
//!
//! Runts are gathered until the thread that wrote is about to block on *anything* (a read, a poll,
//! a sleep, another socket) and then leave at once. The three objections to DLDET (section 5.6.1
//! of Mogul & Minshall) fall away: an event-driven program blocks in poll, a program that answers
//! on another socket blocks there, and a reader that always waits never wrote, so it flushes
//! nothing.
//!
//! It holds whatever the program's habit, and knows no cost of its own but time. What a program pays
//! that is made to do so from outside is FLUSH-ON-BLOCK's to weigh.

use super::{Because, BlockedOn, Moment, Offer, Rule, Vars, Verdict, Why};
use crate::offset::Offset;
use crate::time::{Duration, Instant};

/// A thread that neither writes nor blocks for this long computes: its data goes.
const WATCHDOG: Duration = Duration::from_millis(1);
/// A thread that goes on writing driblets has its data held no longer than this.
const PATIENCE: Duration = Duration::from_millis(10);

/// Our own variant, as the `modern` profile has it.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlushOnBlockSimple {
    /// All that was written before this offset is to go.
    flushed: Offset,
    last_write: Instant,
}

impl Rule for FlushOnBlockSimple {
    fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict {
        let since = offer.held_since.unwrap_or(vars.now);
        let until = (self.last_write + WATCHDOG).min(since + PATIENCE);
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
            Moment::ChunkCopied { .. } => self.last_write = vars.now,
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

    fn heeds_blocking(&self) -> bool {
        true
    }
}
