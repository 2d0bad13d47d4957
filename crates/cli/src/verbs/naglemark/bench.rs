//! Runs the experiments on all threads and gathers what is shown of each.

use std::fmt;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use rayon::prelude::*;
use tinygram_naglemark::measure::{self, Wanted};
use tinygram_naglemark::score::{self, Work};
use tinygram_papers::mogul::tables::{Entry, Miss, entries, mean_distance, misses};
use tinygram_report::units::{grouped, size};
use tinygram_sim::medium::{Frame, Side};

use super::args::{Medium, Model, Trial};
use super::experiment::{medium, table, wanted};
use super::plan::{Link, PAPER_REPETITIONS, Plan};
use super::show::{Cell, Panel, Trace, Transfer, Yardstick};
use crate::exit::Failure;
use crate::terminal::Progress;

/// What a run gives.
pub(crate) struct Measured {
    /// One per medium.
    pub(crate) panels: Vec<Panel>,
    /// What the plan's capture saw: who sent what.
    pub(crate) seen: Vec<(Side, Frame)>,
    pub(crate) stats: Stats,
}

/// What the run did and what it took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stats {
    work: Work,
    elapsed: Duration,
    threads: usize,
}

/// How a plan is run, as far as its results do not depend on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// All cores if absent.
    pub(crate) threads: Option<u16>,
    /// Single transfers will be shown.
    pub(crate) keeps_transfers: bool,
    /// The other model's distance from the paper is measured as well, with one repetition.
    pub(crate) compares_models: bool,
}

impl Manner {
    /// The steps of progress that running `plan` takes.
    pub(crate) fn steps(self, plan: &Plan) -> u64 {
        let compared = if self.compares_models {
            plan.media
                .iter()
                .filter(|link| is_whole_table(plan, link))
                .count()
        } else {
            0
        };
        (plan.cells() / plan.media.len() * (plan.media.len() + compared)) as u64
    }
}

/// Measures every cell of the plan, one step of `progress` per cell.
pub(crate) fn measure(
    plan: &Plan,
    manner: Manner,
    progress: &Progress,
) -> Result<Measured, Failure> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(manner.threads.unwrap_or(0).into())
        .build()
        .map_err(|error| Failure::Input(format!("--threads: {error}")))?;
    #[allow(clippy::disallowed_methods)] // how long the machine takes is about the real world
    let began = Instant::now();
    let mut work = Work::default();
    let mut panels = Vec::new();
    let mut seen = Vec::new();
    for link in &plan.media {
        let wanted = wanted(plan, link);
        let cells = pool.install(|| cells(plan, &wanted, progress));
        work = cells.iter().fold(work, |work, cell| work.and(cell.work));
        let mut panel = panel(plan, link, &cells);
        panel.notes.extend(distance(plan, link, &cells));
        if manner.compares_models && is_whole_table(plan, link) {
            panel.notes.extend(verdict(plan, link, &cells));
            let other = plan.with_other_model();
            let cells = pool.install(|| cells_of(&other, link, progress));
            work = cells.iter().fold(work, |work, cell| work.and(cell.work));
            panel.notes.extend(distance(&other, link, &cells));
        }
        if manner.keeps_transfers {
            panel.traces = pool.install(|| wanted.par_iter().map(trace).collect());
        }
        panels.push(panel);
        if let (Some(at), [only]) = (plan.capture, &wanted[..]) {
            seen = only
                .parameters
                .repetition(0)
                .captured(at.side(Side::Server));
        }
    }
    let stats = Stats {
        work,
        elapsed: began.elapsed(),
        threads: pool.current_num_threads(),
    };
    Ok(Measured {
        panels,
        seen,
        stats,
    })
}

fn cells_of(plan: &Plan, link: &Link, progress: &Progress) -> Vec<score::Cell> {
    cells(plan, &wanted(plan, link), progress)
}

/// In the order in which they are wanted, whatever thread measures which.
fn cells(plan: &Plan, wanted: &[Wanted], progress: &Progress) -> Vec<score::Cell> {
    let step = |_: &score::Cell| progress.step();
    measure::measure(wanted, plan.repetitions, plan.multiplier.into(), &step)
}

fn panel(plan: &Plan, link: &Link, cells: &[score::Cell]) -> Panel {
    let published = table(plan, link);
    let mut title = format!("Scores for {} (MSS {})", name(link.medium), link.mss);
    if let Some(table) = published {
        title = format!("Table {}: {}", table.number, table.caption);
    } else if plan.infer {
        title += ", receiver inferring the sender's buffer size";
    }
    let cells = cells.iter().map(|cell| {
        let published = published
            .filter(|_| cell.table.is_some())
            .and_then(|table| table.published(cell.variant, cell.app_buffer, cell.socket_buffer));
        Cell {
            table: cell.table,
            backend: "sim".to_owned(),
            medium: cell.medium.to_owned(),
            variant: cell.variant.to_owned(),
            app_buffer: cell.app_buffer,
            socket_buffer: cell.socket_buffer,
            trial: cell.trial.letter(),
            score_percent: cell.score_percent,
            score_sd: cell.score_sd,
            segments_per_transfer: cell.segments_per_transfer,
            short_segments_per_transfer: Some(cell.short_segments_per_transfer),
            mean_elapsed_ms: cell.mean_elapsed_ms,
            p99_elapsed_ms: cell.p99_elapsed_ms,
            slope_ns_per_byte: cell.slope_ns_per_byte,
            segments_over_fewest: cell.segments_over_fewest,
            elapsed_over_earliest: cell.elapsed_over_earliest,
            published_trial: published.map(|(trial, _)| trial),
            published_score_percent: published.map(|(_, score)| score),
        }
    });
    Panel {
        title,
        cells: cells.collect(),
        notes: Vec::new(),
        yardstick: yardstick(plan, link),
        traces: Vec::new(),
    }
}

