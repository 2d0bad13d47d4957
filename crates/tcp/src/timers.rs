//! When which socket is to be woken.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tinygram_engine::Instant;

/// A heap of alarms. A deadline that moves back leaves its alarm where it is, to be set anew when it
/// goes off: an acknowledgment moves the retransmission timeout with every segment, and that must
/// cost nothing. Those that mean nothing any more are thrown away once they are in the majority.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    alarms: BinaryHeap<Reverse<(Instant, usize)>>,
}

/// So many alarms for each socket are no reason to look through them all.
const PER_SOCKET: usize = 8;

impl Timers {
    /// Returns when the first alarm goes off; `FAR_FUTURE` if none is set.
    #[inline]
    pub(crate) fn first(&self) -> Instant {
        self.alarms
            .peek()
            .map_or(Instant::FAR_FUTURE, |Reverse((at, _))| *at)
    }

    /// Sets an alarm for the socket `key`, whose earliest alarm so far goes off at `armed`; gives
    /// whether that was one more.
    #[inline]
    pub(crate) fn arm(&mut self, key: usize, deadline: Instant, armed: &mut Instant) -> bool {
        let earlier = deadline < *armed;
        if earlier {
            *armed = deadline;
            self.alarms.push(Reverse((deadline, key)));
        }
        earlier
    }

    /// Returns how many alarms there are.
    pub(crate) fn len(&self) -> usize {
        self.alarms.len()
    }

    /// Keeps the alarms of which `matters` says so, each once, if there are many for so many `sockets`:
    /// one that is set for hours ahead, forestalled and set again would be one of thousands.
    pub(crate) fn tidy(&mut self, sockets: usize, matters: impl Fn(Instant, usize) -> bool) {
        if self.alarms.len() > PER_SOCKET * sockets + PER_SOCKET {
            let mut all = std::mem::take(&mut self.alarms).into_vec();
            all.retain(|Reverse((at, key))| matters(*at, *key));
            all.sort_unstable();
            all.dedup();
            self.alarms = all.into();
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
