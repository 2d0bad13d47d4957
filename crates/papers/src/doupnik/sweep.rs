//! Which files stall: the same test over all sizes.

use rayon::prelude::*;

use super::published::{File, Pair, TABLE};
use super::table::{fitted_costs, test};
use super::web::Parameters;
use crate::experiment::{Mark, Plot, Series};

/// Octets between two sizes, and the largest.
const STEP: u64 = 100;
const LARGEST: u64 = 40_000;
/// More than a request takes without a stall, and less than one with it, in ms.
const STALL_MS: f64 = 50.0;

/// The policies of the pictures. Nagle off would lie upon the new policy.
const POLICIES: [&str; 4] = ["strict-nagle", "nagle", "liberal-nagle", "doupnik"];

/// A policy's requests, by size.
struct Swept {
    policy: &'static str,
    /// Size, ms per request, data segments per request.
    points: Vec<(f64, f64, f64)>,
}

/// The pictures, and a sentence for each on how many sizes stall.
pub(super) fn plots() -> (Vec<Plot>, Vec<String>) {
    // UnixWare hands writes down whole, so that what is seen is the policy's own.
    let pairs = [&TABLE[2], &TABLE[3]];
    let (mut plots, mut notes) = (Vec::new(), Vec::new());
    for pair in pairs {
        let swept = sweep(pair);
        notes.push(shares(pair, &swept));
        plots.push(plot(
            pair,
            &swept,
            "Time",
            "time per request [ms]",
            |point| point.1,
        ));
        plots.push(plot(
            pair,
            &swept,
            "Data segments",
            "data segments per request",
            |point| point.2,
        ));
    }
    (plots, notes)
}

fn sweep(pair: &Pair) -> Vec<Swept> {
    let costs = fitted_costs(pair);
    let run = |policy: &'static str| {
        let sizes: Vec<u64> = (STEP..=LARGEST).step_by(STEP as usize).collect();
        let point = |file: &u64| {
            let parameters = Parameters {
                file: *file,
                costs,
                requests: 2,
                ..test(pair, policy, File::Long)
            };
            let measured = parameters.run();
            (
                *file as f64,
                measured.mean_ms(),
                measured.segments().count() as f64,
            )
        };
        Swept {
            policy,
            points: sizes.par_iter().map(point).collect(),
        }
    };
    POLICIES.into_iter().map(run).collect()
}

fn plot(
    pair: &Pair,
    swept: &[Swept],
    what: &str,
    y: &'static str,
    value: fn(&(f64, f64, f64)) -> f64,
) -> Plot {
    let series = |swept: &Swept| Series {
        name: swept.policy.into(),
        mark: Mark::Dots,
        points: swept
            .points
            .iter()
            .map(|point| (point.0, value(point)))
            .collect(),
    };
    Plot {
        title: format!("{what} against the file's size, {}", describe(pair)),
        x: "file [B]",
        y,
        series: swept.iter().map(series).collect(),
    }
}

fn shares(pair: &Pair, swept: &[Swept]) -> String {
    let share = |swept: &Swept| {
        let stalls = swept.points.iter().filter(|point| point.1 > STALL_MS);
        let percent = stalls.count() as f64 / swept.points.len() as f64 * 100.0;
        format!("{percent:.0} % under {}", swept.policy)
    };
    let shares: Vec<_> = swept.iter().map(share).collect();
    format!(
        "Of all sizes from {STEP} to {LARGEST} B, {}, stall: {}.",
        describe(pair),
        shares.join(", ")
    )
}

fn describe(pair: &Pair) -> String {
    format!(
        "{} client with {} KB of window, {} server",
        pair.client.name(),
        pair.window >> 10,
        pair.server.name()
    )
}
