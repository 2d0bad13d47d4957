//! The loop, which runs every cell of a plan on every backend, as often as the plan says.

use rayon::prelude::*;

use crate::backend::{Backend, Conditions, Error, Share, VirtualTime};
use crate::outcome::{Keep, Measured, Outcome};
use crate::plan::{Cell, Plan};
use crate::score::{Sums, Yardstick};
use crate::trial::{Taken, Trial};

/// How far the loop has come.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// A trial of this cell begins on the backend of this name.
    Begins(&'a Cell, &'a str),
    /// This many transfers were made, or need not be made because another cell's transfers count
    /// for them.
    Transfers(u64),
}

/// Measures all cells of `plan` on all of `backends`. Returns an outcome for each backend, in their
/// order. Calls `progress` while it runs.
///
/// If all backends have virtual time, cells are spread over the threads of rayon's current pool, and
/// the outcome does not depend on how many there are. Otherwise one trial runs at a time, and the
/// repetitions of a cell alternate between the backends, so that a busy period of the machine
/// affects all of them.
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

/// Cells of one backend that differ only in their policies, as indices: one for each policy of the
/// plan.
struct Group {
    backend: usize,
    cells: Vec<usize>,
}

fn on_all_threads(
    plan: &Plan,
    conditions: Vec<Conditions>,
    backends: &[&dyn VirtualTime],
    keep: Keep,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<Vec<Outcome>, Error> {
    let cells = plan.cells();
    let groups: Vec<Group> = (0..backends.len())
        .flat_map(|backend| groups(plan, backend, cells.len()))
        .collect();
    let yardsticks: Vec<_> = conditions
        .iter()
        .map(|it| Yardstick::new(it, plan.multiplier))
        .collect();
    let run = |group: &Group| -> Result<Vec<Measured>, Error> {
        let of_group = || group.cells.iter().map(|at| &cells[*at]);
        of_group().for_each(|cell| {
            progress(Progress::Begins(cell, &conditions[group.backend].backend));
        });
        let mut gathered: Vec<_> = of_group().map(|_| Gathered::default()).collect();
        for repetition in 0..plan.repetitions {
            let trial = plan.trial(&cells[group.cells[0]], repetition);
            let shares = backends[group.backend].simulate_each(&trial, &plan.policies)?;
            for share in &shares {
                whole(&share.taken, &trial, &conditions[group.backend].backend)?;
            }
            for (gathered, share) in gathered.iter_mut().zip(shares) {
                progress(Progress::Transfers(share.taken.samples.len() as u64));
                gathered.add(&yardsticks[group.backend], share, keep);
            }
        }
        let measured = gathered.into_iter().zip(of_group());
        Ok(measured
            .map(|(it, cell)| it.measured(cell.clone()))
            .collect())
    };
    // A single group is enough work for a thread; larger pieces would leave a thread idle at the
    // end.
    let alone = groups.par_iter().with_max_len(1);
    let ran = alone.map(run).collect::<Result<Vec<_>, Error>>()?;
    let mut outcomes: Vec<Outcome> = conditions
        .into_iter()
        .zip(&yardsticks)
        .map(|(conditions, yardstick)| Outcome {
            conditions,
            yardstick: *yardstick,
            is_virtual: true,
            cells: Vec::new(),
        })
        .collect();
    let mut placed: Vec<_> = groups
        .iter()
        .zip(ran)
        .flat_map(|(group, ran)| group.cells.iter().map(|at| (group.backend, *at)).zip(ran))
        .collect();
    placed.sort_by_key(|(place, _)| *place);
    for ((backend, _), measured) in placed {
        outcomes[backend].cells.push(measured);
    }
    Ok(outcomes)
}

/// Returns a backend's `count` cells in groups.
fn groups(plan: &Plan, backend: usize, count: usize) -> impl Iterator<Item = Group> {
    let (policies, per_policy) = (plan.policies.len(), count / plan.policies.len().max(1));
    (0..per_policy).map(move |first| Group {
        backend,
        cells: (0..policies)
            .map(|policy| policy * per_policy + first)
            .collect(),
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
                whole(&taken, &trial, &of.conditions.backend)?;
                progress(Progress::Transfers(
                    (taken.samples.len() as u64).saturating_sub(told),
                ));
                gathered.add(
                    &of.yardstick,
                    Share {
                        taken,
                        is_own: true,
                    },
                    keep,
                );
            }
        }
        for (of, gathered) in outcomes.iter_mut().zip(gathered) {
            of.cells.push(gathered.measured(cell.clone()));
        }
    }
    Ok(outcomes)
}

/// Refuses a result that is not of each of the trial's lengths, in their order: what is missing would count as never
/// delayed.
fn whole(taken: &Taken, trial: &Trial, backend: &str) -> Result<(), Error> {
    let made = taken.samples.iter().map(|sample| sample.length);
    if made.eq(trial.lengths.iter().copied()) {
        return Ok(());
    }
    let why = format!(
        "its {} transfers are not those of the trial's {} lengths",
        taken.samples.len(),
        trial.lengths.len()
    );
    Err(Error::failed(format!("measuring {backend}"), why))
}

/// Makes a few transfers that are not counted.
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
    fn add(&mut self, yardstick: &Yardstick, share: Share, keep: Keep) {
        let Share { taken, is_own } = share;
        self.sums.add(yardstick, &taken, is_own);
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
