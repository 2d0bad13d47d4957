//! Computes a row's numbers from trials.

use statrs::distribution::{ContinuousCDF, StudentsT};
use tinygram_engine::Duration;

use super::trial::{EndWork, LoadTaken, LoadTrial};
use crate::score::{mean_and_sd, percentile};

/// A measured value and how far the true one may be from it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The value over all repetitions.
    pub value: f64,
    /// Half the width of its 95 % interval; infinite if there are too few parts to tell. Student's interval over
    /// the repetitions if there are five or more, otherwise over ten batches of each.
    pub within: f64,
}

/// The numbers of a row, over all repetitions.
#[derive(Clone, Debug, Default)]
pub struct LoadScore {
    /// Requests that came in the measured time, per second.
    pub offered_per_second: f64,
    /// Answers that were complete in the measured time, per second.
    pub answered_per_second: Estimate,
    /// The mean time of the requests that came in the measured time, from when each was due to its answer's last
    /// octet, in milliseconds. A request that was not answered counts with the time for which it was waited for. `None`
    /// if no request came.
    pub mean_ms: Option<Estimate>,
    /// The time that half of them did not exceed, in milliseconds.
    pub p50_ms: Option<Estimate>,
    /// The time that 99 % of them did not exceed, in milliseconds.
    pub p99_ms: Option<Estimate>,
    /// The server's segments with data, per answer.
    pub segments_per_answer: f64,
    /// All segments of both ends, acknowledgments included, per answer.
    pub all_segments_per_answer: f64,
    /// How long the client's processor worked for an answer, in microseconds.
    pub client_us_per_answer: f64,
    /// How long the server's processor worked for an answer, in microseconds.
    pub server_us_per_answer: f64,
    /// The share of the measured time in which the client's processor worked.
    pub client_busy: f64,
    /// The share of the measured time in which the server's processor worked.
    pub server_busy: f64,
    /// Requests that came in the measured time and were not answered before the patience ended.
    pub unanswered: u64,
    /// Requests that came in the measured time.
    pub requests: u64,
    /// The same of each part of a course; empty for other demands.
    pub parts: Vec<LoadPart>,
    /// The numbers of each repetition, in their order.
    pub repetitions: Vec<Repetition>,
}

/// The numbers of one repetition.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Repetition {
    /// Its latencies, as those of [`LoadScore`]; `None` if no request came.
    pub times: Option<Times>,
    /// Answers that were complete in the measured time, per second.
    pub answered_per_second: f64,
}

/// The numbers of a part of a course, over all repetitions.
#[derive(Clone, Debug, Default)]
pub struct LoadPart {
    /// Requests that came in it, per second.
    pub offered_per_second: f64,
    /// The mean time of these requests, as [`LoadScore::mean_ms`]. The intervals are those over repetitions.
    pub mean_ms: Option<Estimate>,
    /// The time that 99 % of them did not exceed, in milliseconds.
    pub p99_ms: Option<Estimate>,
}

impl LoadScore {
    /// Returns whether server and client kept up with an open loop: no more was asked for in the measured time than was
    /// answered, but for 1 % and three standard deviations of a Poisson process. `None` if the requests are so few, 9 or
    /// less, that this cannot be told.
    #[must_use]
    pub fn keeps_up(&self) -> Option<bool> {
        let noise = 3.0 / (self.requests.max(1) as f64).sqrt();
        let least = self.offered_per_second * (1.0 - 0.01 - noise);
        (least > 0.0).then_some(self.answered_per_second.value >= least)
    }
}

/// Trials of one row.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    /// The times of all requests, in nanoseconds.
    took: Vec<u64>,
    batches: Vec<Repetition>,
    repetitions: Vec<Repetition>,
    /// By part of a course.
    parts: Vec<PartSums>,
    answered: u64,
    unanswered: u64,
    window: f64,
    work: [EndWork; 2],
}

/// A part of a course: the times of all its requests, in nanoseconds, and what is said of those of each repetition.
#[derive(Clone, Debug, Default)]
struct PartSums {
    took: Vec<u64>,
    repetitions: Vec<Times>,
}

/// What is said of the times of some requests, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// The mean.
    pub mean: f64,
    /// The time that half of them did not exceed.
    pub p50: f64,
    /// The time that 99 % of them did not exceed.
    pub p99: f64,
}

impl Sums {
    /// Adds one of so many repetitions.
    pub(super) fn add(&mut self, trial: &LoadTrial, taken: &LoadTaken, repetitions: u32) {
        let parts = if repetitions >= 5 { 1 } else { BATCHES };
        let (begin, length) = (trial.warmup.as_nanos(), trial.window.as_nanos());
        // The part in which an instant lies, if it lies in the measured time.
        let part = |at: Duration| {
            let since = at.as_nanos().checked_sub(begin)?;
            (since < length)
                .then(|| (u128::from(since) * parts as u128 / u128::from(length)) as usize)
        };
        let mut times: Vec<Vec<u64>> = vec![Vec::new(); parts];
        let mut answered = vec![0_u64; parts];
        for answer in &taken.answers {
            if let Some(part) = part(answer.asked_at) {
                times[part].push(answer.took.as_nanos());
            }
            if let Some(part) = part(answer.asked_at + answer.took) {
                answered[part] += 1;
            }
        }
        let end = begin + length + trial.patience.as_nanos();
        for at in &taken.unanswered {
            if let Some(part) = part(*at) {
                times[part].push(end - at.as_nanos());
                self.unanswered += 1;
            }
        }
        if trial.parts > 1 {
            self.add_parts(trial, taken);
        }
        let seconds = length as f64 / 1e9;
        self.repetitions.push(Repetition {
            times: Times::of(&mut times.concat()),
            answered_per_second: answered.iter().sum::<u64>() as f64 / seconds,
        });
        for (mut times, answered) in times.into_iter().zip(answered) {
            self.answered += answered;
            self.took.extend_from_slice(&times);
            self.batches.push(Repetition {
                times: Times::of(&mut times),
                answered_per_second: answered as f64 / (seconds / parts as f64),
            });
        }
        self.window += seconds;
        for (sum, work) in self.work.iter_mut().zip(taken.work) {
            *sum = sum.and(work);
        }
    }

