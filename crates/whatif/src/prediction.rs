//! What a change would do: the figures of the turns as they were seen, as they are replayed, and as they would be.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::conversation::{Conversation, Turn};
use crate::lateness::HostLoad;
use crate::replay::{Chance, Played, play};
use crate::rules::Both;
use crate::spread::{Spread, quantile};

/// A figure with the interval in which nine of ten measurements of as many turns are expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Estimate {
    /// Returns the interval that holds both.
    #[must_use]
    pub fn spanning(self, other: Self) -> Self {
        Self {
            value: f64::midpoint(self.value, other.value),
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    /// Returns the same figure with an interval that holds both.
    #[must_use]
    pub fn widened_by(self, other: Self) -> Self {
        Self {
            value: self.value,
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    /// Returns -1 or 1 if the whole interval lies on that side of zero, else 0.
    #[must_use]
    pub fn sign(self) -> i8 {
        match () {
            () if self.low > 0.0 => 1,
            () if self.high < 0.0 => -1,
            () => 0,
        }
    }
}

/// The figures of turns. A figure is absent if it cannot be told.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// The median of a turn, in milliseconds.
    pub p50_ms: Option<Estimate>,
    /// The 99th percentile, in milliseconds.
    pub p99_ms: Option<Estimate>,
    /// Segments with data for a turn, of both ends.
    pub segments: Option<Estimate>,
    /// Packets of all kinds for a turn.
    pub packets: Option<Estimate>,
    /// Packets of all kinds in a second of one connection.
    pub packets_per_second: Option<Estimate>,
}

/// A conversation with what is known of its ends.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The conversation.
    pub conversation: Conversation,
    /// The rules under which it was seen.
    pub rules: Both,
    /// Which ends are meant.
    pub meant: [bool; 2],
    /// The network namespaces of the ends.
    pub netns: [u32; 2],
}

/// Conversations of one service.
#[derive(Clone, Debug)]
pub struct Service {
    /// Its conversations.
    pub subjects: Vec<Subject>,
    /// The length of a tick of the kernel's clock, in nanoseconds.
    pub tick_ns: u64,
    /// The seed of all that is drawn.
    pub seed: u64,
}

/// What was seen, in milliseconds and segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// How many turns.
    pub turns: usize,
    /// The median.
    pub p50_ms: f64,
    /// The 99th percentile.
    pub p99_ms: f64,
    /// Segments with data for a turn.
    pub segments: f64,
}

/// A replay of all conversations under some rules.
#[derive(Clone, Debug)]
pub struct Replayed {
    host: HostLoad,
    /// By conversation, by run.
    runs: Vec<Vec<Vec<Played>>>,
}

/// A prediction of what some rules do; by default nothing can be told.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prediction {
    /// The figures under these rules.
    pub figures: Figures,
    /// The change of the median against the present rules, in milliseconds.
    pub p50_change_ms: Option<Estimate>,
    /// The change of the 99th percentile.
    pub p99_change_ms: Option<Estimate>,
    /// Whether BBR's rates had not settled when the replays ended: the intervals span those that were played.
    pub is_unsettled: bool,
}

impl Service {
    /// Returns what was seen; `None` if there was no turn.
    #[must_use]
    pub fn seen(&self) -> Option<Seen> {
        let mut lengths: Vec<f64> = self.turns().map(|turn| turn.seen_ns as f64 / 1e6).collect();
        lengths.sort_by(f64::total_cmp);
        let segments: u64 = self.turns().map(|turn| turn.segments).sum();
        Some(Seen {
            turns: lengths.len(),
            p50_ms: quantile(&lengths, 0.5)?,
            p99_ms: quantile(&lengths, 0.99)?,
            segments: segments as f64 / lengths.len() as f64,
        })
    }

    /// Returns the turns of all conversations.
    fn turns(&self) -> impl Iterator<Item = &Turn> {
        let subjects = self.subjects.iter();
        subjects.flat_map(|subject| &subject.conversation.turns)
    }

