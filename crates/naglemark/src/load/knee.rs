//! The knee of a policy: the highest load that it carries without a long queue. It is searched for, not chosen.

use rayon::prelude::*;
use tinygram_engine::Duration;

use super::backend::LoadBackend;
use super::measure::scored;
use super::plan::{Demand, LoadCell, LoadPlan};
use super::score::LoadScore;
use crate::backend::Error;

/// What counts as a long queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KneeRule {
    /// A rate is carried if the 99th percentile is at most this many times that of the unloaded server, and the server
    /// is known to keep up. The knee is the highest rate that the search tried and that is carried.
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
    /// The knee of each cell, in requests a second; `None` if no rate that was tried is carried. The cells' demands are
    /// closed loops.
    pub knees: Vec<(LoadCell, Option<f64>)>,
}

/// Returns the most answers a second of any policy of the plan, with every connection as full as its depth allows. Calls
/// `done` after each cell.
///
/// # Errors
///
/// [`Error::Nothing`] if no answer came in the measured time, and the first error of the backend.
pub fn capacity(
    plan: &LoadPlan,
    backend: &dyn LoadBackend,
    done: &(dyn Fn(&LoadCell) + Sync),
) -> Result<f64, Error> {
    let closed = LoadPlan {
        demands: vec![Demand::Closed],
        // What is answered later does not count.
        patience: Duration::ZERO,
        ..plan.clone()
    };
    let answered = |cell: &LoadCell| {
        let score = scored(&closed, backend, cell)?;
        done(cell);
        Ok(score.answered_per_second.value)
    };
    let all = each(&closed, backend, answered)?;
    let most = all.into_iter().fold(0.0, f64::max);
    match most > 0.0 {
        true => Ok(most),
        false => Err(Error::Nothing { came: "answer" }),
    }
}

/// Searches the knee of every policy with every ACK policy of the plan. Calls `done` after each.
///
/// The search goes down from the capacity in steps of a fifth until a rate is carried, and then halves the distance to the
/// lowest rate above it that is not. A policy may carry much and stall when there is little to do, so it is searched from
/// above. Rates that are carried between two steps that are not stay unseen.
///
/// # Errors
///
/// [`Error::Nothing`] if no request came to the unloaded server in the measured time, and the first error of the backend.
pub fn knees(
    plan: &LoadPlan,
    backend: &dyn LoadBackend,
    rule: KneeRule,
    capacity: f64,
    done: &(dyn Fn(&LoadCell) + Sync),
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
        let p99 = at(cell, capacity * rule.unloaded)?.p99_ms;
        Ok(p99.ok_or(Error::Nothing { came: "request" })?.value)
    })?;
    let unloaded_ms = unloaded.into_iter().fold(f64::INFINITY, f64::min);
    let bound = unloaded_ms * rule.times;
    let carried = |score: &LoadScore| {
        let is_quick = score.p99_ms.is_some_and(|it| it.value <= bound);
        is_quick && score.keeps_up() == Some(true)
    };
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
    let found = each(&closed, backend, |cell| {
        let found = knee(cell)?;
        done(cell);
        Ok(found)
    })?;
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
