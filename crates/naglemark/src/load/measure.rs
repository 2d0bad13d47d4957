//! The loop, which runs every cell of a plan as often as the plan says.

use rayon::prelude::*;

use super::backend::LoadBackend;
use super::plan::{Demand, LoadCell, LoadPlan};
use super::score::{LoadScore, Sums};
use crate::backend::{Conditions, Error};

/// A row of the results.
#[derive(Clone, Debug)]
pub struct LoadRow {
    /// What was measured.
    pub cell: LoadCell,
    /// Its numbers.
    pub score: LoadScore,
}

impl LoadRow {
    /// Returns whether server and client kept up with what was asked for. `None` if requests were too few to tell, and
    /// for a closed loop, which asks for no more than is answered.
    #[must_use]
    pub fn keeps_up(&self) -> Option<bool> {
        match self.cell.demand {
            Demand::Open(_) | Demand::Course(_) => self.score.keeps_up(),
            Demand::Closed => None,
        }
    }
}

/// The results of a plan on a backend.
#[derive(Clone, Debug)]
pub struct LoadOutcome {
    /// The conditions under which it was measured.
    pub conditions: Conditions,
    /// The rows, in the order of the plan's cells.
    pub rows: Vec<LoadRow>,
}

/// Measures all cells of a plan. Calls `done` after each trial.
///
/// If the backend's time is virtual, cells are spread over the threads of rayon's current pool, and the outcome does
/// not depend on how many there are. Otherwise the repetitions of all cells are interleaved, so that a busy period of
/// the machine affects all of them.
///
/// # Errors
///
/// The first error of the backend.
pub fn measure_load(
    plan: &LoadPlan,
    backend: &dyn LoadBackend,
    done: &(dyn Fn(&LoadCell) + Sync),
) -> Result<LoadOutcome, Error> {
    let cells = plan.cells();
    let sums = if backend.is_virtual() {
        let all = |cell: &LoadCell| repeated(plan, backend, cell, done);
        let cells = cells.par_iter().with_max_len(1);
        cells.map(all).collect::<Result<Vec<_>, Error>>()?
    } else {
        let mut sums = vec![Sums::default(); cells.len()];
        for repetition in 0..plan.repetitions {
            for (cell, sums) in cells.iter().zip(&mut sums) {
                run(plan, backend, cell, repetition, sums)?;
                done(cell);
            }
        }
        sums
    };
    let row = |(cell, sums): (LoadCell, Sums)| LoadRow {
        cell,
        score: sums.score(),
    };
    Ok(LoadOutcome {
        conditions: backend.conditions(),
        rows: cells.into_iter().zip(sums).map(row).collect(),
    })
}

/// Runs all repetitions of a cell.
fn repeated(
    plan: &LoadPlan,
    backend: &dyn LoadBackend,
    cell: &LoadCell,
    done: &(dyn Fn(&LoadCell) + Sync),
) -> Result<Sums, Error> {
    let mut sums = Sums::default();
    for repetition in 0..plan.repetitions {
        run(plan, backend, cell, repetition, &mut sums)?;
        done(cell);
    }
    Ok(sums)
}

fn run(
    plan: &LoadPlan,
    backend: &dyn LoadBackend,
    cell: &LoadCell,
    repetition: u32,
    sums: &mut Sums,
) -> Result<(), Error> {
    let trial = plan.trial(cell, repetition);
    let taken = backend.serve(&trial)?;
    sums.add(&trial, &taken, plan.repetitions);
    Ok(())
}

/// Returns the score of one cell.
pub(super) fn scored(
    plan: &LoadPlan,
    backend: &dyn LoadBackend,
    cell: &LoadCell,
) -> Result<LoadScore, Error> {
    Ok(repeated(plan, backend, cell, &|_| ())?.score())
}
