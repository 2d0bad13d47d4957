//! The lower envelope of some policies over load, and how far each policy is from it.

use tinygram_engine::sender::send_policy::SendPolicy;

use super::measure::LoadRow;
use super::plan::LoadCell;
use super::score::{Estimate, LoadScore};
use crate::policy::{Policy, SocketPolicy};

/// A latency of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// The mean.
    Mean,
    /// The median.
    P50,
    /// The 99th percentile.
    P99,
}

impl Metric {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Mean, Self::P50, Self::P99];

    /// Returns its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::P50 => "p50",
            Self::P99 => "p99",
        }
    }

    /// Returns a row's value, in milliseconds; `None` if no request came.
    #[must_use]
    pub const fn of(self, score: &LoadScore) -> Option<Estimate> {
        match self {
            Self::Mean => score.mean_ms,
            Self::P50 => score.p50_ms,
            Self::P99 => score.p99_ms,
        }
    }
}

/// Returns whether a policy holds by a fixed rule, or never, and asks nothing of the program: a socket as it comes,
/// TCP_NODELAY, Nagle's and Minshall's.
#[must_use]
pub fn is_simple(policy: &Policy) -> bool {
    match policy {
        Policy::Socket(policy) => matches!(policy, SocketPolicy::Default | SocketPolicy::NoDelay),
        Policy::Engine { policy, .. } => {
            matches!(
                policy,
                SendPolicy::Nagle | SendPolicy::Minshall | SendPolicy::Off
            )
        }
    }
}

/// A place on the envelope: at this demand nothing that is compared is faster.
#[derive(Clone, Debug)]
pub struct Least<'a> {
    /// The row that is the fastest there.
    pub row: &'a LoadRow,
    /// Its value in milliseconds.
    pub ms: f64,
}

/// Returns the envelope of the rows whose cells are chosen: for each demand of an open loop that at least one of them is
/// known to keep up with, the row with the least latency. Demands keep their order.
pub fn envelope<'a>(
    rows: &'a [LoadRow],
    metric: Metric,
    chosen: impl Fn(&LoadCell) -> bool,
) -> Vec<Least<'a>> {
    let mut least: Vec<Least<'a>> = Vec::new();
    for row in rows.iter().filter(|row| chosen(&row.cell)) {
        // A closed loop, and too few requests to tell, are unknown.
        if row.keeps_up() != Some(true) {
            continue;
        }
        let Some(Estimate { value: ms, .. }) = metric.of(&row.score) else {
            continue;
        };
        match least
            .iter_mut()
            .find(|it| it.row.cell.demand == row.cell.demand)
        {
            Some(it) if ms < it.ms => *it = Least { row, ms },
            Some(_) => {}
            None => least.push(Least { row, ms }),
        }
    }
    least
}

/// How far a policy is from an envelope, as ratios of latencies: 1 is on it, and less is below it. Demands with which the
/// policy is not known to keep up are left out: where it falls behind, its latency is as long as it was measured for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// The geometric mean over the envelope's demands of the policy's latency over the envelope's; `None` if all are left
    /// out.
    pub mean: Option<f64>,
    /// The largest of these ratios.
    pub worst: Option<f64>,
    /// How many of the envelope's demands are left out.
    pub left_out: usize,
}

/// Returns the distance of the rows whose cells are chosen, a policy's, from an envelope. `None` if they lack one of
/// its demands, or if it has none.
pub fn distance(
    rows: &[LoadRow],
    envelope: &[Least<'_>],
    metric: Metric,
    chosen: impl Fn(&LoadCell) -> bool,
) -> Option<Distance> {
    let mut ratios = Vec::new();
    for least in envelope {
        let own = |row: &&LoadRow| row.cell.demand == least.row.cell.demand && chosen(&row.cell);
        let row = rows.iter().find(own)?;
        if row.keeps_up() == Some(true) {
            ratios.push(metric.of(&row.score)?.value / least.ms);
        }
    }
    let logs = ratios.iter().map(|ratio| libm::log(*ratio)).sum::<f64>();
    (!envelope.is_empty()).then(|| Distance {
        mean: (!ratios.is_empty()).then(|| libm::exp(logs / ratios.len() as f64)),
        worst: ratios.iter().copied().max_by(f64::total_cmp),
        left_out: envelope.len() - ratios.len(),
    })
}