    /// Replays all conversations, each under the rules that `change` makes of the present ones.
    #[must_use]
    pub fn replay(&self, host: HostLoad, change: impl Fn(&Subject) -> Both) -> Replayed {
        self.replay_each(host, |_, subject| change(subject))
    }

    pub(crate) fn replay_each(
        &self,
        host: HostLoad,
        change: impl Fn(usize, &Subject) -> Both,
    ) -> Replayed {
        let mut dice = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let runs = self.subjects.iter().enumerate().map(|(index, subject)| {
            let rules = change(index, subject);
            let run = |_| {
                let chance = Chance {
                    tick_ns: self.tick_ns,
                    phase_ns: dice.next_u64() % self.tick_ns.max(1),
                    host,
                    draw: dice.next_u64(),
                };
                play(&subject.conversation, &rules, chance)
            };
            (0..RUNS).filter_map(run).collect()
        });
        Replayed {
            host,
            runs: runs.collect(),
        }
    }

    /// Returns the figures of a replay, and how they differ from the replay under the present rules.
    #[must_use]
    pub fn predict(&self, present: &Replayed, changed: &Replayed) -> Prediction {
        let Some(compared) = Compared::of(self, present, changed) else {
            return Prediction::default();
        };
        let at_least_zero = |estimate: Option<Estimate>| {
            estimate.map(|estimate| Estimate {
                low: estimate.low.max(0.0),
                ..estimate
            })
        };
        let figure = |of| at_least_zero(compared.interval(of));
        let change = |of| compared.interval(of);
        Prediction {
            figures: Figures {
                p50_ms: figure(compared.p50(|of| of[1].p50_ms)),
                p99_ms: figure(compared.p99(|of| of[1].p99_ms)),
                segments: figure(compared.count(|of| of[1].segments, |of| of.segments)),
                packets: figure(compared.count(|of| of[1].packets, |of| of.packets)),
                packets_per_second: figure(
                    compared.count(|of| of[1].packets_per_second, |of| of.packets_per_second),
                ),
            },
            p50_change_ms: change(compared.p50(|of| of[1].p50_ms - of[0].p50_ms)),
            p99_change_ms: change(compared.p99(|of| of[1].p99_ms - of[0].p99_ms)),
            is_unsettled: false,
        }
    }
}

/// A replay under the present rules and one under others.
struct Compared {
    seen: Seen,
    /// How far what was seen moved by itself.
    spread: Spread,
    host: HostLoad,
    whole: [Drawn; 2],
    draws: Vec<[Drawn; 2]>,
}

/// A figure of two samples: the present rules' and the others'.
#[derive(Clone, Copy)]
struct Figure {
    value: fn(&[Drawn; 2]) -> f64,
    /// What the replay's miss is a share of.
    base: fn(&Drawn) -> f64,
    /// How far the replay of the present rules is from what was seen, as a share.
    miss: f64,
    /// What a prediction may be off at least by the same miss, in the figure's unit.
    least_miss: f64,
    /// How far what was seen moved by itself.
    spread: f64,
    least_off: f64,
    least_turns: usize,
}

impl Compared {
    fn of(service: &Service, present: &Replayed, changed: &Replayed) -> Option<Self> {
        let mut dice = Xoshiro256PlusPlus::seed_from_u64(service.seed ^ 0xb001);
        Some(Self {
            seen: service.seen()?,
            spread: Spread::of(service.turns()),
            host: present.host,
            whole: [present.sample().figures()?, changed.sample().figures()?],
            draws: (0..DRAWS)
                .map(|_| Replayed::drawn([present, changed], &mut dice))
                .collect(),
        })
    }

    fn p50(&self, value: fn(&[Drawn; 2]) -> f64) -> Figure {
        let (seen_ms, spread) = (self.seen.p50_ms, self.spread.p50_ms);
        self.length(|of| of.p50_ms, seen_ms, spread, LEAST_TURNS, value)
    }

