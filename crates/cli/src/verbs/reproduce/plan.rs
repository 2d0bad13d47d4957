//! The meaning of the arguments: which experiments, each once and in the papers' order, and with
//! which effort.

use serde::Serialize;
use tinygram_papers::experiment::Effort;
use tinygram_papers::{Experiment, experiments};

use super::args::Args;
use super::{here, measured};
use crate::outcome::Failure;
use crate::shown;

/// What to reproduce.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) simulated: Vec<&'static Experiment>,
    /// What is measured on this kernel. It is not part of all: it takes root, and no two runs are alike.
    pub(crate) here: Vec<&'static Experiment>,
    pub(crate) effort: Effort,
    /// Whether to show tables besides a line for each experiment.
    pub(crate) shows_tables: bool,
}

/// Every parameter that results depend on.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Parameters {
    experiments: Vec<&'static str>,
    seed: u64,
    repetitions: u32,
}

impl Plan {
    pub(crate) fn from(args: &Args) -> Result<Self, Failure> {
        let is_named = |experiment: &&Experiment| {
            let mut chosen = args.id.iter().flatten();
            chosen.any(|it| it.id == experiment.id)
        };
        let by_default = args.id.is_empty();
        if args.list && (args.html.is_some() || args.traces.is_some()) {
            let line = "--list measures nothing; --html and --traces show what was measured";
            return Err(Failure::Input(line.into()));
        }
        if args.list && shown::encoding(args.format).is_some() {
            let line = "--list has no rows (accepted: --format text, json, markdown)";
            return Err(Failure::Input(line.into()));
        }
        let here: Vec<_> = (here::EXPERIMENTS.iter())
            .filter(|it| by_default && args.list || is_named(it))
            .collect();
        if !here.is_empty() && !args.list {
            measured::check()?;
        }
        Ok(Self {
            simulated: experiments()
                .into_iter()
                .filter(|it| by_default || is_named(it))
                .collect(),
            here,
            effort: Effort {
                seed: args.chance.seed,
                repetitions: args.repetitions,
            },
            shows_tables: args.verbose || !args.id.is_empty(),
        })
    }

    /// Returns all experiments, in the order of the results.
    pub(crate) fn experiments(&self) -> impl Iterator<Item = &'static Experiment> {
        self.simulated.iter().chain(&self.here).copied()
    }

    pub(crate) fn parameters(&self) -> Parameters {
        Parameters {
            experiments: self.experiments().map(|it| it.id).collect(),
            seed: self.effort.seed,
            repetitions: self.effort.repetitions,
        }
    }

    /// Returns whether tolerances are meant for this many repetitions.
    pub(crate) fn is_the_papers_effort(&self) -> bool {
        self.effort.repetitions == Effort::PAPER.repetitions
    }
}
