//! The results of a plan.

use std::fmt;

use crate::backend::Conditions;
use crate::outliers::{self, Outliers};
use crate::plan::Cell;
use crate::score::{Score, Work, Yardstick};
use crate::trial::{Sample, Taken};

/// The results of a backend.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The conditions under which it was measured.
    pub conditions: Conditions,
    /// What its transfers were compared with.
    pub yardstick: Yardstick,
    /// Whether its time was simulated.
    pub is_virtual: bool,
    /// The measured cells, in the order of the plan.
    pub cells: Vec<Measured>,
}

/// The results of a cell.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The cell.
    pub cell: Cell,
    /// Its score.
    pub score: Score,
    /// The repetitions that were kept, the first ones first; see [`Keep`].
    pub taken: Vec<Taken>,
}

/// Which repetitions' transfers are kept in addition to the scores. A transfer takes 16 octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// None.
    Scores,
    /// Each cell's first, for figures.
    First,
    /// All of them, to compare backends and to find outliers.
    All,
}

impl Outcome {
    /// Returns the work that was done for it.
    #[must_use]
    pub fn work(&self) -> Work {
        let cells = self.cells.iter();
        cells.fold(Work::default(), |work, it| work.and(it.score.work))
    }
}

/// Writes a line about the conditions, and then a Markdown table with a line for each cell.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Conditions {
            backend,
            link,
            stack,
            mss,
            ..
        } = &self.conditions;
        writeln!(f, "{backend} ({stack}) over {link}, MSS {mss}:\n")?;
        f.write_str(
            "| policy | app buffer | socket buffer | trial | delayed | segments | short | mean, ms | \
             99 %, ms | x fewest | x earliest |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
        )?;
        for Measured { cell, score, .. } in &self.cells {
            let known = |number: Option<f64>| number.map_or("-".into(), |it| format!("{it:.2}"));
            writeln!(
                f,
                "| {} | {} | {} | {} | {:.1} % | {} | {} | {:.1} | {:.1} | {} | {} |",
                cell.policy.label(),
                cell.app_buffer,
                cell.socket_buffer,
                cell.trial_type.letter(),
                score.score_percent,
                known(score.segments_per_transfer),
                known(score.short_segments_per_transfer),
                score.mean_elapsed_ms,
                score.p99_elapsed_ms,
                known(score.segments_over_fewest),
                known(score.elapsed_over_earliest),
            )?;
        }
        Ok(())
    }
}

impl Measured {
    /// Returns the transfers of the first repetition, if they were kept.
    #[must_use]
    pub fn first(&self) -> &[Sample] {
        self.taken.first().map_or(&[][..], |taken| &taken.samples)
    }

    /// Returns the outliers if the machine was too busy for the cell: transfers, in the repetitions
    /// that were kept, that were not delayed but took far longer than the others.
    #[must_use]
    pub fn outliers(&self, yardstick: &Yardstick) -> Option<Outliers> {
        let samples = self.taken.iter().flat_map(|taken| &taken.samples);
        let undelayed: Vec<f64> = samples
            .filter(|sample| !yardstick.is_delayed(sample))
            .map(|sample| sample.elapsed.as_nanos() as f64 / 1e6)
            .collect();
        outliers::found(&undelayed)
    }
}