    fn p99(&self, value: fn(&[Drawn; 2]) -> f64) -> Figure {
        let (seen_ms, spread) = (self.seen.p99_ms, self.spread.p99_ms);
        self.length(|of| of.p99_ms, seen_ms, spread, LEAST_FOR_P99, value)
    }

    fn length(
        &self,
        base: fn(&Drawn) -> f64,
        seen_ms: f64,
        spread: f64,
        least_turns: usize,
        value: fn(&[Drawn; 2]) -> f64,
    ) -> Figure {
        let present_ms = base(&self.whole[0]);
        let miss = self.miss(seen_ms, present_ms);
        Figure {
            value,
            base,
            miss,
            // What a path or a timer takes more than it seems stays when a stall goes.
            least_miss: miss * present_ms,
            spread,
            least_off: CLOCK_MS,
            least_turns,
        }
    }

    fn count(&self, value: fn(&[Drawn; 2]) -> f64, base: fn(&Drawn) -> f64) -> Figure {
        // Packets move with the segments.
        let share = base(&self.whole[0]) / self.whole[0].segments;
        Figure {
            value,
            base,
            miss: self.miss(self.seen.segments, self.whole[0].segments),
            least_miss: 0.0,
            spread: self.spread.segments * if share.is_finite() { share } else { 0.0 },
            // One more or less in all turns.
            least_off: 1.0 / self.seen.turns as f64,
            least_turns: LEAST_TURNS,
        }
    }

    /// Returns by which share a replay differs from what was seen. On a quiet host it is not what was seen that is played.
    fn miss(&self, seen: f64, played: f64) -> f64 {
        match self.host {
            HostLoad::AsSeen => (seen - played).abs() / played.max(CLOCK_MS),
            HostLoad::Quiet | HostLoad::Busier => 0.0,
        }
    }

    /// Returns a figure with its interval; `None` if too few turns were seen.
    fn interval(&self, of: Figure) -> Option<Estimate> {
        if self.seen.turns < of.least_turns {
            return None;
        }
        let drawn = self.draws.iter().map(of.value);
        let mut drawn: Vec<f64> = drawn.filter(|one| one.is_finite()).collect();
        drawn.sort_by(f64::total_cmp);
        let value = (of.value)(&self.whole);
        let (low, high) = (quantile(&drawn, MISS)?, quantile(&drawn, 1.0 - MISS)?);
        // What will be measured varies as much as what was seen, by the turns that it happens to have and by the moment.
        let twice = std::f64::consts::SQRT_2;
        let below = (twice * (value - low)).max(of.spread);
        let above = (twice * (high - value)).max(of.spread);
        // As far as the replay is from what was seen, a prediction may be off, too.
        let off = (of.miss * (of.base)(&self.whole[1])).max(of.least_miss) + of.least_off;
        Some(Estimate {
            value,
            low: value - below - off,
            high: value + above + off,
        })
    }
}

/// Turns that were drawn or pooled.
#[derive(Clone, Debug, Default)]
struct Sample {
    /// Sorted.
    lengths_ms: Vec<f64>,
    segments: f64,
    packets: f64,
    seconds: f64,
}

/// The figures of a sample.
#[derive(Clone, Copy, Debug)]
struct Drawn {
    p50_ms: f64,
    p99_ms: f64,
    segments: f64,
    packets: f64,
    packets_per_second: f64,
}

impl Sample {
    fn of<'a>(turns: impl Iterator<Item = &'a Played>) -> Self {
        let mut sample = Self::default();
        for turn in turns {
            sample.lengths_ms.push(turn.length_ns as f64 / 1e6);
            sample.segments += f64::from(turn.segments);
            sample.packets += f64::from(turn.packets);
            sample.seconds += turn.cycle_ns as f64 / 1e9;
        }
        sample.lengths_ms.sort_by(f64::total_cmp);
        sample
    }

    fn figures(&self) -> Option<Drawn> {
        let turns = self.lengths_ms.len() as f64;
        Some(Drawn {
            p50_ms: quantile(&self.lengths_ms, 0.5)?,
            p99_ms: quantile(&self.lengths_ms, 0.99)?,
            segments: self.segments / turns,
            packets: self.packets / turns,
            // Where hosts and programs take nothing this has no bound.
            packets_per_second: self.packets / self.seconds,
        })
    }
}

