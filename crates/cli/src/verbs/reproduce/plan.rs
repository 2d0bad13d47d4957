//! The meaning of the arguments: which experiments, each once and in the papers' order, and with
//! which effort.

use serde::{Serialize, Serializer};
use tinygram_papers::experiment::Effort;
use tinygram_papers::{Experiment, experiments};

use super::args::Args;
use super::{here, measured};
use crate::outcome::Failure;
use crate::shown;

/// What to reproduce. It serialises as the `parameters` of the JSON document: everything that the results depend on, and
/// nothing else.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Plan {
    pub(crate) experiments: Chosen,
    #[serde(flatten)]
    pub(crate) effort: Effort,
    /// Whether to show tables besides a line for each experiment.
    #[serde(skip)]
    pub(crate) shows_tables: bool,
}

/// The experiments. They serialise as their names.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub(crate) simulated: Vec<&'static Experiment>,
    /// What is measured on this kernel. It is not part of all: it takes root, and no two runs are alike.
    pub(crate) here: Vec<&'static Experiment>,
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
            experiments: Chosen {
                simulated: experiments()
                    .into_iter()
                    .filter(|it| by_default || is_named(it))
                    .collect(),
                here,
            },
            effort: Effort {
                seed: args.chance.seed,
                repetitions: args.repetitions,
            },
            shows_tables: args.verbose || !args.id.is_empty(),
        })
    }

    /// Returns whether tolerances are meant for this many repetitions.
    pub(crate) fn is_the_papers_effort(&self) -> bool {
        self.effort.repetitions == Effort::PAPER.repetitions
    }
}

impl Chosen {
    /// Returns all experiments, in the order of the results.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'static Experiment> {
        self.simulated.iter().chain(&self.here).copied()
    }
}

impl Serialize for Chosen {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.all().map(|it| it.id))
    }
}
