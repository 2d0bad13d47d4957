//! Which trial types run, over which lengths, how many transfers each.

use clap::ValueEnum;
use serde::Serialize;

use super::args::{Args, Trial};
use super::plan::{distinct, refused};
use crate::exit::Failure;
use crate::values::{Lengths, Random, Series};

/// Trial types and the lengths that they use.
pub(super) struct Workload {
    pub(super) trials: Vec<Trial>,
    pub(super) sequential: Option<Sequential>,
    pub(super) random: Option<Drawn>,
}

/// Lengths in order.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Sequential {
    #[serde(flatten)]
    pub(crate) series: Series,
    pub(crate) transfers: u64,
}

/// Lengths by chance.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Drawn {
    #[serde(flatten)]
    pub(crate) lengths: Random,
    pub(crate) transfers: u64,
}

impl Workload {
    /// Lengths without trial types choose the types that use them; types without lengths take the
    /// paper's lengths. Where both are typed they must fit.
    pub(super) fn from(args: &Args) -> Result<Self, Failure> {
        Self::with_default_trials(args, Trial::value_variants())
    }

    /// The same, with these trial types where neither they nor lengths are typed.
    pub(super) fn with_default_trials(args: &Args, usual: &[Trial]) -> Result<Self, Failure> {
        let typed = TypedLengths::from(&args.lengths)?;
        let mut trials = distinct(&args.trial);
        if trials.is_empty() {
            let all = if typed.none() {
                usual
            } else {
                Trial::value_variants()
            };
            trials = all.to_vec();
            trials.retain(|trial| typed.suit(*trial));
        } else {
            typed.check(&trials)?;
        }
        trials.sort();

        let (series, random) = (
            typed.series.unwrap_or(PAPER_SERIES),
            typed.random.unwrap_or(PAPER_RANDOM),
        );
        let workload = Self {
            sequential: trials
                .iter()
                .any(|trial| !trial.is_random())
                .then(|| Sequential {
                    series,
                    transfers: args.transfers.unwrap_or(series.count()),
                }),
            random: trials.iter().any(|trial| trial.is_random()).then(|| Drawn {
                lengths: random,
                transfers: args.transfers.unwrap_or(PAPER_TRANSFERS),
            }),
            trials,
        };
        match workload.sequential {
            Some(Sequential { transfers, .. }) if transfers > MAX_TRANSFERS => refused(format!(
                "--lengths has {transfers} steps, more than {MAX_TRANSFERS}; make the step larger or \
                 set --transfers"
            )),
            _ => Ok(workload),
        }
    }
}

/// `--lengths`, by kind; both absent if it was not typed.
#[derive(Clone, Copy, Default)]
struct TypedLengths {
    series: Option<Series>,
    random: Option<Random>,
}

impl TypedLengths {
    fn from(typed: &[Lengths]) -> Result<Self, Failure> {
        let mut lengths = Self::default();
        for one in typed {
            let again = match *one {
                Lengths::Series(series) => lengths.series.replace(series).map(|_| "series"),
                Lengths::Random(random) => lengths.random.replace(random).map(|_| "random range"),
            };
            if let Some(kind) = again {
                return refused(format!("--lengths takes one {kind}, not two"));
            }
        }
        Ok(lengths)
    }

    fn none(self) -> bool {
        self.series.is_none() && self.random.is_none()
    }

    /// Whether the trial type has lengths: typed ones, or the paper's if none were typed.
    fn suit(self, trial: Trial) -> bool {
        let typed = if trial.is_random() {
            self.random.is_some()
        } else {
            self.series.is_some()
        };
        typed || self.none()
    }

    fn check(self, trials: &[Trial]) -> Result<(), Failure> {
        if let Some(trial) = trials.iter().find(|trial| !self.suit(**trial)) {
            let (kind, example) = if trial.is_random() {
                ("random lengths", "random:1..100000")
            } else {
                ("a series", "100..100000/100")
            };
            return refused(format!(
                "--trial {} needs {kind}, and --lengths gives none; add {example}",
                trial.letter()
            ));
        }
        let unused = |is_random| !trials.iter().any(|trial| trial.is_random() == is_random);
        if self.series.is_some() && unused(false) {
            return refused("--lengths gives a series, and no trial type uses it".into());
        }
        if self.random.is_some() && unused(true) {
            return refused("--lengths gives random lengths, and no trial type uses them".into());
        }
        Ok(())
    }
}

/// Section 7: "from 100 bytes to 100,000 bytes in steps of 100 bytes".
const PAPER_SERIES: Series = Series {
    from: 100,
    to: 100_000,
    step: 100,
};
/// Section 7: "a uniform random distribution between 1 and 100,000 bytes".
const PAPER_RANDOM: Random = Random {
    from: 1,
    to: 100_000,
};
/// Section 7: "For each trial, we measured 1000 transfers".
const PAPER_TRANSFERS: u64 = 1000;
/// Per trial; more would take days, and all memory.
pub(super) const MAX_TRANSFERS: u64 = 100_000_000;
