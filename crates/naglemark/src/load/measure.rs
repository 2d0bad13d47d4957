//! The loop, which runs every cell of a plan as often as the plan says.

use rayon::prelude::*;
use tinygram_sim::dice::{Dice, Purpose};

use super::backend::LoadBackend;
use super::plan::{Demand, LoadCell, LoadPlan};
use super::score::{LoadScore, Sums};
use crate::backend::{Conditions, Error};
use crate::plan::seed_of;

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
/// not depend on how many there are. Otherwise the repetitions of all cells are interleaved in random order, those of one
/// demand next to each other, so that a busy period of the machine affects all of them.
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
            for at in shuffled(&cells, plan.demands.len(), seed_of(plan.seed, repetition)) {
                run(plan, backend, &cells[at], repetition, &mut sums[at])?;
                done(&cells[at]);
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

/// Returns the indices of all cells, those of one demand next to each other, and apart from that in random order. Each
/// policy has all demands, in their order.
fn shuffled(cells: &[LoadCell], demands: usize, seed: u64) -> Vec<usize> {
    let mut dice = Dice::new(seed, Purpose::Order);
    let mut shuffle = |mut items: Vec<usize>| {
        for last in (1..items.len()).rev() {
            items.swap(last, dice.below(last as u64 + 1) as usize);
        }
        items
    };
    let groups = shuffle((0..demands).collect());
    let of_demand = |demand: usize| (demand..cells.len()).step_by(demands).collect();
    groups
        .into_iter()
        .flat_map(|it| shuffle(of_demand(it)))
        .collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::LoadPlan;

    #[test]
    fn each_cell_has_its_turn_and_those_of_a_demand_are_neighbours() {
        let plan = LoadPlan {
            demands: [1.0, 2.0, 3.0].map(Demand::Open).into(),
            ..LoadPlan::default()
        };
        let cells = plan.cells();
        let orders: Vec<_> = (0..20).map(|seed| shuffled(&cells, 3, seed)).collect();
        for order in &orders {
            let mut all = order.clone();
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2, 3, 4, 5]);
            for two in order.chunks(2) {
                assert_eq!(cells[two[0]].demand, cells[two[1]].demand);
            }
        }
        let firsts = |cell| orders.iter().filter(|order| order[0] == cell).count();
        assert!((0..6).all(|cell| firsts(cell) < 20), "the order is random");
    }
}
