//! Queues and how long an octet waits in them: by Little's law the mean time that an octet spends in a
//! queue is the queue's area over time, divided by the octets that left it.

use core::fmt;

use crate::time::Duration;

/// A queue of octets, with its area over time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Queue {
    octets: u64,
    /// All octets that ever left it.
    left: u64,
    account: QueueAccount,
}

/// A queue's area, in octets times nanoseconds, and the octets that left it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueAccount {
    /// The area.
    pub area: u64,
    /// The octets.
    pub left: u64,
}

impl Queue {
    /// Says how many octets have left it in all, of which none count.
    pub(crate) fn begin(&mut self, left: u64) {
        self.left = left;
    }

    /// Lets time pass in which it does not change.
    pub(crate) fn pass(&mut self, time: Duration) {
        let area = self.octets.wrapping_mul(time.as_nanos());
        self.account.area = self.account.area.wrapping_add(area);
    }

    /// Takes note that `octets` are in the queue now, and that `left` have left it in all.
    pub(crate) fn change(&mut self, octets: u64, left: u64) {
        let more = left.saturating_sub(self.left);
        self.account.left = self.account.left.wrapping_add(more);
        (self.octets, self.left) = (octets, left);
    }

    /// Takes note of octets that have left it, and of the area that they had there.
    pub(crate) fn serve(&mut self, account: QueueAccount) {
        self.account.add(account);
    }

    /// Returns the area and the octets since the last account, which ends here.
    pub(crate) fn take_account(&mut self) -> QueueAccount {
        core::mem::take(&mut self.account)
    }
}

impl QueueAccount {
    /// Adds another one.
    pub(crate) fn add(&mut self, other: Self) {
        self.area = self.area.saturating_add(other.area);
        self.left = self.left.saturating_add(other.left);
    }

    /// Returns how long an octet waited, in nanoseconds; `None` if none left.
    #[must_use]
    pub fn wait(self) -> Option<u64> {
        self.area.checked_div(self.left)
    }
}

/// The counters of one of an end's queues since the connection began, as an option carries them: both
/// wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounter {
    /// The area in units of 2^20 octets times nanoseconds, about an octet for a millisecond: a queue of
    /// 4 MiB goes once round in a second.
    pub area: u32,
    /// The octets that left the queue.
    pub left: u32,
}

/// The counters of an end's three queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounters {
    /// What was written and is not acknowledged.
    pub unacknowledged: QueueCounter,
    /// What was received and is not read.
    pub unread: QueueCounter,
    /// What was received and this end has not acknowledged: the time for which it delays ACKs.
    pub delayed: QueueCounter,
}

/// The bits of an area that its counter leaves out.
const UNIT: u32 = 20;

impl QueueCounter {
    /// Returns what passed between `earlier` and this.
    #[must_use]
    pub fn since(self, earlier: Self) -> QueueAccount {
        QueueAccount {
            area: u64::from(self.area.wrapping_sub(earlier.area)) << UNIT,
            left: self.left.wrapping_sub(earlier.left).into(),
        }
    }
}

impl QueueCounters {
    /// Nothing was counted.
    pub const NONE: Self = {
        let none = QueueCounter { area: 0, left: 0 };
        Self {
            unacknowledged: none,
            unread: none,
            delayed: none,
        }
    };

    /// Returns whether these may be later than `earlier`: ACKs overtake each other, and no queue gives
    /// back what left it. (Each count is compared modulo 2^32.)
    #[must_use]
    pub fn may_follow(&self, earlier: &Self) -> bool {
        let counts = |it: &Self| [it.unacknowledged.left, it.unread.left, it.delayed.left];
        let pairs = counts(self).into_iter().zip(counts(earlier));
        let mut ahead = pairs.map(|(late, early)| late.wrapping_sub(early));
        ahead.all(|octets| octets < 1 << 31)
    }
}

impl From<&Queue> for QueueCounter {
    fn from(queue: &Queue) -> Self {
        Self {
            area: (queue.account.area >> UNIT) as u32,
            left: queue.account.left as u32,
        }
    }
}

impl fmt::Display for QueueCounters {
    /// Writes area and octets of each queue: `counters 7/100 3/200 0/200`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("counters")?;
        let all = [self.unacknowledged, self.unread, self.delayed];
        let mut each = all.iter();
        each.try_for_each(|QueueCounter { area, left }| write!(f, " {area}/{left}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    #[test]
    fn an_octet_waits_for_the_area_over_what_left() {
        let mut queue = Queue::default();
        queue.change(100, 0);
        queue.pass(MILLISECOND);
        queue.change(0, 100);
        queue.pass(MILLISECOND.times(7));
        assert_eq!(queue.take_account().wait(), Some(1_000_000));
        assert_eq!(queue.take_account().wait(), None);
    }

    /// Counters are differences of what wraps: a queue that has had 2^64 units and more tells the same.
    #[test]
    fn counters_that_wrap_tell_what_passed_between_them() {
        let mut queue = Queue {
            octets: 0,
            left: u64::from(u32::MAX) - 7,
            account: QueueAccount {
                area: u64::MAX - 5,
                left: u64::from(u32::MAX) - 7,
            },
        };
        let before = QueueCounter::from(&queue);
        queue.change(4096, u64::from(u32::MAX) + 93);
        queue.pass(MILLISECOND.times(1024));
        let passed = QueueCounter::from(&queue).since(before);
        assert_eq!(passed.left, 100);
        let area = 4096 * 1024 * 1_000_000;
        assert!(passed.area.abs_diff(area) <= 1 << UNIT, "{}", passed.area);
    }

    #[test]
    fn what_was_overtaken_follows_nothing() {
        let report = |left: u32| QueueCounters {
            unread: QueueCounter { area: 0, left },
            ..QueueCounters::default()
        };
        assert!(report(100).may_follow(&report(100)));
        assert!(report(3).may_follow(&report(u32::MAX)));
        assert!(!report(99).may_follow(&report(100)));
    }
}
