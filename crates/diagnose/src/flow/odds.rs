//! Computes how probable it is that what was seen is an accident.
//!
//! An occasion is every late ACK after which its receiver sends data. Unrelated data would leave at
//! any time, and now and then close behind the ACK. If the next data on an occasion came a time T
//! after the last data, then an accident puts it within w of the release with a probability of
//! about 2w/T. Over all occasions the number of accidents is a Poisson variable.

use tinygram_stalls::thresholds::{
    CLOCK_HITS, CLOSER_LOOK_IN, ENOUGH_HITS, FINEST_NS, FOLLOWS_ACKS_IN, HABIT_PARTS, HABIT_WHOLE,
    HITS_PER_MISS, LAST_KEPT, LOOSER_WIDTHS, MOSTLY_PERCENT, STEADY_WIDTHS, VARIED_ACKS_NS, WIDTHS,
};

/// The occasions of one direction, and how close behind the ACK the data left on each.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Odds {
    /// Sum of 1/T over the occasions, per second.
    density: f32,
    /// Occasions on which the data came close, by how close: a bucket per power of two.
    hits: [u32; WIDTHS],
    /// Occasions on which it did not.
    misses: u32,
    /// Of the last such occasions: how long after the data before it the ACK came, and how long after the ACK
    /// the data, in nanoseconds.
    last: [[u32; 2]; LAST_KEPT],
    /// Of the hits those that left as fast as a kernel lets go.
    at_once: u32,
}

impl Odds {
    /// No occasion at all.
    pub(crate) const NONE: Self = Self {
        density: 0.0,
        hits: [0; WIDTHS],
        misses: 0,
        last: [[0; 2]; LAST_KEPT],
        at_once: 0,
    };

    /// Counts data that left `off_ns` from where its release puts it, `since_ns` after the data before. It left
    /// `at_once` if it left as fast as a kernel releases a segment.
    pub(crate) fn hit(&mut self, off_ns: i64, at_once: bool, since_ns: i64) {
        self.at_once = self.at_once.saturating_add(u32::from(at_once));
        self.occasion(since_ns);
        let hits = &mut self.hits[bucket(off_ns)];
        *hits = hits.saturating_add(1);
    }

    /// Notes of the last hit that its ACK came `wait_ns` after the data before it, and the data `reaction_ns` after the
    /// ACK.
    pub(crate) fn came_behind(&mut self, wait_ns: i64, reaction_ns: i64) {
        self.last.rotate_right(1);
        self.last[0] = [wait_ns, reaction_ns].map(|ns| ns.clamp(0, u32::MAX.into()) as u32);
    }

    /// Counts data that left at a time of its own, `since_ns` after the data before.
    pub(crate) fn miss(&mut self, since_ns: i64) {
        self.occasion(since_ns);
        self.misses = self.misses.saturating_add(1);
    }

    /// Returns whether there was an occasion.
    pub(crate) fn any(&self) -> bool {
        self.density > 0.0
    }

    /// Counts another direction's occasions with these.
    pub(crate) fn join(&mut self, other: &Self) {
        self.density += other.density;
        self.misses = self.misses.saturating_add(other.misses);
        for &pair in other.last[..LAST_KEPT.min(other.hits() as usize)]
            .iter()
            .rev()
        {
            self.last.rotate_right(1);
            self.last[0] = pair;
        }
        for (hits, more) in self.hits.iter_mut().zip(other.hits) {
            *hits = hits.saturating_add(more);
        }
    }

    pub(crate) fn hits(&self) -> u32 {
        self.hits.iter().sum()
    }

    /// Returns the probability of as many hits, as close, by accident alone.
    ///
    /// `blur_ns` is how sharply the release can be placed from the capture point. The widths are
    /// tried one by one; they are nested, so that the best of them is little better than each.
    pub(crate) fn accident(&self, blur_ns: i64) -> f64 {
        let mut least = 1.0_f64;
        let mut close = 0;
        for (at, &hits) in self.hits.iter().enumerate() {
            close += hits;
            if hits > 0 {
                let within = |blur_ns: i64| {
                    let width_ns = (FINEST_NS << at).max(blur_ns);
                    tail(2e-9 * width_ns as f64 * f64::from(self.density), close)
                };
                // Most frames meet no queue: twice looked at, twice as probable.
                least = least
                    .min(within(blur_ns))
                    .min(2.0 * within(blur_ns / CLOSER_LOOK_IN));
            }
        }
        least
    }

