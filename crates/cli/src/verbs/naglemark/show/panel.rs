//! Makes panels from outcomes.

use tinygram_engine::receiver::ack_policy::AckTimer;
use tinygram_naglemark::hosts::{ACK_TICK, PaperHosts};
use tinygram_naglemark::workload::Waits;
use tinygram_naglemark::{Conditions, Duration, Measured, MediumKind, Outcome, Plan};
use tinygram_papers::mogul::published::Table;

use super::{KeptTransfers, Panel, Record, SIMULATED};
use crate::verbs::naglemark::published;

impl Panel {
    /// Returns the panel of the paper's hosts, with the paper's scores.
    pub(in super::super) fn of_paper(plan: &Plan, hosts: &PaperHosts, outcome: &Outcome) -> Self {
        let table = published::table(plan, hosts);
        let mut title = format!("Scores for {} (MSS {})", name(&hosts.medium), hosts.mss);
        if let Some(table) = table {
            title = format!("Table {}: {}", table.number, table.caption);
        } else if hosts.infer {
            title += ", receiver inferring the sender's buffer size";
        }
        title += match hosts.waits {
            Waits::Reading => "",
            Waits::Polling => ", server polling",
            Waits::Spinning => ", server spinning on polls",
            Waits::ReadingAfter(_) => ", server computing for 5 ms after each answer",
        };
        Self::new(title, outcome, table, ack_delay(hosts))
    }

    /// Returns the panel of sockets.
    pub(in super::super) fn of_sockets(outcome: &Outcome) -> Self {
        let Conditions {
            backend, link, mss, ..
        } = &outcome.conditions;
        let title = format!("Scores of {backend} over {link} (MSS {mss})");
        Self::new(title, outcome, None, LINUX_ACK_DELAY)
    }

    fn new(title: String, outcome: &Outcome, table: Option<&Table>, ack_delay: Duration) -> Self {
        let kept = outcome.cells.iter().filter(|it| !it.taken.is_empty());
        Self {
            title,
            cells: outcome
                .cells
                .iter()
                .map(|measured| Record::new(&outcome.conditions, measured, table))
                .collect(),
            notes: Vec::new(),
            yardstick: outcome.yardstick,
            ack_delay,
            traces: kept.map(KeptTransfers::of).collect(),
        }
    }
}

/// Why there is a count.
pub(super) const COUNTED: &str = "the program's backends see the segments";

impl Record {
    fn new(conditions: &Conditions, measured: &Measured, table: Option<&Table>) -> Self {
        let Measured { cell, score, .. } = measured;
        // A bound that can be beaten is not a bound.
        let bound = |distance: Option<f64>| distance.filter(|_| conditions.backend == SIMULATED);
        let table = table.filter(|_| published::is_published(cell));
        let published = table.and_then(|table| {
            table.published(cell.policy.label(), cell.app_buffer, cell.socket_buffer)
        });
        Self {
            table: table.map(|table| table.number),
            backend: conditions.backend.clone(),
            medium: conditions.link.clone(),
            variant: cell.policy.label().to_owned(),
            app_buffer: cell.app_buffer,
            socket_buffer: cell.socket_buffer,
            trial: cell.trial_type.letter(),
            score_percent: score.score_percent,
            score_sd: score.score_sd,
            segments_per_transfer: score.segments_per_transfer.expect(COUNTED),
            short_segments_per_transfer: score.short_segments_per_transfer,
            mean_elapsed_ms: score.mean_elapsed_ms,
            p99_elapsed_ms: score.p99_elapsed_ms,
            slope_ns_per_byte: score.slope_ns_per_byte,
            segments_over_fewest: bound(score.segments_over_fewest),
            elapsed_over_earliest: score.elapsed_over_earliest,
            published_trial: published.map(|(trial, _)| trial),
            published_score_percent: published.map(|(_, score)| score),
        }
    }
}

impl KeptTransfers {
    /// Returns the transfers of the first repetition, at most [`SHOWN`] of them, evenly spread.
    fn of(measured: &Measured) -> Self {
        let samples = measured.first();
        let every = samples.len().div_ceil(SHOWN).max(1);
        let cell = &measured.cell;
        Self {
            variant: cell.policy.label().to_owned(),
            app_buffer: cell.app_buffer,
            socket_buffer: cell.socket_buffer,
            trial: cell.trial_type.letter(),
            transfers: samples.iter().step_by(every).copied().collect(),
            every,
            seen: Vec::new(),
        }
    }
}

/// Returns the longest time that the client delays an acknowledgment.
fn ack_delay(hosts: &PaperHosts) -> Duration {
    match hosts.ack_timer {
        Some(AckTimer::Cyclic { period, .. }) => period,
        Some(AckTimer::PerConnection(length)) => length,
        None => ACK_TICK,
    }
}

fn name(medium: &MediumKind) -> &'static str {
    match medium {
        MediumKind::Ethernet => "Ethernet",
        MediumKind::EthernetFullDuplex => "full-duplex Ethernet",
        MediumKind::Fddi => "FDDI",
        MediumKind::PointToPoint { .. } => "a point-to-point link",
    }
}

/// Linux's TCP_DELACK_MIN: the delay of its acknowledgments unless the round-trip time is long.
const LINUX_ACK_DELAY: Duration = Duration::from_millis(40);

/// The most points of a figure; more show nothing more, and make a page slow.
const SHOWN: usize = 2000;
