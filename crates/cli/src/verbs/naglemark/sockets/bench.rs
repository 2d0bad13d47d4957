//! Runs every cell on every backend, a repetition of each backend in turn so that the machine's
//! moods befall all of them, and sums up.

use tinygram_engine::Duration;
use tinygram_naglemark::parameters::{Measured, MediumKind, Parameters, Sample};
use tinygram_naglemark::score::{self, is_delayed};

use super::super::show::{Cell, Panel, Trace, Transfer, Yardstick};
use super::outliers::{self, Outliers};
use super::plan::Plan;
use super::policy::Policy;
use super::trial::{Backend, Conditions, Taken, Trial};
use crate::exit::Failure;
use crate::terminal::Progress;

/// What came of a backend.
pub(super) struct Results {
    pub(super) conditions: Conditions,
    /// In the order of the plan.
    pub(super) cells: Vec<CellResults>,
    shows_transfers: bool,
}

/// What came of a cell.
pub(super) struct CellResults {
    pub(super) policy: Policy,
    pub(super) parameters: Parameters,
    /// One for each repetition.
    pub(super) taken: Vec<Taken>,
}

/// Measures all cells of the plan.
pub(super) fn measure(
    plan: &Plan,
    backends: &mut [Box<dyn Backend>],
    shows_transfers: bool,
    progress: &Progress,
) -> Result<Vec<Results>, Failure> {
    let mut results: Vec<Results> = backends
        .iter()
        .map(|backend| {
            let conditions = backend.conditions();
            let cells = plan.cells(conditions.mss).into_iter();
            Results {
                cells: cells.map(CellResults::new).collect(),
                conditions,
                shows_transfers,
            }
        })
        .collect();
    let count = results.first().map_or(0, |of| of.cells.len());
    for index in 0..count {
        for (backend, of) in backends.iter_mut().zip(&results) {
            warm_up(plan, backend.as_mut(), &of.cells[index])?;
        }
        for repetition in 0..plan.repetitions {
            for (backend, of) in backends.iter_mut().zip(&mut results) {
                let name = of.conditions.backend;
                let cell = &mut of.cells[index];
                progress.says(format!("{} on {name}", cell.policy.label()));
                let taken = backend.run(&cell.trial(repetition), &mut || progress.step())?;
                cell.taken.push(taken);
            }
        }
    }
    Ok(results)
}

/// A few transfers that are not counted: code and caches are cold at first.
fn warm_up(plan: &Plan, backend: &mut dyn Backend, cell: &CellResults) -> Result<(), Failure> {
    if backend.conditions().backend == "sim" || plan.warmup == 0 {
        return Ok(());
    }
    let mut trial = cell.trial(0);
    trial.lengths = trial
        .lengths
        .iter()
        .copied()
        .take(plan.warmup as usize)
        .collect();
    backend.run(&trial, &mut || {}).map(drop)
}

impl CellResults {
    fn new((policy, parameters): (Policy, Parameters)) -> Self {
        Self {
            policy,
            parameters,
            taken: Vec::new(),
        }
    }

    fn trial(&self, repetition: u32) -> Trial {
        let parameters = self.parameters.repetition(repetition);
        let one_each = if parameters.trial.one_connection() {
            usize::MAX
        } else {
            1
        };
        Trial {
            policy: self.policy,
            app_buffer: parameters.app_buffer,
            socket_buffer: parameters.socket_buffer,
            lengths: parameters.lengths.draw(parameters.trial, parameters.seed),
            requests_per_connection: parameters.requests_per_connection.unwrap_or(one_each),
            seed: parameters.seed,
        }
    }

    /// Whether a transfer counts as delayed.
    pub(super) fn delays(&self, plan: &Plan, sample: &Sample) -> bool {
        let Parameters { medium, rtt, .. } = &self.parameters;
        is_delayed(medium, *rtt, sample, plan.multiplier.into())
    }

    /// Whether the machine was quiet enough for it.
    fn outliers(&self, plan: &Plan) -> Option<Outliers> {
        let samples = self.taken.iter().flat_map(|taken| &taken.samples);
        let undelayed: Vec<f64> = samples
            .filter(|sample| !self.delays(plan, sample))
            .map(|sample| sample.elapsed.as_nanos() as f64 / 1e6)
            .collect();
        outliers::found(&undelayed)
    }

    /// As remarks call it.
    fn name(&self) -> String {
        let size = tinygram_report::units::size;
        format!(
            "{} {}/{} {}",
            self.policy.label(),
            size(self.parameters.app_buffer),
            size(self.parameters.socket_buffer),
            self.parameters.trial.letter()
        )
    }