    /// Is this fit one of the habit? A kernel lets a held segment go at once; what fits four times as
    /// loosely as two thirds of the others do had a reason of its own, unless the capture point blurs
    /// as much, or the sender hardly ever leaves its habit.
    pub(crate) fn vouches_for(&self, off_ns: i64, blur_ns: i64) -> bool {
        bucket(off_ns) <= self.loosest(blur_ns)
    }

    /// Returns the loosest fit that is one of the habit, in nanoseconds.
    pub(crate) fn loosest_ns(&self, blur_ns: i64) -> i64 {
        FINEST_NS << self.loosest(blur_ns)
    }

    fn loosest(&self, blur_ns: i64) -> usize {
        let mut close = 0;
        let habit = self.hits.iter().position(|&hits| {
            close += hits;
            HABIT_WHOLE * close >= HABIT_PARTS * self.hits()
        });
        let steady = self.hits() >= HITS_PER_MISS * self.misses.max(1);
        habit
            .map_or(0, |at| at + LOOSER_WIDTHS)
            .max(bucket(blur_ns))
            .max(if steady { STEADY_WIDTHS } else { 0 })
    }

    /// Returns whether there were four hits or more, of which three of four were no further off than this.
    pub(crate) fn mostly_within(&self, off_ns: i64) -> bool {
        let within = |at: &usize| FINEST_NS << *at <= off_ns;
        let close = (0..WIDTHS).take_while(within).map(|at| self.hits[at]);
        self.hits() >= ENOUGH_HITS && are_most(close.sum(), self.hits())
    }

    /// Returns whether the data follows the ACKs: it came as long after them however long they took. A clock of the
    /// sender's own does not follow ACKs.
    pub(crate) fn follows_acks(&self) -> bool {
        let last = &self.last[..LAST_KEPT.min(self.hits() as usize)];
        if last.len() < ENOUGH_HITS as usize {
            return false;
        }
        let (waits, reactions) = (spread(last, |it| it[0]), spread(last, |it| it[1]));
        waits >= VARIED_ACKS_NS && waits / FOLLOWS_ACKS_IN >= reactions
    }

    /// Returns how much the times from data to data and from ACK to data vary, in nanoseconds; none
    /// before there are enough of them. What an ACK lets go varies with the ACK, so that the first
    /// vary at least as much as the second; a clock of the sender's own has it the other way round.
    pub(crate) fn spreads_ns(&self) -> Option<(u32, u32)> {
        let last = &self.last[..LAST_KEPT.min(self.hits() as usize)];
        let enough = last.len() >= CLOCK_HITS;
        enough.then(|| {
            let from_data = spread(last, |it| it[0].saturating_add(it[1]));
            (from_data, spread(last, |it| it[1]))
        })
    }

    /// Returns whether three of four hits left as fast as a kernel releases a segment; `None` before there are four.
    pub(crate) fn mostly_at_once(&self) -> Option<bool> {
        let hits = self.hits();
        (hits >= ENOUGH_HITS).then_some(are_most(self.at_once, hits))
    }

    fn occasion(&mut self, since_ns: i64) {
        self.density += 1e9 / since_ns.max(1) as f32;
    }
}

/// Returns whether so many hits are most of all of them.
fn are_most(some: u32, all: u32) -> bool {
    u64::from(some) * 100 >= u64::from(all) * u64::from(MOSTLY_PERCENT)
}

/// Returns how far apart the middle half is, since a host is busy now and then, and a clock is late.
fn spread(of: &[[u32; 2]], which: impl Fn(&[u32; 2]) -> u32) -> u32 {
    let mut all: Vec<u32> = of.iter().map(which).collect();
    all.sort_unstable();
    all[(3 * all.len() - 1) / 4] - all[all.len() / 4]
}

fn bucket(off_ns: i64) -> usize {
    let mut at = 0;
    while at + 1 < WIDTHS && off_ns > FINEST_NS << at {
        at += 1;
    }
    at
}

