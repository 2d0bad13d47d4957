//! The trial types that run, their lengths, and the number of transfers of each.

use tinygram_naglemark::{Lengths, Random, Series, TrialType};

use super::super::args::{Args, LengthChoice, MAX_TRANSFERS};
use super::refused;
use crate::outcome::Failure;
use crate::values::TypedLengths;

/// The trial types and their lengths; the paper's lengths of a kind that no type uses.
pub(super) struct Workload {
    pub(super) trial_types: Vec<TrialType>,
    pub(super) lengths: Lengths,
}

impl Workload {
    /// Lengths without trial types select the types that use them. Types without lengths use the
    /// paper's lengths. If both are given they must match. If neither is given, the types are the
    /// `usual` ones.
    pub(super) fn from(args: &Args, usual: &[TrialType]) -> Result<Self, Failure> {
        let typed = Typed::from(&args.lengths)?;
        let mut trial_types = super::distinct(&args.trial);
        if trial_types.is_empty() {
            let all = if typed.none() { usual } else { &TrialType::ALL };
            trial_types = all.to_vec();
            trial_types.retain(|it| typed.suit(*it));
        } else {
            typed.check(&trial_types)?;
        }
        trial_types.sort();

        let mut lengths = Lengths::PAPER;
        if trial_types.iter().any(|it| !it.is_random()) {
            let series = typed.series.unwrap_or(lengths.series);
            lengths.series = Series {
                transfers: args.transfers.unwrap_or(series.transfers),
                ..series
            };
        }
        if trial_types.iter().any(|it| it.is_random()) {
            let random = typed.random.unwrap_or(lengths.random);
            lengths.random = Random {
                transfers: args.transfers.unwrap_or(random.transfers),
                run: run(args),
                ..random
            };
        }
        match lengths.series.transfers {
            transfers if transfers > MAX_TRANSFERS => refused(format!(
                "--lengths has {transfers} steps, more than {MAX_TRANSFERS}; make the step larger or \
                 set --transfers"
            )),
            _ => Ok(Self {
                trial_types,
                lengths,
            }),
        }
    }
}

/// Returns how many consecutive transfers share a random length.
fn run(args: &Args) -> u32 {
    match (args.length_choice, args.requests_per_connection) {
        (None | Some(LengthChoice::PerRequest), _) => 1,
        (Some(LengthChoice::PerConnection), None) => u32::MAX,
        (Some(LengthChoice::PerConnection), Some(count)) => count,
    }
}

/// The lengths of `--lengths`, by kind; both absent if it was not given.
#[derive(Clone, Copy, Default)]
struct Typed {
    series: Option<Series>,
    random: Option<Random>,
}

impl Typed {
    fn from(typed: &[TypedLengths]) -> Result<Self, Failure> {
        let mut lengths = Self::default();
        for one in typed {
            let again = match *one {
                TypedLengths::Series(series) => lengths.series.replace(series).map(|_| "series"),
                TypedLengths::Random(random) => {
                    lengths.random.replace(random).map(|_| "random range")
                }
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

    /// Returns whether the trial type has lengths: given ones, or the paper's if none were given.
    fn suit(self, trial: TrialType) -> bool {
        let typed = if trial.is_random() {
            self.random.is_some()
        } else {
            self.series.is_some()
        };
        typed || self.none()
    }

    fn check(self, trials: &[TrialType]) -> Result<(), Failure> {
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