    fn cell(&self, plan: &Plan, conditions: &Conditions) -> Cell {
        let measured: Vec<Measured> = self.taken.iter().map(measured).collect();
        let cell = score::summed(
            self.policy.label(),
            &self.parameters,
            &measured,
            plan.multiplier.into(),
        );
        let counts_short = self
            .taken
            .iter()
            .all(|taken| taken.short_segments.is_some());
        Cell {
            table: None,
            backend: conditions.backend.into(),
            medium: conditions.link.clone(),
            variant: cell.variant.into(),
            app_buffer: cell.app_buffer,
            socket_buffer: cell.socket_buffer,
            trial: cell.trial.letter(),
            score_percent: cell.score_percent,
            score_sd: cell.score_sd,
            segments_per_transfer: cell.segments_per_transfer,
            short_segments_per_transfer: counts_short.then_some(cell.short_segments_per_transfer),
            mean_elapsed_ms: cell.mean_elapsed_ms,
            p99_elapsed_ms: cell.p99_elapsed_ms,
            slope_ns_per_byte: cell.slope_ns_per_byte,
            segments_over_fewest: cell.segments_over_fewest,
            elapsed_over_earliest: cell.elapsed_over_earliest,
            published_trial: None,
            published_score_percent: None,
        }
    }

    /// The transfers of the first repetition, as a figure shows them.
    fn trace(&self) -> Trace {
        let samples = self.taken.first().map_or(&[][..], |taken| &taken.samples);
        let every = samples.len().div_ceil(super::super::bench::SHOWN).max(1);
        let transfers = samples.iter().step_by(every).map(|sample| Transfer {
            length: sample.length.into(),
            elapsed_us: sample.elapsed.as_nanos() / 1000,
        });
        Trace {
            variant: self.policy.label().into(),
            app_buffer: self.parameters.app_buffer,
            socket_buffer: self.parameters.socket_buffer,
            trial: self.parameters.trial.letter(),
            transfers: transfers.collect(),
        }
    }
}

impl Results {
    /// What a reader of the figures should know, for standard error: the few cells that were measured
    /// on a busy machine, or the worst of many.
    pub(super) fn remarks(&self, plan: &Plan) -> Vec<String> {
        let backend = self.conditions.backend;
        if backend == "sim" {
            return Vec::new();
        }
        let found = self.cells.iter();
        let mut found: Vec<_> = found
            .filter_map(|cell| Some((cell.outliers(plan)?, cell)))
            .collect();
        found.sort_by(|(one, _), (other, _)| other.share().total_cmp(&one.share()));
        let line = |(outliers, cell): &(Outliers, &CellResults)| {
            format!("tinygram: {backend}, {}: {outliers}", cell.name())
        };
        match found.len() {
            0..=FEW => found.iter().map(line).collect(),
            many => vec![format!(
                "{}; so it is for {} more of {} cells",
                line(&found[0]),
                many - 1,
                self.cells.len()
            )],
        }
    }

    /// As the reports take it.
    pub(super) fn panel(&self, plan: &Plan) -> Panel {
        let Conditions {
            backend, link, mss, ..
        } = &self.conditions;
        let cells = self.cells.iter();
        let mut panel = Panel {
            title: format!("Scores of {backend} over {link} (MSS {mss})"),
            cells: cells
                .clone()
                .map(|cell| cell.cell(plan, &self.conditions))
                .collect(),
            notes: Vec::new(),
            yardstick: yardstick(plan),
            traces: Vec::new(),
        };
        if self.shows_transfers {
            panel.traces = cells.map(CellResults::trace).collect();
        }
        panel
    }
}

/// The line that [`is_delayed`] draws.
fn yardstick(plan: &Plan) -> Yardstick {
    let medium = MediumKind::PointToPoint {
        bits_per_second: plan.rate_bits_per_second,
    };
    let at_zero = score::estimate(&medium, 0).as_nanos() as f64;
    Yardstick {
        startup_ms: at_zero / 1e6 + plan.rtt.as_secs_f64() * 1e3,
        ns_per_byte: 8e9 / plan.rate_bits_per_second as f64,
        multiplier: plan.multiplier.into(),
    }
}

fn measured(taken: &Taken) -> Measured {
    Measured {
        samples: taken.samples.clone(),
        data_segments: taken.data_segments,
        short_segments: taken.short_segments.unwrap_or(0),
        retransmitted_segments: taken.retransmitted,
        acks: 0,
        events: 0,
        simulated: Duration::ZERO,
    }
}

/// So many cells are remarked on one by one.
const FEW: usize = 3;
