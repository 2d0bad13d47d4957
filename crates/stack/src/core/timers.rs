//! When which socket is to be woken.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tinygram_engine::Instant;

/// A heap of alarms. A deadline that moves back leaves its alarm where it is, to be set anew when it
/// goes off: an acknowledgment moves the retransmission time-out with every segment, and that must
/// cost nothing.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    alarms: BinaryHeap<Reverse<(Instant, usize)>>,
}

impl Timers {
    /// When the first alarm goes off; `FAR_FUTURE` if none is set.
    #[inline]
    pub(crate) fn first(&self) -> Instant {
        self.alarms
            .peek()
            .map_or(Instant::FAR_FUTURE, |Reverse((at, _))| *at)
    }

    /// Sets an alarm for the socket `key`, whose earliest alarm so far goes off at `armed`.
    #[inline]
    pub(crate) fn arm(&mut self, key: usize, deadline: Instant, armed: &mut Instant) {
        if deadline < *armed {
            *armed = deadline;
            self.alarms.push(Reverse((deadline, key)));
        }
    }

    /// Takes an alarm that has gone off: when it was set for, and for whom. The socket may be gone
    /// or have been woken by an earlier one.
    pub(crate) fn due(&mut self, now: Instant) -> Option<(Instant, usize)> {
        let Reverse((at, key)) = *self.alarms.peek()?;
        (at <= now).then(|| {
            self.alarms.pop();
            (at, key)
        })
    }
}
