//! The comparison: what is counted, and how it is printed.

use std::fmt::Write as _;

use tinygram_naglemark::Score;
use tinygram_papers::mogul::independent::{IndependentScore, Move, RACE, Set, not_comparable};

/// Scores further apart than this, in percentage points, need an explanation.
const FAR: f64 = 3.0;
/// Counts of runts for each transfer further apart than this need one, too; chance alone moves them
/// by less.
const FAR_RUNTS: f64 = 0.1;
/// Repetitions of each trial with a cost moved: its random draws are the same as without.
const REPETITIONS_OF_MOVES: u32 = 2;

/// Two scores of one cell.
pub(crate) struct Compared<'a> {
    set: &'a Set,
    theirs: &'a IndependentScore,
    ours: Score,
    /// `None` if the cell was not tested.
    moves: Option<Move>,
}

/// The result of all cells.
pub(crate) struct Comparison<'a> {
    cells: Vec<Compared<'a>>,
}

/// Which cells are tested for being races.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Races {
    /// Those whose scores are far apart.
    OfFar,
    /// All: some twenty times the work.
    OfAll,
}

impl Compared<'_> {
    fn apart(&self) -> f64 {
        self.ours.score_percent - self.theirs.percent
    }

    fn is_far(&self) -> bool {
        self.apart().abs() > FAR
    }

    /// How many runts for each transfer ours has more than theirs, where theirs are counted. They
    /// show what a score does not: a policy that sends more of them delays nobody.
    fn runts_apart(&self) -> Option<f64> {
        let theirs = self.theirs.short_segments_per_transfer?;
        Some(self.ours.short_segments_per_transfer? - theirs)
    }

    fn is_race(&self) -> bool {
        self.moves.as_ref().is_some_and(|it| it.points > RACE)
    }

    fn line(&self) -> String {
        let (theirs, ours) = (self.theirs, &self.ours);
        let mut line = format!(
            "{:<17}{:<10}{}  {:>6.1} ({:>4.1})  {:>6.1} ({:>4.1})  {:>+6.1}",
            self.set.name,
            theirs.variant,
            theirs.trial_type.letter(),
            theirs.percent,
            theirs.sd,
            ours.score_percent,
            ours.score_sd,
            self.apart(),
        );
        if let Some(moves) = self.moves.as_ref().filter(|it| it.points > 0.0) {
            let _ = write!(line, "  {:>5.1} by {}", moves.points, moves.cost);
        }
        line
    }
}

impl<'a> Comparison<'a> {
    pub(crate) fn of(sets: &'a [Set], races: Races) -> Self {
        let mut cells = Vec::new();
        for set in sets {
            let first = cells.len();
            let compared = |(theirs, ours)| Compared {
                set,
                theirs,
                ours,
                moves: None,
            };
            cells.extend(set.scores.iter().zip(set.ours()).map(compared));
            let mut asked: Vec<_> = cells[first..]
                .iter_mut()
                .filter(|cell| races == Races::OfAll || cell.is_far())
                .collect();
            let scores = asked.iter().map(|cell| cell.theirs.clone()).collect();
            let moves = Set {
                scores,
                ..set.clone()
            }
            .moves(REPETITIONS_OF_MOVES);
            for (cell, moves) in asked.iter_mut().zip(moves) {
                cell.moves = Some(moves);
            }
        }
        Self { cells }
    }

    /// Returns the number of cells compared, and of those far apart.
    pub(crate) fn counted(&self) -> (usize, usize) {
        let counted = self
            .cells
            .iter()
            .filter(|cell| !cell.is_race() && not_comparable(cell.set, cell.theirs).is_none());
        let far = counted.clone().filter(|cell| cell.is_far()).count();
        (counted.count(), far)
    }

    fn mean<'b>(cells: impl Iterator<Item = &'b Compared<'b>>) -> f64 {
        let apart: Vec<f64> = cells.map(|cell| cell.apart().abs()).collect();
        apart.iter().sum::<f64>() / apart.len().max(1) as f64
    }

    /// Returns the table; with `all`, near cells are included.
    pub(crate) fn text(&self, all: bool) -> String {
        let mut text = String::from(
            "set              variant   trial  theirs (sd)      ours (sd)    apart  \
             moves when a cost moves by 1 %\n",
        );
        let mut set = "";
        for cell in &self.cells {
            if set != cell.set.name {
                set = &cell.set.name;
                let same = || self.cells.iter().filter(|it| it.set.name == set);
                let _ = writeln!(
                    text,
                    "{set:<17}{} cells, {:.2} points apart in the mean, {} by more than {FAR}",
                    same().count(),
                    Self::mean(same()),
                    same().filter(|it| it.is_far()).count(),
                );
            }
            if all || cell.is_far() || cell.is_race() {
                let why = match (cell.is_race(), not_comparable(cell.set, cell.theirs)) {
                    (true, _) => "; a race".to_owned(),
                    (false, Some(why)) => format!("; {why}"),
                    (false, None) => String::new(),
                };
                let _ = writeln!(text, "{}{why}", cell.line());
            }
        }
        let (counted, far) = self.counted();
        let _ = writeln!(
            text,
            "{} cells, {:.2} points apart in the mean; races and what cannot be compared left out, \
             {far} of {counted} ({:.1} %) by more than {FAR}",
            self.cells.len(),
            Self::mean(self.cells.iter()),
            100.0 * far as f64 / counted.max(1) as f64,
        );
        text + &self.runts()
    }

    /// The cells whose counts of runts are far apart.
    pub(crate) fn far_in_runts(&self) -> impl Iterator<Item = (&Compared<'a>, f64)> {
        let apart = |cell: &'_ Compared<'a>| cell.runts_apart().unwrap_or_default();
        let cells = self.cells.iter().map(move |cell| (cell, apart(cell)));
        cells.filter(|(cell, apart)| {
            apart.abs() > FAR_RUNTS && not_comparable(cell.set, cell.theirs).is_none()
        })
    }

    fn runts(&self) -> String {
        let far: Vec<_> = self.far_in_runts().collect();
        let mut text = format!(
            "{} cells whose runts for each transfer are more than {FAR_RUNTS} apart\n",
            far.len()
        );
        for (Compared { set, theirs, .. }, apart) in far {
            let (variant, letter) = (&theirs.variant, theirs.trial_type.letter());
            let _ = writeln!(text, "{:<17}{variant:<10}{letter}  {apart:>+6.2}", set.name);
        }
        text
    }
}
