//! Decides whether a resting watchdog is worth waking: whether the program's answers come fast
//! enough to pay for it.

/// Counts, in windows of 4 ms (`WINDOW_NS`), how often a program would hold a write if the watchdog were
/// awake, and what the program has saved since. All fields are zero for a program that never would.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    /// When the window began.
    pub began_ns: u64,
    /// How often the question was asked in the window.
    pub asked: u64,
    /// Segments saved in all, at the time of the last question.
    pub settled: u64,
    /// Saved segments that have not yet paid for a waking.
    pub credit: u64,
}

impl Pace {
    /// Returns whether to wake the watchdog for one more such write at `now_ns`. `saved` is how
    /// many segments the program has saved in all (writes that joined held bytes).
    ///
    /// A busy program may rest for some milliseconds, because the segments saved before pay for the
    /// next wakings. At least half of the savings remain, however often the program rests.
    ///
    /// For a program that has saved nothing yet, the number of questions in a window decides. The
    /// distance between two questions would mislead: the requests of eight clients at the end of a
    /// long path come together in a burst, and then nothing comes for a round trip.
    pub fn is_worth_waking(&mut self, now_ns: u64, saved: u64) -> bool {
        let lately = saved.saturating_sub(self.settled);
        self.settled = saved;
        self.credit = self.credit.saturating_add(lately).min(MOST_CREDIT);
        if now_ns.saturating_sub(self.began_ns) >= WINDOW_NS {
            self.began_ns = now_ns;
            self.asked = 0;
        }
        self.asked += 1;
        if self.asked >= BUSY_QUESTIONS {
            return true;
        }
        let is_paid_for = self.credit >= WAKING_COSTS;
        if is_paid_for {
            self.credit -= WAKING_COSTS;
        }
        is_paid_for
    }
}

/// An awake watchdog costs some 14 us in a millisecond; a segment less saves 2 to 5 us.
const WINDOW_NS: u64 = 4_000_000;
/// Four questions in a millisecond.
const BUSY_QUESTIONS: u64 = 16;
/// The price of a waking in saved segments. Waking the watchdog costs 40 to 50 us, which is about
/// half of what these segments have saved.
const WAKING_COSTS: u64 = 32;
/// The credit is limited to eight wakings, because old savings do not justify new wakings.
const MOST_CREDIT: u64 = 8 * WAKING_COSTS;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how often `count` questions, `apart_ns` from each other, found the program busy.
    fn busy(pace: &mut Pace, begin_ns: u64, count: u64, apart_ns: u64) -> usize {
        (0..count)
            .filter(|nth| pace.is_worth_waking(begin_ns + nth * apart_ns, 0))
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

    /// The machine interrupts a conversation of 500 answers for five milliseconds after every forty
    /// answers. Only the first sixteen pass.
    #[test]
    fn a_pause_does_not_cost_a_busy_program_sixteen_answers() {
        let mut pace = Pace::default();
        let (mut now_ns, mut saved, mut passed) = (0, 0, 0);
        let mut rests = true;
        for answer in 0..500 {
            now_ns += 60_000;
            if answer % 40 == 39 {
                now_ns += 5_000_000;
                rests = true;
            }
            rests = rests && !pace.is_worth_waking(now_ns, saved);
            if rests {
                passed += 1;
            } else {
                saved += 2;
            }
        }
        assert_eq!(passed, BUSY_QUESTIONS - 1);
    }

    /// Whatever the bursts and rests, wakings that were not due to a busy window cost no more than
    /// half of the savings.
    #[test]
    fn credit_is_never_more_than_what_was_saved() {
        for (burst, each) in [(1, 1), (3, 1), (8, 2), (15, 9), (15, 0)] {
            let mut pace = Pace::default();
            let (mut saved, mut wakings) = (0, 0);
            // Busy once, so that there is a credit to spend.
            for now in 0..100 {
                saved += u64::from(pace.is_worth_waking(now, saved));
            }
            for round in 1..10_000_u64 {
                let mut rests = true;
                for nth in 0..burst {
                    let now_ns = round * 20_000_000 + nth * 30_000;
                    if rests && pace.is_worth_waking(now_ns, saved) {
                        rests = false;
                        wakings += 1;
                    }
                    saved += if rests { 0 } else { each };
                }
            }
            assert!(
                wakings * WAKING_COSTS <= saved,
                "{burst} x {each}: {wakings}, {saved}"
            );
        }
    }
}
