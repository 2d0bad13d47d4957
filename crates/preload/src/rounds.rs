//! The watchdog's rounds: which sockets it flushes, and when it looks again.

use std::sync::atomic::Ordering::Relaxed;

use crate::contention::Contention;
use crate::holding::Holding;
use crate::reach::{Reach, Used};
use crate::{flush, table};

/// The state of the watchdog's rounds.
pub(crate) struct Rounds {
    deadline_ns: u64,
    reach: Reach,
    contention: Contention,
    last_ns: u64,
}

/// The result of a round.
pub(crate) struct Round {
    /// Whether nothing was held since the last round, but for what was flushed already.
    pub(crate) quiet: bool,
    /// Whether something is held that cannot be accessed.
    pub(crate) unreachable: bool,
    pub(crate) pause_ns: u64,
    /// When something must be flushed once more, if anything must.
    pub(crate) again_ns: Option<u64>,
}

impl Rounds {
    pub(crate) fn begin(deadline_ns: u64, reach: Reach) -> Self {
        Self {
            deadline_ns,
            reach,
            contention: Contention::default(),
            last_ns: 0,
        }
    }

    /// Flushes what is due at `now_ns`; returns what it found, and how long to pause until more may
    /// be due.
    pub(crate) fn patrol(&mut self, now_ns: u64) -> Round {
        let (mut oldest_ns, mut again_ns) = (None, None);
        let mut unreachable = false;
        let deadline_ns = self.deadline_ns.max(1);
        let busy = table::sweep(|fd| {
            let Some(holding) = table::holding(fd) else {
                return false;
            };
            let mark = holding.mark_now();
            let age_ns = now_ns.saturating_sub(mark);
            if mark == 0 {
                return true;
            }
            let is_rescued = holding.is_rescued(mark);
            if !is_rescued && age_ns < deadline_ns {
                oldest_ns = Some(oldest_ns.map_or(mark, |oldest: u64| oldest.min(mark)));
                return true;
            }
            let used = if !is_rescued {
                let contended = self.contention.of(holding.owner.load(Relaxed));
                flush::rescue(fd, holding, mark, contended, self.reach)
            } else if doublings(age_ns, deadline_ns)
                > doublings(self.last_ns.saturating_sub(mark), deadline_ns)
            {
                flush::again(fd, holding, mark, self.reach)
            } else {
                Used::Done
            };
            unreachable |= used == Used::Unreachable;
            let next_ns = (deadline_ns << doublings(age_ns, deadline_ns)).saturating_sub(age_ns);
            again_ns = Some(again_ns.map_or(next_ns, |next: u64| next.min(next_ns)));
            !is_rescued
        });
        self.last_ns = now_ns;
        let due_ns = oldest_ns.map_or(deadline_ns, |oldest| {
            (oldest + deadline_ns).saturating_sub(now_ns)
        });
        Round {
            quiet: !busy,
            unreachable,
            pause_ns: again_ns.map_or(due_ns, |again| again.min(due_ns)),
            again_ns,
        }
    }
}

/// Returns since when the oldest bytes have been held that nobody has flushed, or `now_ns` if that
/// is earlier.
pub(crate) fn oldest(now_ns: u64) -> u64 {
    let mut oldest_ns = now_ns;
    table::sweep(|fd| {
        if let Some(since_ns) = table::holding(fd).map(Holding::held_since)
            && since_ns != 0
        {
            oldest_ns = oldest_ns.min(since_ns);
        }
        true
    });
    oldest_ns
}

/// Returns how often the deadline must be doubled, from one deadline on, to exceed this age: what
/// was flushed is flushed again at 1, 2, 4, 8 deadlines and so on.
fn doublings(age_ns: u64, deadline_ns: u64) -> u32 {
    (u64::BITS - (age_ns / deadline_ns).leading_zeros()).min(30)
}
