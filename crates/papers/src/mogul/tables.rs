//! Tables 4 to 7: their cells, and how far the reproduced scores are from the published ones.

use tinygram_naglemark::hosts::{Model, PaperHosts};
use tinygram_naglemark::{Keep, Measured, MediumKind, Plan, TrialType};

use super::published::{APP_BUFFERS, SOCKET_BUFFERS, Table};
use super::stalled::{outcome, policy};
use crate::value::{PaperValue, Tolerance};

/// The variants of Table 3.
pub const VARIANTS: [&str; 11] = [
    "NAGLE", "OFF", "MINSHALL", "MSMV", "EOM", "E+M", "MIN+MORE", "DLDET", "E+M+M", "E+M+D",
    "BORMAN",
];

/// Returns the hosts of a table (4 to 7).
#[must_use]
pub fn hosts(table: u8, model: Model) -> PaperHosts {
    let medium = if table.is_multiple_of(2) {
        MediumKind::Ethernet
    } else {
        MediumKind::Fddi
    };
    PaperHosts {
        infer: table >= 6,
        ..PaperHosts::new(model, medium)
    }
}

/// Returns all 396 cells of each of these tables: 11 variants, 9 pairs of buffers, 4 trial types.
#[must_use]
pub fn plan(repetitions: u32, seed: u64) -> Plan {
    Plan::default()
        .policies(VARIANTS.map(policy))
        .app_buffers(APP_BUFFERS)
        .socket_buffers(SOCKET_BUFFERS)
        .trial_types(TrialType::ALL)
        .repetitions(repetitions)
        .seed(seed)
}

/// Measures a table's plan on all threads of rayon's current pool.
#[must_use]
pub fn measured(table: u8, model: Model, repetitions: u32, seed: u64) -> Vec<Measured> {
    kept(table, model, repetitions, seed, Keep::Scores)
}

/// Does the same, and keeps some of the transfers.
pub(super) fn kept(
    table: u8,
    model: Model,
    repetitions: u32,
    seed: u64,
    keep: Keep,
) -> Vec<Measured> {
    outcome(&plan(repetitions, seed), hosts(table, model), keep).cells
}

/// A table's entry: the worst of the four trial types.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The variant's label.
    pub variant: String,
    /// The application buffer, in octets.
    pub app_buffer: u64,
    /// The socket buffer, in octets.
    pub socket_buffer: u64,
    /// The trial type with the highest score; the first of [`TrialType::ALL`] if several have it.
    pub trial: TrialType,
    /// Its score, in percent.
    pub score_percent: f64,
}

/// Returns the entries of a table, in the cells' order.
#[must_use]
pub fn entries(cells: &[Measured]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for Measured { cell, score, .. } in cells {
        let same = entries.iter_mut().find(|entry| {
            (
                entry.variant.as_str(),
                entry.app_buffer,
                entry.socket_buffer,
            ) == (cell.policy.label(), cell.app_buffer, cell.socket_buffer)
        });
        match same {
            Some(entry) if score.score_percent > entry.score_percent => {
                entry.score_percent = score.score_percent;
                entry.trial = cell.trial_type;
            }
            Some(_) => {}
            None => entries.push(Entry {
                variant: cell.policy.label().into(),
                app_buffer: cell.app_buffer,
                socket_buffer: cell.socket_buffer,
                trial: cell.trial_type,
                score_percent: score.score_percent,
            }),
        }
    }
    entries
}

/// How close the reproduced scores must come to a table's (all at 10 repetitions, in percentage
/// points).
#[derive(Clone, Copy, Debug)]
pub struct TableTolerance {
    /// The mean absolute difference over the table's entries.
    pub mean: f64,
    /// Two variants whose worst published scores differ by more than this must be in the paper's
    /// order.
    pub order_beyond: f64,
}

/// Returns the tolerance for a table's mean and order.
#[must_use]
pub fn tolerance(table: u8) -> TableTolerance {
    match table {
        4 => TableTolerance {
            mean: 0.8,
            order_beyond: 3.0,
        },
        5 => TableTolerance {
            mean: 0.3,
            order_beyond: 3.0,
        },
        6 => TableTolerance {
            mean: 1.5,
            order_beyond: 3.0,
        },
        _ => TableTolerance {
            mean: 2.5,
            order_beyond: 10.0,
        },
    }
}

/// Returns which scores an entry allows, in percent.
///
/// In addition to the table's tolerance: if the paper has none delayed, hardly any may be delayed
/// here; and if it clearly has some, some must be.
#[must_use]
pub fn entry_tolerance(table: u8, variant: &str, published_percent: f64) -> Tolerance {
    let points = points_allowed(table, variant, published_percent);
    if published_percent == 0.0 {
        Tolerance::Within(points.min(NONE_DELAYED))
    } else if published_percent >= CLEARLY_DELAYED && published_percent <= points {
        Tolerance::Between(LEAST_SHOWN, published_percent + points)
    } else {
        Tolerance::Within(points)
    }
}

/// The most that an entry printed as 0.0 allows, in percent.
const NONE_DELAYED: f64 = 1.5;
/// An entry of at least this does not allow 0.0, in percent.
pub(super) const CLEARLY_DELAYED: f64 = 2.0;
/// The least score that is not shown as 0.0, in percent.
const LEAST_SHOWN: f64 = 0.05;

