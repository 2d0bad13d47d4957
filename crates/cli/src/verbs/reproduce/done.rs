//! Runs the experiments on all threads and counts the results of their rows.

use rayon::ThreadPool;
use rayon::prelude::*;
use tinygram_naglemark::hosts::Model;
use tinygram_naglemark::{Backend, Keep, measure};
use tinygram_papers::experiment::{Outcome, Row, Status};
use tinygram_papers::mogul::tables;
use tinygram_papers::{Experiment, Source};

use super::plan::Plan;
use crate::estimate;
use crate::outcome::Failure;
use crate::terminal::Progress;

/// An experiment and its results.
#[derive(Clone, Debug)]
pub(crate) struct Reproduced {
    pub(crate) experiment: &'static Experiment,
    pub(crate) outcome: Outcome,
}

/// The number of rows of each status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) matches: usize,
    pub(crate) fitted: usize,
    pub(crate) known: usize,
    pub(crate) misses: usize,
    pub(crate) here: usize,
    pub(crate) unpublished: usize,
}

/// Runs every experiment of the plan, with one step of `progress` for each. The results are in the
/// plan's order, whatever thread ran which. What is measured on this kernel runs alone, behind all simulations.
pub(crate) fn reproduce(plan: &Plan, pool: &ThreadPool, progress: &Progress) -> Vec<Reproduced> {
    let run = |experiment: &&'static Experiment| {
        let outcome = (experiment.run)(&plan.effort);
        progress.step();
        Reproduced {
            experiment,
            outcome,
        }
    };
    let alone = plan.experiments.simulated.par_iter().with_max_len(1);
    let mut reproduced: Vec<_> = pool.install(|| alone.map(run).collect());
    reproduced.extend(plan.experiments.here.iter().map(run));
    reproduced
}

/// Prints how long the plan will take, if that is long. Its measurements are nearly all of the
/// work: the other experiments together took 7 % of the time.
pub(crate) fn tell_how_long(plan: &Plan, pool: &ThreadPool) -> Result<(), Failure> {
    let chosen = |table: &u8| {
        let id = format!("mogul-table-{table}");
        plan.experiments.simulated.iter().any(|it| it.id == id)
    };
    let hosts: Vec<_> = (4..=7)
        .filter(chosen)
        .map(|table| tables::hosts(table, Model::Fitted))
        .collect();
    if hosts.is_empty() {
        return Ok(());
    }
    let whole = tables::plan(plan.effort.repetitions, plan.effort.seed);
    let effort = whole.effort() * hosts.len() as u64;
    estimate::tell("reproducing", &whole, hosts.len(), effort, |thin| {
        pool.install(|| {
            let mut hosts = hosts.clone();
            let mut backends: Vec<_> = hosts.iter_mut().map(|it| it as &mut dyn Backend).collect();
            measure(thin, &mut backends, Keep::Scores, &|_| {})
        })?;
        Ok(())
    })
}

impl Tally {
    pub(crate) fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Self {
        let mut tally = Self::default();
        for row in rows {
            *match row.status() {
                Status::Match => &mut tally.matches,
                Status::Fitted => &mut tally.fitted,
                Status::KnownMismatch => &mut tally.known,
                Status::Miss => &mut tally.misses,
                Status::MeasuredHere => &mut tally.here,
                Status::NotPublished => &mut tally.unpublished,
            } += 1;
        }
        tally
    }

    /// Counts the rows that the papers print, without derived ones.
    pub(crate) fn printed<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Self {
        let rows = rows.into_iter();
        Self::of(rows.filter(|row| row.source() == Some(Source::Printed)))
    }

    /// Counts the rows of several experiments.
    pub(crate) fn of_all(reproduced: &[Reproduced]) -> Self {
        Self::of(reproduced.iter().flat_map(|it| &it.outcome.rows))
    }

    /// Returns the number of rows that agree, and of all rows.
    pub(crate) fn agreeing(self) -> (usize, usize) {
        let agreeing = self.matches + self.fitted;
        (agreeing, agreeing + self.known + self.misses)
    }

    /// Returns each count with its status, always in the same order.
    pub(crate) fn counted(self) -> [(Status, usize); 6] {
        [
            (Status::Match, self.matches),
            (Status::Fitted, self.fitted),
            (Status::KnownMismatch, self.known),
            (Status::Miss, self.misses),
            (Status::MeasuredHere, self.here),
            (Status::NotPublished, self.unpublished),
        ]
    }
}
