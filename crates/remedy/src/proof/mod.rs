//! The proof: whether a remedy helps the sockets that have it, by periods with it and without it.
//!
//! Periods come in pairs, and which of the two has the remedy is drawn; or a pair is one period of two halves of the clients,
//! and which of the halves has it is drawn ([`crate::split`]). Either way chance alone may as well have given the other
//! one the remedy, which is what the randomisation test asks. A remedy is kept only if turns are stalled for a shorter time
//! beyond chance, and the bad ends of the intervals of answers a second and of their times are above [`BAD_END`]. There are at
//! most three looks at the figures, which share the probability of a mistake.

pub mod statistics;

use std::time::Duration;

use statistics::{Pair, PairFigures};

/// What the figures are taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofVerdict {
    /// The remedy helps, and harms nothing.
    Kept,
    /// It sends more segments than were allowed.
    TooManySegments,
    /// Something became worse.
    Harms,
    /// Turns are not stalled for a shorter time.
    NoEffect,
    /// Too little was seen.
    CannotTell,
    /// It helps, and another remedy, which was tried, too, helps more.
    OtherIsBetter,
    /// It helps, and by now other connections use what it changes.
    Shared,
}

/// What is asked of a remedy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// How many more data segments a turn may take, as a share: 1.0 is twice as many.
    pub most_extra_segments: f64,
}

/// Returns what is decided after so many pairs; `None` if more are needed.
#[must_use]
pub fn decide(pairs: &[Pair], demand: Demand, seed: u64) -> (PairFigures, Option<ProofVerdict>) {
    let figures = PairFigures::of(pairs, MISS, seed);
    let is_last = pairs.len() >= LOOKS[LOOKS.len() - 1];
    let less = figures.stalled_ms.high < 0.0 && figures.chance <= MISS;
    let ends = [figures.rate, figures.p50, figures.p99];
    // Few late turns make the 99th percentile, and drawing pairs anew takes such an interval too narrow: so harm, too, must
    // be beyond chance.
    let mut worse = ends.iter().zip(figures.worse);
    let verdict = if worse.any(|(ratio, chance)| ratio.high < BAD_END && chance <= MISS) {
        Some(ProofVerdict::Harms)
    } else if less && extra_segments(&figures) > demand.most_extra_segments {
        Some(ProofVerdict::TooManySegments)
    } else if less && ends.iter().all(|ratio| ratio.low > BAD_END) {
        Some(ProofVerdict::Kept)
    } else if is_last && !less && figures.turns.iter().all(|turns| *turns >= FEWEST_TURNS) {
        Some(ProofVerdict::NoEffect)
    } else {
        is_last.then_some(ProofVerdict::CannotTell)
    };
    (figures, verdict)
}

/// Returns how many more segments a turn takes with the remedy, as a share.
#[must_use]
pub fn extra_segments(figures: &PairFigures) -> f64 {
    let [with, without] = figures.segments;
    match without > 0.0 {
        true => with / without - 1.0,
        false => 0.0,
    }
}

/// Returns how long each period lasts, after so many stalls a second: long enough for a few.
#[must_use]
pub fn period(stalls_per_second: f64) -> Duration {
    let wanted = STALLS_PER_PERIOD / stalls_per_second.max(1e-3);
    Duration::from_secs_f64(wanted.clamp(SHORTEST_S, LONGEST_S))
}

/// The figures are looked at after so many pairs.
pub const LOOKS: [usize; 3] = [10, 20, 40];
/// The probability of a mistake in one look; one in two hundred in all.
const MISS: f64 = 0.005 / LOOKS.len() as f64;
/// The worst that an interval's end may be.
pub const BAD_END: f64 = 0.98;
const STALLS_PER_PERIOD: f64 = 5.0;
const SHORTEST_S: f64 = 0.5;
const LONGEST_S: f64 = 3.0;
/// Fewer turns than this tell nothing.
const FEWEST_TURNS: usize = 30;
