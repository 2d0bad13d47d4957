//! The loop: every cell of a plan on every backend, as often as the plan says.

use rayon::prelude::*;

use crate::backend::{Backend, Conditions, Error, VirtualTime};
use crate::outcome::{Keep, Measured, Outcome};
use crate::plan::{Cell, Plan};
use crate::score::{Sums, Work, Yardstick};
use crate::trial::Taken;

/// How far the loop has come.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// A trial of this cell begins on the backend of this name.
    Begins(&'a Cell, &'a str),
    /// So many transfers were made, or need not be made since another cell's serve.
    Transfers(u64),
}

/// Measures all cells of `plan` on all of `backends`; gives an outcome for each backend, in their
/// order. `progress` is told as it goes.
///
/// If all backends have virtual time, cells are spread over the threads of rayon's current pool, and
/// the outcome does not depend on how many there are. Otherwise one trial runs at a time, and of each
/// cell a repetition on each backend in turn, so that the machine's moods befall all of them.
///
/// # Errors
///
/// The first error of a backend.
pub fn measure(
    plan: &Plan,
    backends: &mut [&mut dyn Backend],
    keep: Keep,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<Vec<Outcome>, Error> {
    let conditions: Vec<_> = backends.iter().map(|it| it.conditions()).collect();
    let in_virtual_time: Option<Vec<&dyn VirtualTime>> =
        backends.iter().map(|it| it.virtual_time()).collect();
    if let Some(backends) = in_virtual_time {
        return on_all_threads(plan, conditions, &backends, keep, progress);
    }
    in_turn(plan, conditions, backends, keep, progress)
}

/// A cell on one of the backends, by its place.
struct Job<'a> {
    backend: usize,
    cell: &'a Cell,
    /// The first cell of the same backend, by its place, whose run is the same to the last segment.
    first_alike: usize,
}

fn on_all_threads(
    plan: &Plan,
    conditions: Vec<Conditions>,
    backends: &[&dyn VirtualTime],
    keep: Keep,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<Vec<Outcome>, Error> {
    let cells = plan.cells();
    let jobs: Vec<Job<'_>> = (0..backends.len())
        .flat_map(|backend| jobs(plan, backend, backends[backend], &cells))
        .collect();
    let yardsticks: Vec<_> = conditions
        .iter()
        .map(|it| Yardstick::new(it, plan.multiplier))
        .collect();
    let run = |(at, job): (usize, &Job<'_>)| -> Result<Option<Measured>, Error> {
        if job.first_alike != at % cells.len() {
            return Ok(None);
        }
        progress(Progress::Begins(job.cell, &conditions[job.backend].backend));
        let mut gathered = Gathered::default();
        for repetition in 0..plan.repetitions {
            let taken = backends[job.backend].simulate(&plan.trial(job.cell, repetition))?;
            progress(Progress::Transfers(taken.samples.len() as u64));
            gathered.add(&yardsticks[job.backend], taken, keep);
        }
        Ok(Some(gathered.measured(job.cell.clone())))
    };
    // A cell is work enough to be shared out alone; longer pieces leave a thread idle at the end.
    let alone = jobs.par_iter().enumerate().with_max_len(1);
    let ran = alone.map(run).collect::<Result<Vec<_>, Error>>()?;
    let outcomes = conditions
        .into_iter()
        .enumerate()
        .map(|(backend, conditions)| {
            let begin = backend * cells.len();
            let whole = |at: usize| {
                let alike = begin + jobs[begin + at].first_alike;
                let measured = ran[alike].as_ref().expect("the first of its kind was run");
                if alike == begin + at {
                    return measured.clone();
                }
                progress(Progress::Transfers(measured.score.work.transfers));
                let mut copy = measured.clone();
                copy.cell = cells[at].clone();
                copy.score.work = Work::default();
                copy
            };
            Outcome {
                conditions,
                yardstick: yardsticks[backend],
                is_virtual: true,
                cells: (0..cells.len()).map(whole).collect(),
            }
        });
    Ok(outcomes.collect())
}

/// The cells of a backend, each with the first one that is run as it is.
fn jobs<'a>(
    plan: &Plan,
    backend: usize,
    rules: &dyn VirtualTime,
    cells: &'a [Cell],
) -> impl Iterator<Item = Job<'a>> {
    let first_alike: Vec<usize> = (0..plan.policies.len())
        .map(|at| {
            let is_one_rule =
                |earlier: &usize| rules.is_one_rule(&plan.policies[*earlier], &plan.policies[at]);
            (0..at).find(is_one_rule).unwrap_or(at)
        })
        .collect();
    let per_policy = cells.len() / plan.policies.len().max(1);
    cells.iter().enumerate().map(move |(at, cell)| Job {
        backend,
        cell,
        first_alike: first_alike[at / per_policy] * per_policy + at % per_policy,
    })
}

fn in_turn(
    plan: &Plan,
    conditions: Vec<Conditions>,
    backends: &mut [&mut dyn Backend],
    keep: Keep,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<Vec<Outcome>, Error> {
    let mut outcomes: Vec<Outcome> = conditions
        .into_iter()
        .zip(&*backends)
        .map(|(conditions, backend)| Outcome {
            yardstick: Yardstick::new(&conditions, plan.multiplier),
            conditions,
            is_virtual: backend.virtual_time().is_some(),
            cells: Vec::new(),
        })
        .collect();
    for cell in plan.cells() {
        for backend in &mut *backends {
            warm_up(plan, *backend, &cell)?;
        }
        let mut gathered: Vec<Gathered> = backends.iter().map(|_| Gathered::default()).collect();
        for repetition in 0..plan.repetitions {
            let trial = plan.trial(&cell, repetition);
            for ((backend, of), gathered) in backends.iter_mut().zip(&outcomes).zip(&mut gathered) {
                progress(Progress::Begins(&cell, &of.conditions.backend));
                let mut told = 0;
                let taken = backend.run_telling(&trial, &mut || {
                    told += 1;
                    progress(Progress::Transfers(1));
                })?;
                progress(Progress::Transfers(
                    (taken.samples.len() as u64).saturating_sub(told),
                ));
                gathered.add(&of.yardstick, taken, keep);
            }
        }
        for (of, gathered) in outcomes.iter_mut().zip(gathered) {
            of.cells.push(gathered.measured(cell.clone()));
        }
    }
    Ok(outcomes)
}

/// A few transfers that are not counted.
fn warm_up(plan: &Plan, backend: &mut dyn Backend, cell: &Cell) -> Result<(), Error> {
    if backend.virtual_time().is_some() || plan.warmup == 0 {
        return Ok(());
    }
    let mut trial = plan.trial(cell, 0);
    let few = (plan.warmup as usize).min(trial.lengths.len());
    trial.lengths = trial.lengths[..few].into();
    backend.run(&trial).map(drop)
}

/// A cell's repetitions so far.
#[derive(Default)]
struct Gathered {
    sums: Sums,
    taken: Vec<Taken>,
}

impl Gathered {
    fn add(&mut self, yardstick: &Yardstick, taken: Taken, keep: Keep) {
        self.sums.add(yardstick, &taken);
        let is_kept = match keep {
            Keep::Scores => false,
            Keep::First => self.taken.is_empty(),
            Keep::All => true,
        };
        if is_kept {
            self.taken.push(taken);
        }
    }

    fn measured(self, cell: Cell) -> Measured {
        Measured {
            cell,
            score: self.sums.score(),
            taken: self.taken,
        }
    }
}
