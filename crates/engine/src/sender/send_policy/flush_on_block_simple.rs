//! FLUSH-ON-BLOCK-SIMPLE: DLDET without its limits, for a stack whose timers cost nothing.
//!
//! Runts are gathered until the thread that wrote is about to block on *anything* (a read, a poll,
//! a sleep, another socket), and then leave at once. The three objections to DLDET (section 5.6.1
//! of Mogul & Minshall) do not apply: an event-driven program blocks in poll; a program that
//! answers on another socket blocks there; and a reader that always waits has written nothing, so
//! it flushes nothing.
//!
//! It holds whatever the program's habit, and the only cost it counts is time. FLUSH-ON-BLOCK also
//! weighs what holding from outside costs a program.

use super::{Because, BlockedOn, Moment, Offer, Rule, Vars, Verdict, Why};
use crate::offset::Offset;
use crate::time::{Duration, Instant};

/// The longest hold for a thread that neither writes nor blocks: it computes.
const WATCHDOG: Duration = Duration::from_millis(1);
/// The longest hold for a thread that continues to write small pieces.
const PATIENCE: Duration = Duration::from_millis(10);

/// Our own variant, used by the `modern` profile.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlushOnBlockSimple {
    /// Everything written before this offset may leave.
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
            // A writer without space has not finished. Full segments will leave as space becomes
            // free; a runt now would tear its message.
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
