//! The knee of a policy: the highest load that it carries without a long queue. It is searched for, not chosen.

use rayon::prelude::*;

use super::backend::LoadBackend;
use super::measure::scored;
use super::plan::{Demand, LoadCell, LoadPlan};
use super::score::LoadScore;
use crate::backend::Error;

/// What counts as a long queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KneeRule {
    /// The knee is the highest rate at which the 99th percentile is at most this many times that of the unloaded server,
    /// and the server keeps up.
    pub times: f64,
    /// The server is unloaded at this share of the capacity.
    pub unloaded: f64,
    /// The search ends when the highest rate that is carried and the lowest above it that is not are this close, as a
    /// share of the capacity.
    pub within: f64,
}

impl Default for KneeRule {
    fn default() -> Self {
        Self {
            times: 5.0,
            unloaded: 0.01,
            within: 0.01,
        }
    }
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Knees {
    /// The capacity: the most answers a second of any policy in a closed loop.
    pub capacity: f64,
    /// The 99th percentile of the unloaded server, in milliseconds: the least of all policies.
    pub unloaded_ms: f64,
    /// The knee of each cell, in requests a second; `None` if even the unloaded server is slower. The cells' demands are
    /// closed loops.
    pub knees: Vec<(LoadCell, Option<f64>)>,
}

/// Returns the most answers a second of any policy of the plan, with every connection as full as its depth allows.
///
/// # Errors
///
/// The first error of the backend.
pub fn capacity(plan: &LoadPlan, backend: &dyn LoadBackend) -> Result<f64, Error> {
    let closed = LoadPlan {
        demands: vec![Demand::Closed],
        ..plan.clone()
    };
    let answered = |cell: &LoadCell| {
        let score = scored(&closed, backend, cell)?;
        Ok(score.answered_per_second.value)
    };
    let all = each(&closed, backend, answered)?;
    Ok(all.into_iter().fold(0.0, f64::max))
}

/// Searches the knee of every policy with every ACK policy of the plan.
///
/// The search goes down from the capacity in steps of a fifth until a rate is carried, and then halves the distance to the
/// lowest rate above it that is not. So of a policy that stalls when there is little to do, the highest knee is found.
///
/// # Errors
///
/// The first error of the backend.
pub fn knees(
    plan: &LoadPlan,
    backend: &dyn LoadBackend,
    rule: KneeRule,
    capacity: f64,
) -> Result<Knees, Error> {
    let closed = LoadPlan {
        demands: vec![Demand::Closed],
        ..plan.clone()
    };
    let at = |cell: &LoadCell, rate: f64| {
        let cell = LoadCell {
            demand: Demand::Open(rate),
            ..cell.clone()
        };
        scored(plan, backend, &cell)
    };
    let unloaded = each(&closed, backend, |cell| {
        Ok(at(cell, capacity * rule.unloaded)?.p99_ms.value)
    })?;
    let unloaded_ms = unloaded.into_iter().fold(f64::INFINITY, f64::min);
    let bound = unloaded_ms * rule.times;
    let carried = |score: &LoadScore| score.p99_ms.value <= bound && !score.falls_behind();
    let knee = |cell: &LoadCell| {
        let (mut low, mut high) = (capacity, capacity * 2.0);
        while !carried(&at(cell, low)?) {
            (low, high) = (low * DOWN, low);
            if low < capacity * rule.unloaded {
                return Ok(None);
            }
        }
        while high - low > capacity * rule.within {
            let middle = (low + high) / 2.0;
            match carried(&at(cell, middle)?) {
                true => low = middle,
                false => high = middle,
            }
        }
        Ok(Some(low))
    };
    let found = each(&closed, backend, knee)?;
    Ok(Knees {
        capacity,
        unloaded_ms,
        knees: closed.cells().into_iter().zip(found).collect(),
    })
}

/// Returns what `of` returns for each cell of the plan, in order.
fn each<T: Send>(
    plan: &LoadPlan,
    backend: &dyn LoadBackend,
    of: impl Fn(&LoadCell) -> Result<T, Error> + Sync + Send,
) -> Result<Vec<T>, Error> {
    let cells = plan.cells();
    match backend.is_virtual() {
        true => cells.par_iter().with_max_len(1).map(of).collect(),
        false => cells.iter().map(of).collect(),
    }
}

/// By how much the search goes down at a time.
const DOWN: f64 = 0.8;