/// How far the cells are from the paper's, where they can be compared.
fn distance(plan: &Plan, link: &Link, cells: &[score::Cell]) -> Option<String> {
    let table = table(plan, link).filter(|_| is_whole_table(plan, link))?;
    let mean = mean_distance(table, &entries(cells));
    let model = match plan.model {
        Model::Literal => "literal",
        Model::Fitted => "fitted",
    };
    Some(format!(
        "Mean distance of the {model} model from the paper's scores: {mean:.2} points \
         (repetitions: {}).",
        plan.repetitions
    ))
}

/// Which entries are further from the paper's than the tolerance that the fitted model is held to.
fn verdict(plan: &Plan, link: &Link, cells: &[score::Cell]) -> Option<String> {
    let table = table(plan, link).filter(|_| plan.model == Model::Fitted)?;
    let entries = entries(cells);
    let is_published = |it: &&Entry| {
        table
            .published(it.variant, it.app_buffer, it.socket_buffer)
            .is_some()
    };
    let compared = entries.iter().filter(is_published).count();
    let misses = misses(table, &entries);
    let far: Vec<_> = misses.iter().map(far).collect();
    let mut line = if far.is_empty() {
        format!("All {compared} entries are within tolerance of the paper's")
    } else {
        let within = compared - far.len();
        format!("{within} of {compared} entries are within tolerance of the paper's")
    };
    if plan.repetitions != PAPER_REPETITIONS {
        line += &format!(" (which is for {PAPER_REPETITIONS} repetitions)");
    }
    if !far.is_empty() {
        line += &format!("; not so: {}", far.join("; "));
    }
    Some(line + ".")
}

/// An entry that is out of tolerance, by name.
fn far(miss: &Miss<'_>) -> String {
    let (entry, (letter, percent)) = (miss.entry, miss.published);
    let mut text = format!(
        "{} {}/{} {} {:.1}% (paper {letter} {percent:.1}%",
        entry.variant,
        size(entry.app_buffer),
        size(entry.socket_buffer),
        entry.trial.letter(),
        entry.score_percent,
    );
    if let Some(why) = miss.known {
        text += &format!("; known mismatch: {why}");
    }
    text + ")"
}

/// Whether one of the paper's tables is measured with all four trial types, of which its scores
/// are the worst.
fn is_whole_table(plan: &Plan, link: &Link) -> bool {
    table(plan, link).is_some() && plan.trials.len() == Trial::value_variants().len()
}

/// The line that [`score::is_delayed`] draws.
fn yardstick(plan: &Plan, link: &Link) -> Yardstick {
    let at_zero = score::estimate(&medium(link), 0).as_nanos() as f64;
    Yardstick {
        startup_ms: at_zero / 1e6 + link.rtt.as_secs_f64() * 1e3,
        ns_per_byte: 8e9 / link.rate_bits_per_second as f64,
        multiplier: plan.multiplier.into(),
    }
}

/// The transfers of the first repetition, of at most [`SHOWN`] so many that they are evenly spread.
fn trace(wanted: &Wanted) -> Trace {
    let samples = wanted.parameters.repetition(0).run().samples;
    let every = samples.len().div_ceil(SHOWN).max(1);
    let transfers = samples.iter().step_by(every).map(|sample| Transfer {
        length: sample.length.into(),
        elapsed_us: sample.elapsed.as_nanos() / 1000,
    });
    Trace {
        variant: wanted.variant.to_owned(),
        app_buffer: wanted.parameters.app_buffer,
        socket_buffer: wanted.parameters.socket_buffer,
        trial: wanted.parameters.trial.letter(),
        transfers: transfers.collect(),
    }
}

fn name(medium: Medium) -> &'static str {
    match medium {
        Medium::Ethernet => "Ethernet",
        Medium::EthernetFullDuplex => "full-duplex Ethernet",
        Medium::Fddi => "FDDI",
        Medium::PointToPoint => "a point-to-point link",
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.elapsed.as_secs_f64().max(1e-9);
        let per_second = |count: u64| grouped((count as f64 / seconds) as u64);
        write!(
            f,
            "{} transfers, {} data segments, {} events in {seconds:.2} s on {} threads: \
             {} transfers/s, {} segments/s",
            grouped(self.work.transfers),
            grouped(self.work.data_segments),
            grouped(self.work.events),
            self.threads,
            per_second(self.work.transfers),
            per_second(self.work.data_segments),
        )?;
        match peak_memory_kib() {
            Some(kib) => write!(
                f,
                ", {} MB of memory at most",
                (kib * 1024).div_ceil(1_000_000)
            ),
            None => Ok(()),
        }
    }
}

/// The most memory this process ever held, where the system says (Linux).
fn peak_memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// More points than this show nothing more in a figure, and make a page slow.
pub(super) const SHOWN: usize = 2000;
