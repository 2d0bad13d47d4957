//! Timestamps: they measure round trips although segments were sent twice, and recognise old
//! duplicates by their age (RFC 7323, sections 3 to 5).

use core::cmp::Ordering;

use super::Connection;
use crate::options::Timestamps;
use crate::outbox::Outbox;
use crate::segment::{Flags, Segment};
use crate::time::{Duration, Instant};

/// "TS.Recent is invalidated if it has been idle for more than 24 days" (section 5.5).
const RECENT_LIFE: Duration = Duration::from_secs(24 * 24 * 3600);

/// This side's timestamp clock and what is known of the peer's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    /// Added to the time, so that the clock does not reveal how long a host has been up (section
    /// 7.1).
    offset: u32,
    /// TS.Recent, and when it was learnt.
    recent: u32,
    recent_at: Instant,
}

impl Clock {
    fn value(&self, now: Instant) -> u32 {
        let ticks = now.as_nanos() / Timestamps::TICK.as_nanos();
        (ticks as u32).wrapping_add(self.offset)
    }

    /// Returns how long ago this clock showed `value`; `None` if it has not shown it yet.
    fn age(&self, now: Instant, value: u32) -> Option<Duration> {
        let ticks = self.value(now).wrapping_sub(value);
        let past = ticks < 1 << 31;
        past.then(|| Timestamps::TICK.times(u64::from(ticks)))
    }

    /// Returns whether `value` may be newer than TS.Recent (section 5.2: modulo 2^32).
    fn admits(&self, now: Instant, value: u32) -> bool {
        let older = value.wrapping_sub(self.recent) >= 1 << 31;
        !older || now.since(self.recent_at) > RECENT_LIFE
    }

    pub(super) fn learn(&mut self, now: Instant, value: u32) {
        self.recent = value;
        self.recent_at = now;
    }
}

impl Connection {
    /// Sets the start of this side's timestamp clock. Call it before opening the connection. A
    /// stack uses a secret for each pair of addresses (RFC 7323, section 7.1).
    pub fn set_timestamp_offset(&mut self, offset: u32) {
        self.clock.offset = offset;
    }

    /// Returns the timestamps of a segment that leaves now.
    pub(super) fn timestamps(&self, now: Instant) -> Timestamps {
        Timestamps {
            value: self.clock.value(now),
            echo: self.clock.recent,
        }
    }

    /// Section 5.3, rule R1 (PAWS): returns whether the segment may belong to the present. A
    /// segment that does not is answered and dropped. A segment without timestamps passes, although
    /// section 3.2 would have it dropped: Linux accepts it, and some middleboxes strip timestamps.
    pub(super) fn heed_age(&mut self, now: Instant, segment: &Segment, out: &mut Outbox) -> bool {
        let current = self.is_current(now, segment);
        if !current {
            self.answer_unusable(now, segment, out);
        }
        current
    }

    /// Returns whether PAWS has nothing against the segment.
    #[inline]
    pub(super) fn is_current(&self, now: Instant, segment: &Segment) -> bool {
        let Some(timestamps) = segment.options.timestamps else {
            return true;
        };
        segment.flags.any(Flags::RST.with(Flags::SYN)) || self.clock.admits(now, timestamps.value)
    }

    /// Compares the segment's timestamp with TS.Recent, if both sides have a timestamp clock.
    pub(super) fn against_recent(&self, segment: &Segment) -> Option<Ordering> {
        let timestamps = segment.options.timestamps?;
        let ahead = timestamps.value.wrapping_sub(self.clock.recent) as i32;
        self.agreed.timestamps.then(|| ahead.cmp(&0))
    }

    /// Section 4.3: takes TS.Recent from an acceptable segment that does not begin beyond what was
    /// acknowledged. Returns how long ago the echoed timestamp was sent.
    #[inline]
    pub(super) fn take_timestamps(&mut self, now: Instant, segment: &Segment) -> Option<Duration> {
        if !self.agreed.timestamps {
            return None;
        }
        let timestamps = segment.options.timestamps?;
        let newer = self.clock.admits(now, timestamps.value);
        if newer && segment.seq <= self.receiver.last_ack_sent() {
            self.clock.learn(now, timestamps.value);
        }
        self.clock.age(now, timestamps.echo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_wrap() {
        let mut clock = Clock::default();
        let day = Duration::from_secs(24 * 3600);
        clock.learn(Instant::ZERO, u32::MAX - 1);
        assert!(clock.admits(Instant::ZERO, 3));
        assert!(!clock.admits(Instant::ZERO, u32::MAX - 2));
        assert!(!clock.admits(Instant::ZERO + day.times(24), u32::MAX - 2));
        assert!(clock.admits(Instant::ZERO + day.times(25), u32::MAX - 2));
    }

    #[test]
    fn an_echo_of_the_future_is_none() {
        let clock = Clock {
            offset: u32::MAX,
            ..Clock::default()
        };
        let now = Instant::ZERO + Duration::from_millis(10);
        assert_eq!(clock.value(now), 9);
        assert_eq!(clock.age(now, 5), Some(Duration::from_millis(4)));
        assert_eq!(clock.age(now, u32::MAX), Some(Duration::from_millis(10)));
        assert_eq!(clock.age(now, 10), None);
    }
}
