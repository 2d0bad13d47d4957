//! Runs cells on all threads, and gathers what came of them in order.

use std::collections::BTreeMap;

use rayon::prelude::*;
use tinygram_engine::sender::send_policy::SendPolicy;

use crate::parameters::Parameters;
use crate::score::{Cell, Work, cell};

/// A cell to be measured.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The paper's table, if it is one of its cells.
    pub table: Option<u8>,
    /// The variant's label.
    pub variant: &'static str,
    /// The trial.
    pub parameters: Parameters,
}

/// Measures all of `wanted` on all threads of the pool, in order; `done` is told after each cell.
///
/// Where two cells cannot differ in anything but their names, one run serves both.
#[must_use]
pub fn measure(
    wanted: &[Wanted],
    repetitions: u32,
    multiplier: u32,
    done: &(dyn Fn(&Cell) + Sync),
) -> Vec<Cell> {
    let first_alike = first_alike(wanted);
    let run = |(index, wanted): (usize, &Wanted)| {
        let Wanted {
            table,
            variant,
            parameters,
        } = wanted;
        (first_alike[index] == index).then(|| {
            let cell = cell(*table, variant, parameters, repetitions, multiplier);
            done(&cell);
            cell
        })
    };
    // A cell is work enough to be shared out alone; longer pieces leave a thread idle at the end.
    let alone = wanted.par_iter().enumerate().with_max_len(1);
    let cells: Vec<Option<Cell>> = alone.map(run).collect();
    let whole = |(index, wanted): (usize, &Wanted)| {
        let original = cells[first_alike[index]]
            .clone()
            .expect("the first of its kind is run");
        if first_alike[index] == index {
            return original;
        }
        let Wanted { table, variant, .. } = *wanted;
        let copy = Cell {
            table,
            variant,
            work: Work::default(),
            ..original
        };
        done(&copy);
        copy
    };
    wanted.iter().enumerate().map(whole).collect()
}

/// For each cell, the first one whose run is the same to the last segment: under the fitted model's
/// MORE, MINSHALL and MIN+MORE are one rule, and so are EOM and E+M.
fn first_alike(wanted: &[Wanted]) -> Vec<usize> {
    let mut seen = BTreeMap::new();
    let first = |(index, wanted): (usize, &Wanted)| {
        let mut parameters = wanted.parameters.clone();
        if parameters.model.is_fitted() {
            parameters.policy = parameters.policy.under_more();
        }
        match parameters.policy {
            // Two closures look alike from outside.
            SendPolicy::Custom(_) => index,
            _ => *seen.entry(format!("{parameters:?}")).or_insert(index),
        }
    };
    wanted.iter().enumerate().map(first).collect()
}