impl Replayed {
    /// Returns whether the median of a turn is the one that was seen, to 15 % or a quarter of a millisecond.
    #[must_use]
    pub fn agrees_with(&self, seen: &Seen) -> bool {
        let played = quantile(&self.sample().lengths_ms, 0.5);
        played.is_some_and(|played| {
            (played - seen.p50_ms).abs() <= (AGREES * seen.p50_ms).max(AGREES_MS)
        })
    }

    /// Returns by end how many segments of a conversation BBR sees in a round trip: it takes the most of ten
    /// (`bbr_bw_rtts`).
    pub(crate) fn in_flight(&self, conversation: usize) -> [f64; 2] {
        [0, 1].map(|end| {
            let turns = self.runs[conversation].iter().flatten();
            let mut counts: Vec<f64> = turns.map(|turn| f64::from(turn.in_flight[end])).collect();
            counts.sort_by(f64::total_cmp);
            quantile(&counts, 0.9).unwrap_or(1.0).max(1.0)
        })
    }

    /// Returns all turns of all runs.
    fn sample(&self) -> Sample {
        Sample::of(self.runs.iter().flatten().flatten())
    }

    /// Draws conversations anew, of each a run, and of that turns in blocks; the same ones of both replays.
    fn drawn(both: [&Self; 2], dice: &mut Xoshiro256PlusPlus) -> [Drawn; 2] {
        let mut picked: [Vec<&Played>; 2] = [Vec::new(), Vec::new()];
        let count = both[0].runs.len();
        for _ in 0..count {
            let conversation = below(dice, count);
            let runs = both.map(|replayed| &replayed.runs[conversation]);
            if runs.iter().any(|runs| runs.is_empty()) {
                continue;
            }
            let chosen = [
                &runs[0][below(dice, runs[0].len())],
                &runs[1][below(dice, runs[1].len())],
            ];
            let turns = chosen[0].len().min(chosen[1].len());
            let block = (turns / 10).clamp(1, LONGEST_BLOCK);
            for _ in 0..turns.div_ceil(block) {
                let first = below(dice, turns - block + 1);
                for (picked, chosen) in picked.iter_mut().zip(chosen) {
                    picked.extend(&chosen[first..first + block]);
                }
            }
        }
        let none = Drawn {
            p50_ms: f64::NAN,
            p99_ms: f64::NAN,
            segments: f64::NAN,
            packets: f64::NAN,
            packets_per_second: f64::NAN,
        };
        picked.map(|turns| Sample::of(turns.into_iter()).figures().unwrap_or(none))
    }
}

fn below(dice: &mut Xoshiro256PlusPlus, bound: usize) -> usize {
    (dice.next_u64() % bound.max(1) as u64) as usize
}

/// How often each conversation is played, each time with another phase of the kernel's clock.
const RUNS: usize = 4;
const DRAWS: usize = 400;
/// The share of measurements beyond either end of an interval.
const MISS: f64 = 0.05;
/// Fewer turns say nothing of a median.
pub const LEAST_TURNS: usize = 20;
/// Fewer turns say nothing of the 99th percentile.
const LEAST_FOR_P99: usize = 100;
/// How many turns are drawn together at most: they may depend on each other.
const LONGEST_BLOCK: usize = 20;
/// How far the replay's median may be from the one that was seen: as a share, and in milliseconds.
const AGREES: f64 = 0.15;
const AGREES_MS: f64 = 0.25;
/// By how much a program's own clock may differ from the kernel's events: it looks before it calls, and after.
const CLOCK_MS: f64 = 0.02;
