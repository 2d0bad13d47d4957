//! TOGGLE-PROGRAM: TOGGLE by what `tinygram run` sees of a program, which has no acknowledgments: its
//! writes and reads, and when it blocks.
//!
//! A read is to a program what an acknowledgment is to TCP: what was written before has had its effect
//! on the peer. (It need not be the answer, if several requests are under way.) So the first queue is
//! what was written since the last read. The second one, what came and was not read, is only seen when
//! it is read: if the thread has not blocked since it read this connection before, that came while the
//! thread was busy, and has waited for half of that time; if it has blocked, there was nothing to read
//! then, and what came woke it.
//!
//! What holds is Nagle's rule in the kernel, which a program switches with TCP_NODELAY.

use alloc::boxed::Box;

use super::trials::Trials;
use super::{Moment, Offer, Rule, Vars, Verdict};
use crate::offset::Offset;
use crate::queues::QueueAccount;
use crate::time::Instant;

/// The rule, with its memory apart.
#[derive(Clone, Debug, Default)]
pub struct ToggleProgram(Box<Memory>);

#[derive(Clone, Debug, Default)]
struct Memory {
    trials: Trials,
    has_begun: bool,
    /// The octets written before the last read.
    answered: u64,
    /// The octets that the program has read.
    read: u64,
    /// When it read last, if it has not blocked since.
    read_at: Option<Instant>,
    /// Whether it has written since, so that blocking would be told.
    has_written: bool,
}

impl Memory {
    /// Begins with what it is told first: what was written and read before was not seen.
    fn begin(&mut self, vars: &Vars) {
        if !self.has_begun {
            (self.has_begun, self.answered, self.read) = (true, written(vars), vars.read);
        }
    }

    fn wrote(&mut self, vars: &Vars) {
        self.trials.pass(vars.now, [self.answered, self.read]);
        let unanswered = written(vars).saturating_sub(self.answered);
        self.trials.queues[0].change(unanswered, self.answered);
        self.has_written = true;
        self.trials.note(vars);
    }

    fn has_read(&mut self, vars: &Vars) {
        self.trials.pass(vars.now, [self.answered, self.read]);
        self.answered = written(vars);
        self.trials.queues[0].change(0, self.answered);
        let left = vars.read.saturating_sub(self.read);
        let busy_since = self.read_at.filter(|_| self.has_written);
        let waited = busy_since.map_or(0, |since| vars.now.since(since).as_nanos() / 2);
        let area = left.saturating_mul(waited);
        self.trials.queues[1].serve(QueueAccount { area, left });
        self.read = vars.read;
        self.read_at = Some(vars.now);
        self.has_written = false;
        self.trials.note(vars);
    }
}

impl Rule for ToggleProgram {
    fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict {
        self.0.trials.decide(offer, vars)
    }

    fn observe(&mut self, moment: Moment, vars: &Vars) {
        let memory = &mut *self.0;
        match moment {
            Moment::WriteBegan { .. } => memory.begin(vars),
            Moment::ReceiveQueueChanged if !memory.has_begun => memory.begin(vars),
            Moment::ChunkCopied { .. } => memory.wrote(vars),
            Moment::ReceiveQueueChanged if vars.read > memory.read => memory.has_read(vars),
            Moment::AppBlocks { .. } => memory.read_at = None,
            _ => {}
        }
    }

    fn heeds_receiving(&self) -> bool {
        true
    }
}

fn written(vars: &Vars) -> u64 {
    vars.written.since(Offset::FIRST)
}