/// Returns P(N >= k) for a Poisson variable with mean `expected`.
fn tail(expected: f64, k: u32) -> f64 {
    // Of `libm`, so that every machine and a browser say the same to the last digit.
    let mut term = libm::exp(-expected);
    let mut below = 0.0;
    for i in 0..k.min(TERMS) {
        below += term;
        term *= expected / f64::from(i + 1);
    }
    (1.0 - below).max(0.0)
}

/// Beyond so many terms of Poisson's law nothing is left that a double shows.
const TERMS: u32 = 200;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn close_to(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6
    }

    #[test]
    fn one_sharp_hit_convinces_and_a_loose_one_does_not() {
        let mut sharp = Odds::default();
        sharp.hit(50_000, true, 41 * MS);
        assert!(sharp.accident(0) < 0.01);
        let mut loose = Odds::default();
        loose.hit(2 * MS, true, 41 * MS);
        assert!(loose.accident(0) > 0.05);
    }

    #[test]
    fn where_the_capture_point_blurs_it_takes_several() {
        let mut odds = Odds::default();
        let blur_ns = 16 * MS;
        let mut needed = 0;
        while odds.accident(blur_ns) >= 0.01 {
            odds.hit(100_000, true, 60 * MS);
            needed += 1;
        }
        assert!((2..=6).contains(&needed), "{needed}");
    }

    #[test]
    fn occasions_without_a_hit_make_a_hit_less_telling() {
        let mut odds = Odds::default();
        odds.hit(50_000, true, 41 * MS);
        let alone = odds.accident(0);
        for _ in 0..20 {
            odds.miss(60 * MS);
        }
        assert!(odds.accident(0) > 5.0 * alone);
    }

    #[test]
    fn the_tail_is_poissons() {
        assert!((tail(1.0, 1) - 0.632_120_558).abs() < 1e-6);
        assert!((tail(2.0, 3) - 0.323_323_583).abs() < 1e-6);
        assert!((tail(0.5, 0) - 1.0).abs() < 1e-12);
    }

    /// Widths are powers of two from 60 us on, up to 15 ms and all that is wider.
    #[test]
    fn a_hit_is_kept_by_how_close_it_was() {
        let buckets = [
            0,
            60_000,
            60_001,
            120_000,
            120_001,
            15_360_000,
            15_360_001,
            60 * MS,
        ];
        assert_eq!(buckets.map(bucket), [0, 0, 1, 1, 2, 8, 8, 8]);
        assert_eq!(bucket(7_680_000), 7);
        assert_eq!(bucket(7_680_001), 8);
    }

    /// One hit within 60 us after 60 ms: twice a thousandth of an accident, by Poisson's law.
    #[test]
    fn the_odds_are_those_of_the_width_and_the_time_between() {
        let poisson = |expected: f64| 1.0 - (-expected).exp();
        let mut odds = Odds::default();
        assert!(!odds.any());
        assert!(close_to(odds.accident(0), 1.0));
        odds.hit(60_000, true, 60 * MS);
        assert!(odds.any());
        assert!(close_to(odds.accident(0), poisson(0.002)));
        // A capture point that blurs more widens the hit, but by no more than twice what a quarter of the
        // blur does.
        assert!(close_to(odds.accident(120_000), poisson(0.004)));
        assert!(close_to(odds.accident(240_000), 2.0 * poisson(0.002)));
        assert!(close_to(odds.accident(1_500_000), 2.0 * poisson(0.0125)));
        odds.miss(60 * MS);
        assert!(close_to(odds.accident(0), poisson(0.004)));
        odds.hit(60_000, true, 60 * MS);
        // Two or more of an expected 0.006.
        let two = 1.0 - (-0.006_f64).exp() * 1.006;
        assert!(close_to(odds.accident(0), two));
        assert!(close_to(
            odds.accident(75_000),
            1.0 - (-0.0075_f64).exp() * 1.0075
        ));
    }

    /// What two directions show counts as if one had shown it.
    #[test]
    fn joined_odds_are_those_of_all_occasions() {
        let (mut one, mut other, mut both) = (Odds::default(), Odds::default(), Odds::default());
        for odds in [&mut one, &mut both] {
            odds.hit(50_000, true, 40 * MS);
            odds.miss(30 * MS);
        }
        for odds in [&mut other, &mut both] {
            odds.hit(2 * MS, true, 50 * MS);
            odds.hit(50_000, true, 60 * MS);
            odds.miss(70 * MS);
        }
        one.join(&other);
        assert_eq!((one.hits, one.misses), (both.hits, both.misses));
        assert_eq!(one.hits(), 3);
        let off = one.accident(0) - both.accident(0);
        assert!(off.abs() < 1e-9, "{off}");
    }

    /// Two thirds within 60 us: what is four times as loose is of the habit still, unless the capture
    /// point blurs more, or hardly any occasion was missed.
    #[test]
    fn a_loose_fit_is_none_of_a_sharp_habit() {
        let mut odds = Odds::default();
        for _ in 0..6 {
            odds.hit(50_000, true, 40 * MS);
        }
        odds.miss(40 * MS);
        assert!(odds.vouches_for(240_000, 0) && !odds.vouches_for(240_001, 0));
        assert!(odds.vouches_for(900_000, 480_001) && !odds.vouches_for(960_001, 480_001));
        // Two thirds are reached with the loose ones only.
        odds.miss(40 * MS);
        for _ in 0..4 {
            odds.hit(100_000, true, 40 * MS);
        }
        assert!(odds.vouches_for(480_000, 0) && !odds.vouches_for(480_001, 0));
        // Eight hits for each miss: steady, and up to 4 ms are of the habit.
        let mut steady = odds;
        steady.misses = 1;
        assert!(steady.vouches_for(3_840_000, 0) && !steady.vouches_for(3_840_001, 0));
        steady.misses = 2;
        assert!(!steady.vouches_for(3_840_000, 0));
    }

    /// ACKs after 40 to 47 ms: data 1 ms after each follows them, data 48 ms after the data before does not.
    #[test]
    fn what_follows_acks_that_vary_has_no_clock() {
        let seen = |reaction_us: &dyn Fn(i64) -> i64, count: i64, step_us: i64| {
            let mut odds = Odds::default();
            for n in 0..count {
                let wait_ns = 40 * MS + n * step_us * 1000;
                odds.hit(0, true, 40 * MS);
                odds.came_behind(wait_ns, reaction_us(wait_ns / 1000) * 1000);
            }
            odds.follows_acks()
        };
        assert!(seen(&|_| 1000, 8, 1000));
        assert!(!seen(&|wait_us| 48_000 - wait_us, 8, 1000));
        // Three are too few, and a timer's ACKs do not vary.
        assert!(seen(&|_| 1000, 4, 1000) && !seen(&|_| 1000, 3, 1000));
        assert!(!seen(&|_| 1000, 8, 200));
        // One that was late is not counted, nor what came before the last eight.
        assert!(seen(
            &|wait_us| if wait_us == 43_000 { 9000 } else { 1000 },
            8,
            1000
        ));
        assert!(seen(
            &|wait_us| if wait_us < 48_000 {
                48_000 - wait_us
            } else {
                1000
            },
            16,
            1000
        ));
    }

    /// Three of four, and of no fewer than four; a width that is only reached in part does not count.
    #[test]
    fn most_hits_are_three_of_four() {
        let mut odds = Odds::default();
        for _ in 0..3 {
            odds.hit(100_000, true, 40 * MS);
        }
        assert!(!odds.mostly_within(240_000));
        odds.hit(2 * MS, true, 40 * MS);
        assert!(odds.mostly_within(240_000));
        assert!(odds.mostly_within(120_000) && !odds.mostly_within(119_999));
        odds.hit(2 * MS, true, 40 * MS);
        assert!(!odds.mostly_within(240_000));
    }

    /// Of four hits and more three of four.
    #[test]
    fn a_habit_of_leaving_at_once_takes_four() {
        let hits = |at_once: &[bool]| {
            let mut odds = Odds::default();
            for &at_once in at_once {
                odds.hit(60_000, at_once, 40 * MS);
            }
            odds
        };
        assert_eq!(hits(&[true; 3]).mostly_at_once(), None);
        assert_eq!(
            hits(&[true, true, true, false]).mostly_at_once(),
            Some(true)
        );
        assert_eq!(
            hits(&[true, true, false, false]).mostly_at_once(),
            Some(false)
        );
    }
}
