//! Measures whether holding delays the peers of a service, or costs processor time, and decides
//! whether its writes are held.
//!
//! Now and then a service is *tried*: its writes are held for a while, then they pass for a while,
//! and so on. A *turn* is the time from one request on a connection to the next request on it, so
//! it contains the answer, its way, and what the peer does with it. Two neighbouring spells are a
//! pair, and each pair answers three questions with yes or no: were turns longer where writes were
//! held, in the median and on average, and did an answer take more processor time? A count of these
//! answers decides. So the size of one difference does not matter, and a few outliers change
//! nothing.
//!
//! A service that stays quiet, or whose connections have one request each, has no turns. It is not
//! judged, and its writes are held.

/// The state of one service. The caller keeps it where all threads and processes that serve can
/// reach it. All fields are zero for a service that was never tried.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Trial {
    verdict: Verdict,
    /// How often in a row the verdict was confirmed, or could not be judged.
    level: u8,
    is_running: bool,
    /// Whether the present spell is the first of its pair.
    is_first: bool,
    /// Whether writes are held in the present spell.
    is_held: bool,
    /// Pairs that have been compared.
    pairs: u8,
    /// For each figure, how much more often holding was worse than not.
    counts: [i8; FIGURES],
    /// When the trial began.
    tried_ns: u64,
    /// When the present spell began.
    began_ns: u64,
    /// What the process that began the spell had spent by then.
    spent: Spent,
    /// Turns to leave out before the spell counts, because the one before still has an effect.
    to_settle: u32,
    /// Turns in `turns_ns`.
    turns: u32,
    turns_ns: [u32; TURNS],
    /// The figures of the first spell of the pair.
    first: [u64; FIGURES],
    /// Answers in the trial before the present spell.
    answers: u32,
}

/// Whether the writes of a service are held between its trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Verdict {
    /// They are held: this is no worse, or was not judged.
    #[default]
    Holds,
    /// They pass, as under `TCP_NODELAY`: holding was measured to be worse.
    Passes,
}

/// What a process has spent so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// The process, by any number that tells it from others.
    pub process: u32,
    /// Its requests so far.
    pub requests: u64,
    /// Its processor time so far, in nanoseconds.
    pub cpu_ns: u64,
}

/// The time from a request to the next one on the same connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// When the first of the two was read, in nanoseconds.
    pub since_ns: u64,
    /// When the second was read.
    pub now_ns: u64,
}

/// What the caller has to count until it asks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// Call [`Trial::on_due`] after this many answers that would be held.
    pub answers: u32,
    /// Or after this many nanoseconds.
    pub within_ns: u64,
}

impl Default for Trial {
    fn default() -> Self {
        Self {
            verdict: Verdict::Holds,
            level: 0,
            is_running: false,
            is_first: false,
            is_held: false,
            pairs: 0,
            counts: [0; FIGURES],
            tried_ns: 0,
            began_ns: 0,
            spent: Spent::default(),
            to_settle: 0,
            turns: 0,
            turns_ns: [0; TURNS],
            first: [0; FIGURES],
            answers: 0,
        }
    }
}

impl Trial {
    /// What to count before a service's first trial.
    pub const FIRST: Next = Next {
        answers: FIRST_ANSWERS,
        within_ns: RETRY_NS,
    };

    /// Returns whether the service's writes may be held now.
    #[must_use]
    pub fn holds(&self) -> bool {
        if self.is_running {
            self.is_held
        } else {
            self.verdict == Verdict::Holds
        }
    }

    /// Returns whether a trial is running, so that [`Trial::on_turn`] must be called.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// Returns the last verdict.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Begins a trial, or ends one that has seen too few turns in what was to be counted
    /// ([`Next`]). `answers` have passed since the last call of this or of [`Trial::on_turn`] that
    /// returned something to count.
    pub fn on_due(&mut self, answers: u32, now_ns: u64, spent: Spent) -> Next {
        if self.is_running {
            self.answers = self.answers.saturating_add(answers);
            return self.end(self.verdict, now_ns);
        }
        self.is_running = true;
        self.tried_ns = now_ns;
        self.pairs = 0;
        self.answers = 0;
        self.counts = [0; FIGURES];
        self.begin_pair(now_ns, spent);
        Next {
            answers: MOST_ANSWERS,
            within_ns: LONGEST_SPELL_NS,
        }
    }

    /// Enters a turn into the trial. `answers` is asked for the answers since the last call that
    /// returned something, and `spent` for what the calling process has spent; both only where a
    /// spell ends. Returns what to count from now on, if that changes.
    pub fn on_turn(
        &mut self,
        turn: Turn,
        answers: impl FnOnce() -> u32,
        spent: impl FnOnce() -> Spent,
    ) -> Option<Next> {
        if !self.is_running {
            return None;
        }
        if turn.since_ns < self.began_ns {
            // It began in the spell before, and so shows how many connections there are.
            self.to_settle = self.to_settle.saturating_add(SETTLING_TURNS);
            return None;
        }
        if self.to_settle > 0 {
            self.to_settle -= 1;
            return None;
        }
        if let Some(place) = self.turns_ns.get_mut(self.turns as usize) {
            *place = u32::try_from(turn.now_ns - turn.since_ns).unwrap_or(u32::MAX);
            self.turns += 1;
        }
        if (self.turns as usize) < TURNS {
            return None;
        }
        Some(self.end_spell(answers(), turn.now_ns, spent()))
    }

    fn begin_pair(&mut self, now_ns: u64, spent: Spent) {
        self.is_first = true;
        // The first spell is as between the trials, and then each order comes as often.
        let as_usual = self.pairs.is_multiple_of(2);
        self.is_held = (self.verdict == Verdict::Holds) == as_usual;
        self.begin_spell(now_ns, spent);
    }

