//! Which connections are closed whose end was not reported: walks over the sockets did not meet them.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// What walks over the sockets did not meet. A walk may skip a socket before Linux 6.17, so closed is what two walks did not meet.
pub(super) struct Missed {
    /// How many ends had not been reported when the last walk was made.
    lost_ends: u64,
    /// What the last walk did not meet, if another one is to confirm it.
    sockets: BTreeSet<u64>,
    /// When to walk though no end is known to be lost: another program may have turned the reports off.
    next: Instant,
}

impl Missed {
    pub(super) fn since(now: Instant) -> Self {
        Self {
            lost_ends: 0,
            sockets: BTreeSet::new(),
            next: now + SELDOM,
        }
    }

    /// Returns whether to walk over the sockets.
    pub(super) fn is_walk_due(&self, lost_ends: u64, now: Instant) -> bool {
        self.is_reason(lost_ends, now) || !self.sockets.is_empty()
    }

    /// Returns whether there is a reason for a walk besides the last one.
    fn is_reason(&self, lost_ends: u64, now: Instant) -> bool {
        lost_ends != self.lost_ends || now >= self.next
    }

    /// Takes in what a walk did not meet, with the count and the time before it, and returns what is closed.
    pub(super) fn take_in(
        &mut self,
        unmet: BTreeSet<u64>,
        lost_ends: u64,
        now: Instant,
    ) -> BTreeSet<u64> {
        let before = std::mem::take(&mut self.sockets);
        let (closed, new) = unmet
            .into_iter()
            .partition(|cookie| before.contains(cookie));
        // Each walk on a busy server misses what closed a moment before, of which a report comes: if a walk that only confirms
        // kept them, too, no walk would be the last.
        if self.is_reason(lost_ends, now) {
            self.sockets = new;
            self.lost_ends = lost_ends;
            self.next = now + SELDOM;
        }
        closed
    }
}

/// How long after a walk another one is made though no end is known to be lost.
const SELDOM: Duration = Duration::from_mins(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "some point in time is needed")]
    fn now() -> Instant {
        Instant::now()
    }

    /// Walks as long as one is due, each of which does not meet `gone` and what closed a moment before. Returns how many walks
    /// there were, and what is closed.
    fn walks(missed: &mut Missed, gone: u64, lost_ends: u64, now: Instant) -> (u64, BTreeSet<u64>) {
        let (mut count, mut closed) = (0, BTreeSet::new());
        while missed.is_walk_due(lost_ends, now) && count < 100 {
            count += 1;
            let unmet = BTreeSet::from([gone, 1000 + count]);
            closed.extend(missed.take_in(unmet, lost_ends, now));
        }
        (count, closed)
    }

    #[test]
    fn a_second_walk_confirms_and_is_the_last_on_a_busy_server() {
        let now = now();
        let mut missed = Missed::since(now);
        assert!(!missed.is_walk_due(0, now));
        assert_eq!(walks(&mut missed, 7, 1, now), (2, [7].into()));
        assert_eq!(walks(&mut missed, 8, 1, now), (0, [].into()));
        assert_eq!(walks(&mut missed, 8, 3, now), (2, [8].into()));
    }

    #[test]
    fn an_end_that_is_lost_while_it_is_confirmed_is_found_as_well() {
        let now = now();
        let mut missed = Missed::since(now);
        assert!(missed.take_in([7].into(), 1, now).is_empty());
        assert_eq!(missed.take_in([7, 8].into(), 2, now), [7].into());
        assert!(missed.is_walk_due(2, now));
        assert_eq!(missed.take_in([8].into(), 2, now), [8].into());
        assert!(!missed.is_walk_due(2, now));
    }

    #[test]
    fn it_is_walked_now_and_then_though_no_end_is_known_to_be_lost() {
        let now = now();
        let mut missed = Missed::since(now);
        assert_eq!(walks(&mut missed, 7, 0, now + SELDOM / 2), (0, [].into()));
        assert_eq!(walks(&mut missed, 7, 0, now + SELDOM), (2, [7].into()));
        assert_eq!(walks(&mut missed, 8, 0, now + SELDOM), (0, [].into()));
    }
}
