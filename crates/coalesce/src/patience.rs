//! Decides how often the watchdog looks: seldom at a program that flushes by itself.

/// How long the watchdog's rounds are. A timer of a millisecond on another CPU can slow the answers
/// of a busy program on an idle machine, so rounds in which nothing had to be rescued make the next
/// ones longer, up to [`LONGEST`] deadlines. One rescue, or one late flush that a long round did not
/// see, makes them as short as the deadline again, and doubles the number of good rounds that it
/// takes to make them longer.
///
/// All zeros is a program of which nothing is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Patience {
    /// Rounds without a rescue, at the present length.
    rounds: u16,
    /// How often the deadline is doubled.
    doublings: u8,
    /// How often the patience was disappointed, up to [`MOST_SETBACKS`].
    setbacks: u8,
}

impl Patience {
    /// Returns how long the next round may be: the longest time for which a byte may be held.
    #[must_use]
    pub fn round_ns(self, deadline_ns: u64) -> u64 {
        deadline_ns.saturating_mul(1 << self.doublings)
    }

    /// Notes a round in which something was held, and nothing for longer than the deadline.
    pub fn grows(&mut self) {
        if self.doublings >= MOST_DOUBLINGS {
            return;
        }
        self.rounds += 1;
        if self.rounds >= GOOD_ROUNDS << self.setbacks {
            self.rounds = 0;
            self.doublings += 1;
        }
    }

    /// Notes that something was held for longer than the deadline.
    pub fn is_disappointed(&mut self) {
        self.rounds = 0;
        self.doublings = 0;
        self.setbacks = (self.setbacks + 1).min(MOST_SETBACKS);
    }
}

/// So many rounds without a rescue double the next ones.
const GOOD_ROUNDS: u16 = 16;
const MOST_DOUBLINGS: u8 = 4;
/// After so many setbacks a doubling takes 1024 rounds.
const MOST_SETBACKS: u8 = 6;
/// The longest round in deadlines.
pub const LONGEST: u64 = 1 << MOST_DOUBLINGS;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_flushes_by_itself_is_looked_at_sixteen_times_less_often() {
        let mut patience = Patience::default();
        assert_eq!(patience.round_ns(1_000), 1_000);
        for _ in 0..4 * GOOD_ROUNDS {
            patience.grows();
        }
        assert_eq!(patience.round_ns(1_000), 16_000);
        patience.grows();
        assert_eq!(patience.round_ns(1_000), LONGEST * 1_000);
    }

    /// A program that is late again and again has short rounds nearly always.
    #[test]
    fn a_setback_makes_rounds_short_and_the_way_back_longer() {
        let mut patience = Patience::default();
        let mut rounds_until_long = || {
            patience.is_disappointed();
            assert_eq!(patience.round_ns(1_000), 1_000);
            (1..)
                .find(|_| {
                    patience.grows();
                    patience.round_ns(1_000) > 1_000
                })
                .unwrap_or(0)
        };
        let needed: [u32; 8] = std::array::from_fn(|_| rounds_until_long());
        assert_eq!(needed, [32, 64, 128, 256, 512, 1024, 1024, 1024]);
    }

    #[test]
    fn whatever_happens_no_round_is_longer_than_the_bound() {
        let mut patience = Patience::default();
        for step in 0..200_000_u32 {
            if step.is_multiple_of(7_919) {
                patience.is_disappointed();
            } else {
                patience.grows();
            }
            assert!(patience.round_ns(1_000) <= LONGEST * 1_000);
            assert!(patience.round_ns(1_000) >= 1_000);
        }
        assert_eq!(patience.round_ns(u64::MAX), u64::MAX);
    }
}