    fn begin_spell(&mut self, now_ns: u64, spent: Spent) {
        self.began_ns = now_ns;
        self.spent = spent;
        self.to_settle = LEAST_SETTLING;
        self.turns = 0;
    }

    fn end_spell(&mut self, answers: u32, now_ns: u64, spent: Spent) -> Next {
        self.answers = self.answers.saturating_add(answers);
        let figures = self.figures(spent);
        if self.is_first {
            self.first = figures;
            self.is_first = false;
            self.is_held = !self.is_held;
            self.begin_spell(now_ns, spent);
        } else {
            if self.is_held {
                self.compare(figures, self.first);
            } else {
                self.compare(self.first, figures);
            }
            if let Some(verdict) = self.decided() {
                return self.end(verdict, now_ns);
            }
            self.begin_pair(now_ns, spent);
        }
        Next {
            // A spell that takes much longer than the one before it has lost its peers.
            answers: answers.saturating_mul(PATIENCE).max(LEAST_PATIENCE),
            within_ns: LONGEST_SPELL_NS,
        }
    }

    /// Returns the median and the mean turn of the spell, and its processor time a request; 0 for
    /// one that is unknown.
    fn figures(&mut self, spent: Spent) -> [u64; FIGURES] {
        let sum: u64 = self.turns_ns.iter().map(|ns| u64::from(*ns)).sum();
        let (_, median, _) = self.turns_ns.select_nth_unstable(TURNS / 2);
        let median = u64::from(*median);
        let requests = spent.requests.saturating_sub(self.spent.requests);
        let cpu_ns = match spent.process == self.spent.process && requests > 0 {
            true => spent.cpu_ns.saturating_sub(self.spent.cpu_ns) / requests,
            false => 0,
        };
        [median, sum / TURNS as u64, cpu_ns]
    }

    fn compare(&mut self, held: [u64; FIGURES], passed: [u64; FIGURES]) {
        self.pairs += 1;
        for (count, (held, passed)) in self.counts.iter_mut().zip(held.into_iter().zip(passed)) {
            // A count that has reached an end stays there.
            if *count > NO_WORSE {
                let is_worse = passed > 0 && held > passed + passed / MARGIN;
                *count += if is_worse { 1 } else { -1 };
            }
        }
    }

    /// Returns the verdict, if the counts suffice for one. After many pairs without one the last
    /// verdict stays.
    fn decided(&self) -> Option<Verdict> {
        if self.counts.iter().any(|count| *count >= WORSE) {
            Some(Verdict::Passes)
        } else if self.counts.iter().all(|count| *count <= NO_WORSE) {
            Some(Verdict::Holds)
        } else {
            (self.pairs >= MOST_PAIRS).then_some(self.verdict)
        }
    }

    fn end(&mut self, verdict: Verdict, now_ns: u64) -> Next {
        self.level = if verdict == self.verdict {
            (self.level + 1).min(LAST_LEVEL)
        } else {
            0
        };
        self.verdict = verdict;
        self.is_running = false;
        let answers = self.answers.max(FIRST_ANSWERS).saturating_mul(REST);
        let lasted_ns = now_ns.saturating_sub(self.tried_ns);
        let rest_ns = lasted_ns.saturating_mul(REST.into()).max(RETRY_NS);
        Next {
            answers: answers.saturating_mul(1 << self.level),
            within_ns: rest_ns.saturating_mul(1 << self.level),
        }
    }
}

/// The median turn, the mean turn, and the processor time.
const FIGURES: usize = 3;
/// The turns of a spell that count.
const TURNS: usize = 128;
/// The turns at the beginning of a spell that never count.
const LEAST_SETTLING: u32 = 32;
/// And for each connection this many more.
const SETTLING_TURNS: u32 = 2;
/// Holding is worse in a pair if a figure is more than a sixteenth higher. Smaller differences are
/// less than what neighbouring spells of an unchanged program differ by.
const MARGIN: u64 = 16;
/// So many more pairs in which holding was worse decide that writes pass.
const WORSE: i8 = 8;
/// So many more in which it was not decide that it is no worse, for one figure. The two numbers
/// bound the error (Wald, *Sequential Tests of Statistical Hypotheses*, 1945, for the gambler's
/// ruin): if a figure of an unchanged service is a sixteenth higher in at most 36 of 100 pairs, by
/// chance, then in less than 1 of 100 trials it alone decides that writes pass.
const NO_WORSE: i8 = -2;
/// A trial ends without a new verdict after this many pairs.
const MOST_PAIRS: u8 = 48;
/// Answers before the first trial: what a short run does is not worth a trial.
const FIRST_ANSWERS: u32 = 2_048;
/// The most answers of a trial's first spell, which is as between the trials.
const MOST_ANSWERS: u32 = 1 << 16;
/// A spell ends without a result after this many times the answers of the one before.
const PATIENCE: u32 = 4;
/// But not before this many answers.
const LEAST_PATIENCE: u32 = 1_024;
/// Answers between two trials for each answer of the last one, or nanoseconds for each nanosecond,
/// whichever have passed first. So trials are at most one part in 65, and less where the verdict
/// stays the same.
const REST: u32 = 64;
/// After this many confirmations the time between trials grows no more.
const LAST_LEVEL: u8 = 4;
/// The least such time: a service that was tried while it was busy is tried again when it may have
/// become quiet.
const RETRY_NS: u64 = 60_000_000_000;
/// A spell that lasts longer ends the trial without a result.
const LONGEST_SPELL_NS: u64 = 30_000_000_000;
