//! FLUSH-ON-BLOCK: what `tinygram run` does to a program's sockets, decided by the same predictor
//! (`tinygram-coalesce`).
//!
//! If the socket's habit suggests that more will follow, runts are gathered until the thread that
//! wrote is about to block on *anything*; otherwise they leave at once, as under TCP_NODELAY. The
//! write that completes the usual number sends all of them. If a thread neither writes nor blocks,
//! a watchdog sends what it has left.
//!
//! Two things belong to a process in `run` and to a connection here: the rate at which a resting
//! watchdog is worth waking, and the habit with which a service's next connection begins (here:
//! none). And nobody tells the engine of a poll that finds work, so bytes older than 200 us stay
//! held across such a poll.

use tinygram_coalesce::{Decision, Habit, Memory, Pace, Rules, Write};

use super::{Because, BlockedOn, Moment, Offer, Rule, Vars, Verdict, Why};
use crate::offset::Offset;
use crate::time::{Duration, Instant};

/// The predictor, and what it cannot observe itself.
#[derive(Clone, Copy, Debug)]
pub struct FlushOnBlock {
    rules: Rules,
    memory: Memory,
    pace: Pace,
    /// Writes that joined held bytes: the segments saved.
    merged: u64,
    /// The start of the write under way.
    began: Offset,
    /// Everything written before this offset may leave.
    flushed: Offset,
    /// Whether the thread has not blocked since the last write.
    interval_runs: bool,
    last_copied: Instant,
    /// The time since when something has been held.
    held_since: Option<Instant>,
    /// The time until which the watchdog is awake.
    watched_until: Instant,
}

impl Default for FlushOnBlock {
    fn default() -> Self {
        Self::with(Rules::default())
    }
}

impl FlushOnBlock {
    /// Returns the policy that holds from the first write on, and however rare the answers are
    /// (`run --eager`).
    #[must_use]
    pub fn eager() -> Self {
        Self::with(Rules {
            eager: true,
            ..Rules::default()
        })
    }

    fn with(rules: Rules) -> Self {
        Self {
            rules,
            memory: Habit::default().fresh(&rules),
            pace: Pace::default(),
            merged: 0,
            began: Offset::default(),
            flushed: Offset::default(),
            interval_runs: false,
            last_copied: Instant::ZERO,
            held_since: None,
            watched_until: Instant::ZERO,
        }
    }

    /// Decides whether to hold a completed write.
    fn judge(&mut self, vars: &Vars) {
        let write = Write {
            len: vars.written.since(self.began) as usize,
            same_interval: self.interval_runs || self.held_since.is_some(),
        };
        self.interval_runs = true;
        if self.held_since.is_some() {
            self.merged += 1;
        }
        let decision = self.memory.on_write(&self.rules, write);
        let is_overdue = decision == Decision::Hold
            && self.held_since.is_some_and(|since| {
                let age = vars.now.since(since);
                self.memory.is_overdue(&self.rules, || age.as_nanos())
            });
        if is_overdue {
            self.flush(vars);
        } else if decision == Decision::Hold && self.is_watched(write, vars.now) {
            self.held_since.get_or_insert(vars.now);
            self.watched_until = vars.now + self.watchdog().times(ROUNDS_AWAKE);
        } else {
            if decision == Decision::Hold {
                self.memory.passes_after_all();
            }
            self.flush(vars);
        }
    }

    /// Returns whether the watchdog is awake, or worth waking.
    fn is_watched(&mut self, write: Write, now: Instant) -> bool {
        let (pace, merged) = (&mut self.pace, self.merged);
        now < self.watched_until
            || self.memory.is_worth_waking(&self.rules, write, || {
                pace.is_worth_waking(now.as_nanos(), merged)
            })
    }

    fn flush(&mut self, vars: &Vars) {
        self.flushed = vars.written;
        self.held_since = None;
    }

    fn watchdog(&self) -> Duration {
        Duration::from_nanos(self.rules.watchdog_ns)
    }
}

impl Rule for FlushOnBlock {
    fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict {
        let until = self.held_since.unwrap_or(self.last_copied) + self.watchdog();
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
            Moment::WriteBegan { resumed: false } => self.began = vars.written,
            Moment::ChunkCopied { more_to_come, .. } => {
                self.last_copied = vars.now;
                if !more_to_come {
                    self.judge(vars);
                }
            }
            // A writer without space has not finished. Full segments will leave as space becomes
            // free; a runt now would tear its message.
            Moment::AppBlocks {
                on: BlockedOn::Write,
                ..
            } if !vars.idle() => {}
            Moment::AppBlocks { wrote: true, .. } => {
                self.interval_runs = false;
                self.flush(vars);
            }
            Moment::Sent {
                because: Because::HeldLongEnough,
                ..
            } if self.held_since.is_some() => {
                self.memory.on_rescue(false);
                self.interval_runs = false;
                self.flush(vars);
            }
            _ => {}
        }
    }

    fn heeds_blocking(&self) -> bool {
        true
    }
}

/// The number of looks that the watchdog takes after the last hold before it rests.
const ROUNDS_AWAKE: u64 = 2;