    /// Adds the times of each part of a course. A request belongs to the part in which it came.
    fn add_parts(&mut self, trial: &LoadTrial, taken: &LoadTaken) {
        let begin = trial.warmup.as_nanos();
        let length = (trial.window.as_nanos() / u64::from(trial.parts)).max(1);
        let mut times: Vec<Vec<u64>> = vec![Vec::new(); trial.parts as usize];
        let mut add = |at: Duration, took: u64| {
            let part = at.as_nanos().checked_sub(begin).map(|it| it / length);
            if let Some(times) = part.and_then(|part| times.get_mut(part as usize)) {
                times.push(took);
            }
        };
        for answer in &taken.answers {
            add(answer.asked_at, answer.took.as_nanos());
        }
        let end = (trial.warmup + trial.window + trial.patience).as_nanos();
        for at in &taken.unanswered {
            add(*at, end.saturating_sub(at.as_nanos()));
        }
        self.parts.resize_with(times.len(), PartSums::default);
        for (part, mut times) in self.parts.iter_mut().zip(times) {
            part.took.extend_from_slice(&times);
            part.repetitions.extend(Times::of(&mut times));
        }
    }

    pub(super) fn score(mut self) -> LoadScore {
        let share = 1.0 / self.parts.len().max(1) as f64;
        let window = self.window * share;
        let parts = self
            .parts
            .drain(..)
            .map(|part| part.score(window))
            .collect();
        let requests = self.took.len() as u64;
        let all = Times::of(&mut self.took);
        let batches = &self.batches;
        let estimate = |of: fn(&Times) -> f64| {
            let each = batches.iter().filter_map(|it| it.times.as_ref());
            all.as_ref().map(|all| Estimate {
                value: of(all),
                within: half_width(each.map(of)),
            })
        };
        let answers = self.answered.max(1) as f64;
        let [client, server] = self.work;
        let segments = |work: EndWork| (work.data_segments + work.empty_segments) as f64;
        let worked = |work: EndWork| work.worked.as_nanos() as f64;
        LoadScore {
            offered_per_second: requests as f64 / self.window,
            answered_per_second: Estimate {
                value: self.answered as f64 / self.window,
                within: half_width(batches.iter().map(|it| it.answered_per_second)),
            },
            mean_ms: estimate(|it| it.mean),
            p50_ms: estimate(|it| it.p50),
            p99_ms: estimate(|it| it.p99),
            segments_per_answer: server.data_segments as f64 / answers,
            all_segments_per_answer: (segments(client) + segments(server)) / answers,
            client_us_per_answer: worked(client) / answers / 1e3,
            server_us_per_answer: worked(server) / answers / 1e3,
            client_busy: worked(client) / 1e9 / self.window,
            server_busy: worked(server) / 1e9 / self.window,
            unanswered: self.unanswered,
            requests,
            parts,
            repetitions: self.repetitions,
        }
    }
}

impl PartSums {
    /// Returns its numbers; `window` is how long it lasted in all repetitions, in seconds.
    fn score(mut self, window: f64) -> LoadPart {
        let offered = self.took.len() as f64 / window;
        let all = Times::of(&mut self.took);
        let repetitions = &self.repetitions;
        let estimate = |of: fn(&Times) -> f64| {
            all.as_ref().map(|all| Estimate {
                value: of(all),
                within: half_width(repetitions.iter().map(of)),
            })
        };
        LoadPart {
            offered_per_second: offered,
            mean_ms: estimate(|it| it.mean),
            p99_ms: estimate(|it| it.p99),
        }
    }
}

impl EndWork {
    /// Returns the sum of both.
    fn and(self, other: Self) -> Self {
        Self {
            data_segments: self.data_segments + other.data_segments,
            empty_segments: self.empty_segments + other.empty_segments,
            worked: self.worked + other.worked,
        }
    }

    /// Returns what was done after `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            data_segments: self.data_segments - earlier.data_segments,
            empty_segments: self.empty_segments - earlier.empty_segments,
            worked: self.worked - earlier.worked,
        }
    }
}

impl Times {
    /// Returns the mean, and the least times that a half and 99 % did not exceed; `None` if there are none. The times,
    /// in nanoseconds, lose their order.
    fn of(times: &mut [u64]) -> Option<Self> {
        if times.is_empty() {
            return None;
        }
        let sum: f64 = times.iter().map(|it| *it as f64).sum();
        let mut quantile = |percent| percentile(times, percent) as f64 / 1e6;
        let [p50, p99] = [50, 99].map(&mut quantile);
        Some(Self {
            mean: sum / times.len() as f64 / 1e6,
            p50,
            p99,
        })
    }
}

/// Returns half the width of Student's 95 % interval of the mean; infinite if there are less than two values.
fn half_width(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    let count = values.len() as f64;
    match StudentsT::new(0.0, 1.0, count - 1.0) {
        Ok(student) => student.inverse_cdf(0.975) * mean_and_sd(&values).1 / count.sqrt(),
        Err(_) => f64::INFINITY,
    }
}

/// How many parts a repetition has where there are few repetitions.
const BATCHES: usize = 10;