/// Returns how far an entry may be from the published score, in percentage points.
fn points_allowed(table: u8, variant: &str, published_percent: f64) -> f64 {
    match table {
        // Scores of 2 % and more include cross-traffic of the paper's Ethernet.
        4 if published_percent >= CLEARLY_DELAYED => 2.5,
        4 => 2.0,
        5 => 1.5,
        6 => 6.0,
        // With inference, a trial's score depends on when the first hiccup comes. Variants for
        // which it matters less must be closer.
        _ if ["MSMV", "E+M+M", "MINSHALL", "MIN+MORE"].contains(&variant) => 5.0,
        _ => 15.0,
    }
}

/// An entry of the paper that is not reproduced, and why.
#[derive(Clone, Copy, Debug)]
pub struct Mismatch {
    /// The paper's table.
    pub table: u8,
    /// The variant's label.
    pub variant: &'static str,
    /// The application buffer, in octets.
    pub app_buffer: u64,
    /// The socket buffer, in octets.
    pub socket_buffer: u64,
    /// The reason.
    pub why: &'static str,
}

/// All known mismatches.
pub const KNOWN_MISMATCHES: &[Mismatch] = &[
    Mismatch {
        table: 4,
        variant: "MSMV",
        app_buffer: 128 << 10,
        socket_buffer: 16 << 10,
        why: MORE_EVERYWHERE,
    },
    Mismatch {
        table: 6,
        variant: "NAGLE",
        app_buffer: 32 << 10,
        socket_buffer: 16 << 10,
        why: FIRST_HICCUP,
    },
    Mismatch {
        table: 6,
        variant: "NAGLE",
        app_buffer: 128 << 10,
        socket_buffer: 64 << 10,
        why: FIRST_HICCUP,
    },
];

pub(super) const MORE_EVERYWHERE: &str = "in the fitted model every variant has MORE, which keeps \
     a small socket buffer from tearing MSMV's messages; in the paper, E+M+M, which names MORE, \
     also has 0.0 there, but MSMV does not";
const FIRST_HICCUP: &str = "a trial's score depends on how early its first hiccup occurs, so \
     single trials spread by 7 points: forty instead of ten trials give 13.7 and 13.5, which is \
     within tolerance. The share of hiccups was fitted before frames in the model interrupted a \
     thread at work";

/// Returns the mean absolute difference between the reproduced entries and a table's, in percentage
/// points.
#[must_use]
pub fn mean_distance(table: &Table, entries: &[Entry]) -> f64 {
    let differences: Vec<f64> = entries
        .iter()
        .filter_map(|entry| {
            let (_, score) =
                table.published(&entry.variant, entry.app_buffer, entry.socket_buffer)?;
            Some((entry.score_percent - score).abs())
        })
        .collect();
    differences.iter().sum::<f64>() / differences.len().max(1) as f64
}

/// An entry further from the published score than its tolerance.
#[derive(Clone, Copy, Debug)]
pub struct Miss<'a> {
    /// The reproduced entry.
    pub entry: &'a Entry,
    /// The paper's trial type and score in percent.
    pub published: (char, f64),
    /// The reason, if it is one of [`KNOWN_MISMATCHES`].
    pub known: Option<&'static str>,
}

/// Returns the entries that are out of tolerance. Tolerances are for the fitted model at 10 repetitions.
#[must_use]
pub fn misses<'a>(table: &Table, entries: &'a [Entry]) -> Vec<Miss<'a>> {
    let miss = |entry: &'a Entry| {
        let (app, socket) = (entry.app_buffer, entry.socket_buffer);
        let published = table.published(&entry.variant, app, socket)?;
        let allowed = entry_tolerance(table.number, &entry.variant, published.1);
        let value = |percent| PaperValue::Number(percent, 1);
        let known = KNOWN_MISMATCHES.iter().find(|known| {
            (known.table, known.variant) == (table.number, entry.variant.as_str())
                && (known.app_buffer, known.socket_buffer) == (app, socket)
        });
        let is_off = !allowed.allows(&value(published.1), &value(entry.score_percent));
        is_off.then_some(Miss {
            entry,
            published,
            known: known.map(|known| known.why),
        })
    };
    entries.iter().filter_map(miss).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_miss_only_beyond_its_tolerance() {
        let table = Table::numbered(5).expect("a table of the paper");
        let (app_buffer, socket_buffer) = (APP_BUFFERS[0], SOCKET_BUFFERS[0]);
        let (trial, published) = table
            .published("NAGLE", app_buffer, socket_buffer)
            .expect("an entry of the paper");
        let allowed = points_allowed(5, "NAGLE", published);
        let off_by = |points: f64| Entry {
            variant: "NAGLE".into(),
            app_buffer,
            socket_buffer,
            trial: TrialType::with_letter(trial).expect("a trial type"),
            score_percent: published + points,
        };
        assert!(misses(table, &[off_by(0.0), off_by(allowed - 0.1)]).is_empty());
        let far = [off_by(allowed + 0.1), off_by(-allowed - 0.1)];
        assert_eq!(misses(table, &far).len(), 2);
    }
}
