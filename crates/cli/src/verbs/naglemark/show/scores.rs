//! The paper's own table: the worst score over the trial types, and its letter.

use tinygram_report::units::size;
use tinygram_report::{Column, Entry, Row, Table};

use super::{Cutoff, Panel, Record, SIMULATED, printed};

impl Panel {
    /// Returns the scores laid out as in Tables 4-7: one row per variant, best first; one column
    /// per pair of buffers with the worst trial's letter and score; last the worst of all.
    ///
    /// With `published`, each entry has the paper's score beside it.
    pub(in super::super) fn scores(&self, published: bool) -> Table {
        let buffers = self.buffers();
        let mut columns = vec![Column::words("Socket buffer").in_group("App buffer")];
        let of_buffers = buffers
            .iter()
            .map(|&(app, socket)| Column::numbers(size(socket)).in_group(size(app)));
        columns.extend(of_buffers);
        columns.push(Column::numbers("Worst"));
        let rows = self
            .ranking()
            .into_iter()
            .map(|variant| self.row(variant, &buffers, published));
        Table {
            title: self.title.clone(),
            columns,
            rows: rows.collect(),
            notes: self.score_notes(published),
        }
    }

    fn row(&self, variant: &str, buffers: &[(u64, u64)], published: bool) -> Row {
        let has_published = published
            && self
                .cells
                .iter()
                .any(|c| c.variant == variant && c.published_score_percent.is_some());
        let mut head = Entry::new(variant);
        head.beside = has_published.then(|| "  paper".into());
        let mut row = vec![head];
        let mut worst_published: Option<f64> = None;
        for &(app, socket) in buffers {
            let cell = self.worst(|c| {
                c.variant == variant && c.app_buffer == app && c.socket_buffer == socket
            });
            let Some(cell) = cell else {
                row.push(Entry::new("-"));
                continue;
            };
            worst_published = [worst_published, cell.published_score_percent]
                .into_iter()
                .flatten()
                .reduce(f64::max);
            row.push(Entry {
                text: letter_and_score(cell.trial, cell.score_percent),
                beside: published.then(|| published_text(cell)).flatten(),
                weight: weight(cell),
                opens: Some(cell.id()),
                ..Entry::default()
            });
        }
        let worst = self.worst(|c| c.variant == variant);
        row.push(Entry {
            text: worst.map_or_else(|| "-".into(), |c| format!("{:.1}%", c.score_percent)),
            beside: worst_published
                .filter(|_| has_published)
                .map(|score| format!("{score:.1}%")),
            weight: worst.map_or(0.0, weight),
            ..Entry::default()
        });
        row
    }

    fn score_notes(&self, published: bool) -> Vec<String> {
        let mut notes = vec![format!(
            "Share of transfers that took more than {} x (length / rate + {} ms): the worst of the \
             trial types and its letter (s, S sequential lengths; r, R random; s, r one connection \
             per request; S, R one for all).",
            self.yardstick.multiplier,
            Cutoff::of(&self.yardstick).startup_ms
        )];
        if published {
            notes.push(
                "The second score of each entry is the paper's, the worst of all four trial types."
                    .into(),
            );
        }
        notes.extend(self.notes.iter().cloned());
        notes
    }
}

impl Record {
    /// Returns the medium, and for a real TCP also the backend.
    pub(super) fn place(&self) -> String {
        match self.backend.as_str() {
            SIMULATED => self.medium.clone(),
            real => format!("{real}-{}", self.medium),
        }
    }

    /// Returns the cell's id on a page, as [`Panel::id`] returns that of its transfers.
    pub(super) fn id(&self) -> String {
        format!(
            "{}/{}/{}/{}/{}",
            self.place(),
            self.variant,
            self.app_buffer,
            self.socket_buffer,
            self.trial
        )
    }
}

fn letter_and_score(trial: char, percent: f64) -> String {
    format!("{trial} {percent:>4.1}%")
}

fn published_text(cell: &Record) -> Option<String> {
    let percent = cell.published_score_percent?;
    Some(match cell.published_trial {
        Some(trial) => letter_and_score(trial, percent),
        None => format!("{percent:.1}%"),
    })
}

/// Returns the weight of a score's tone: a tenth of all transfers delayed is noticeable, and half
/// of them has the greatest weight.
fn weight(cell: &Record) -> f64 {
    (printed(cell) as f64 / 500.0).clamp(0.0, 1.0).sqrt()
}
