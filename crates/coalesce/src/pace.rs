//! Whether a program is busy: whether its answers come fast enough to pay for a watchdog.

/// Counts, in windows of [`WINDOW_NS`], how often a program would hold a write if the watchdog were
/// awake. All zero is a program that never would.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    /// When the window began.
    pub began_ns: u64,
    /// Questions in it.
    pub asked: u64,
}

impl Pace {
    /// One more such write at `now_ns`; is the program busy?
    ///
    /// Not by the distance of two: eight clients at the end of a long path, whose requests come
    /// together, are a burst and then nothing for a round trip.
    pub fn is_busy(&mut self, now_ns: u64) -> bool {
        if now_ns.saturating_sub(self.began_ns) >= WINDOW_NS {
            *self = Self {
                began_ns: now_ns,
                asked: 0,
            };
        }
        self.asked += 1;
        self.asked >= BUSY_QUESTIONS
    }
}

/// An awake watchdog costs some 14 us a millisecond, a segment saves 2 to 5.
const WINDOW_NS: u64 = 4_000_000;
/// Four a millisecond.
const BUSY_QUESTIONS: u64 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    /// How often `count` questions, `apart_ns` from each other, found the program busy.
    fn busy(pace: &mut Pace, begin_ns: u64, count: u64, apart_ns: u64) -> usize {
        (0..count)
            .filter(|nth| pace.is_busy(begin_ns + nth * apart_ns))
            .count()
    }

    #[test]
    fn a_steady_stream_is_busy_and_a_burst_is_not() {
        let mut pace = Pace::default();
        assert!(busy(&mut pace, 1_000, 1_000, 20_000) > 900);
        let mut pace = Pace::default();
        for burst in 0..100 {
            assert_eq!(busy(&mut pace, burst * 20_000_000, 8, 30_000), 0);
        }
        assert_eq!(busy(&mut Pace::default(), 0, 1_000, 300_000), 0);
    }
}
