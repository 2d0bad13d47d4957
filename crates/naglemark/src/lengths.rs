//! How long the answers are.

use std::sync::Arc;

use serde::Serialize;
use tinygram_sim::dice::{Dice, Purpose};

use crate::trial::TrialType;

/// How the answers' lengths are chosen, in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// In the trial types `s` and `S`.
    pub series: Series,
    /// In the trial types `r` and `R`.
    pub random: Random,
}

/// Fixed increments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Series {
    /// The shortest.
    pub from: u32,
    /// The longest, if a step hits it.
    pub to: u32,
    /// Between one length and the next; at least 1.
    pub step: u32,
    /// How many transfers; the series begins again when it is used up.
    pub transfers: u32,
}

/// A uniform distribution, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Random {
    /// The shortest.
    pub from: u32,
    /// The longest.
    pub to: u32,
    /// How many transfers.
    pub transfers: u32,
    /// So many transfers in a row share a length; at least 1. "The length can be chosen either once
    /// per request, or once for all the requests" (section 6).
    #[serde(skip)]
    pub run: u32,
}

impl Lengths {
    /// The paper's: 100 to 100,000 octets by 100, or 1000 random ones from 1 to 100,000 (section 7).
    pub const PAPER: Self = Self {
        series: Series {
            from: 100,
            to: 100_000,
            step: 100,
            transfers: 1000,
        },
        random: Random {
            from: 1,
            to: 100_000,
            transfers: 1000,
            run: 1,
        },
    };

    /// Returns the same length, in octets, for each of so many transfers of the trial types `s` and `S`.
    #[must_use]
    pub const fn fixed(octets: u32, transfers: u32) -> Self {
        Self {
            series: Series {
                from: octets,
                to: octets,
                step: 1,
                transfers,
            },
            ..Self::PAPER
        }
    }

    /// Returns the lengths of a trial's transfers, in order.
    #[must_use]
    pub fn draw(&self, trial_type: TrialType, seed: u64) -> Arc<[u32]> {
        if trial_type.is_random() {
            self.random.draw(seed)
        } else {
            self.series.draw()
        }
    }

    /// Returns every `each`-th of them, beginning in the middle of the first such stretch; of random ones so many
    /// fewer.
    pub(crate) fn thinned(&self, each: u32) -> Self {
        let Self { series, random } = *self;
        let last = (series.to - series.from) / series.step * series.step + series.from;
        Self {
            series: Series {
                from: last.min(
                    series
                        .from
                        .saturating_add((each / 2).saturating_mul(series.step)),
                ),
                step: series.step.saturating_mul(each),
                transfers: series.transfers.div_ceil(each),
                ..series
            },
            random: Random {
                transfers: random.transfers.div_ceil(each),
                ..random
            },
        }
    }

    /// Returns how many transfers a trial of this type makes.
    #[must_use]
    pub const fn transfers(&self, trial_type: TrialType) -> u32 {
        if trial_type.is_random() {
            self.random.transfers
        } else {
            self.series.transfers
        }
    }
}

impl Series {
    fn draw(&self) -> Arc<[u32]> {
        let once = (self.from..=self.to).step_by(self.step as usize);
        once.cycle().take(self.transfers as usize).collect()
    }
}

impl Random {
    fn draw(&self, seed: u64) -> Arc<[u32]> {
        let mut dice = Dice::new(seed, Purpose::Lengths);
        let choices = u64::from(self.to - self.from) + 1;
        let mut length = 0;
        (0..self.transfers)
            .map(|transfer| {
                if transfer % self.run == 0 {
                    length = self.from + dice.below(choices) as u32;
                }
                length
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_begins_again_and_random_lengths_come_in_runs() {
        let series = Series {
            from: 100,
            to: 350,
            step: 100,
            transfers: 5,
        };
        assert_eq!(series.draw()[..], [100, 200, 300, 100, 200]);
        let random = Random {
            from: 1,
            to: 1_000_000,
            transfers: 6,
            run: 3,
        };
        let drawn = random.draw(1);
        assert_eq!((drawn[0], drawn[3]), (drawn[2], drawn[5]));
        assert_ne!(drawn[0], drawn[3]);
        assert_ne!(drawn, random.draw(2));
    }
}
