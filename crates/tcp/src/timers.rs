//! Alarms: which socket is to be woken when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tinygram_engine::Instant;

/// A heap of alarms. When a deadline moves back, its alarm stays and is set anew when it goes off:
/// every acknowledgment moves the retransmission timeout, and that must cost nothing. Outdated
/// alarms are removed once they are the majority.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    alarms: BinaryHeap<Reverse<(Instant, usize)>>,
}

/// The alarms per socket up to which outdated ones are not searched for.
const PER_SOCKET: usize = 8;

impl Timers {
    /// Returns when the first alarm goes off; `FAR_FUTURE` if none is set.
    #[inline]
    pub(crate) fn first(&self) -> Instant {
        self.alarms
            .peek()
            .map_or(Instant::FAR_FUTURE, |Reverse((at, _))| *at)
    }

    /// Sets an alarm for the socket `key`, whose earliest alarm so far goes off at `armed`; returns
    /// whether it added one.
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

    /// Keeps each alarm for which `matters` is true once, if there are many for this number of
    /// `sockets`. Otherwise an alarm that is set for hours ahead, replaced and set again could
    /// leave thousands.
    pub(crate) fn tidy(&mut self, sockets: usize, matters: impl Fn(Instant, usize) -> bool) {
        if self.alarms.len() > PER_SOCKET * sockets + PER_SOCKET {
            let mut all = std::mem::take(&mut self.alarms).into_vec();
            all.retain(|Reverse((at, key))| matters(*at, *key));
            all.sort_unstable();
            all.dedup();
            self.alarms = all.into();
        }
    }

    /// Removes and returns an alarm that has gone off: its time and its socket. The socket may be
    /// gone, or an earlier alarm may have woken it.
    pub(crate) fn due(&mut self, now: Instant) -> Option<(Instant, usize)> {
        let Reverse((at, key)) = *self.alarms.peek()?;
        (at <= now).then(|| {
            self.alarms.pop();
            (at, key)
        })
    }
}
