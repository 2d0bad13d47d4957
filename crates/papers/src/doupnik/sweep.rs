//! Sizes of files that stall: the same test over all sizes, compared with what parity alone
//! predicts.

use rayon::prelude::*;
use tinygram_engine::sender::send_policy::SendPolicy;

use super::published::{File, Pair, TABLE};
use super::table::{HEADERS, fitted_costs, test};
use super::web::{MSS, WebTest};
use crate::experiment::{Plot, PlotMark, PlotSeries};

/// The difference between two sizes, in octets; the next constant is the largest size.
const STEP: u64 = 100;
const LARGEST: u64 = 40_000;
/// The limit that distinguishes a stall, in ms: a request takes less without a stall and more with
/// one.
const STALL_MS: f64 = 50.0;

/// The policies of the pictures. Nagle off would coincide with the new policy.
const POLICIES: [SendPolicy; 4] = [
    SendPolicy::StrictNagle,
    SendPolicy::Nagle,
    SendPolicy::LiberalNagle,
    SendPolicy::Doupnik,
];

/// The requests of a policy, by size.
struct Swept {
    policy: SendPolicy,
    /// Size, ms per request and data segments per request.
    points: Vec<(f64, f64, f64)>,
}

/// Returns the pictures, and for each pair of hosts a sentence about how many sizes stall.
pub(super) fn plots() -> (Vec<Plot>, Vec<String>) {
    // UnixWare passes writes down whole, so only the policy has an effect.
    let pairs = [&TABLE[2], &TABLE[3]];
    let (mut plots, mut notes) = (Vec::new(), Vec::new());
    for pair in pairs {
        let swept = sweep(pair);
        notes.push(shares(pair, &swept));
        plots.push(stalls(pair, &swept));
        plots.push(segments(pair, &swept));
    }
    (plots, notes)
}

/// Returns whether parity predicts a stall: the number of full segments is odd or zero, and a tail
/// follows. Then the ACK of what precedes the tail is delayed, and strict Nagle holds the tail
/// until it comes.
#[must_use]
pub fn tail_behind_an_odd_segment(file: u64) -> bool {
    let behind_the_first_write = HEADERS[1] + file;
    let full = behind_the_first_write / u64::from(MSS);
    let tail = behind_the_first_write % u64::from(MSS);
    tail > 0 && (full == 0 || full % 2 == 1)
}

fn sizes() -> impl Iterator<Item = u64> {
    (STEP..=LARGEST).step_by(STEP as usize)
}

fn sweep(pair: &Pair) -> Vec<Swept> {
    let costs = fitted_costs(pair);
    let run = |policy: SendPolicy| {
        let sizes: Vec<u64> = sizes().collect();
        let point = |file: &u64| {
            let parameters = WebTest {
                file: *file,
                costs,
                requests: 2,
                ..test(pair, policy.clone(), File::Long)
            };
            let measured = parameters.run();
            (
                *file as f64,
                measured.mean_ms(),
                measured.segments().count() as f64,
            )
        };
        let points = sizes.par_iter().map(point).collect();
        Swept { policy, points }
    };
    POLICIES.into_iter().map(run).collect()
}

impl Swept {
    fn stalled(&self) -> impl Iterator<Item = f64> {
        let stalled = self.points.iter().filter(|point| point.1 > STALL_MS);
        stalled.map(|point| point.0)
    }

    fn share_percent(&self) -> f64 {
        self.stalled().count() as f64 / self.points.len() as f64 * 100.0
    }
}

/// Returns a row for each policy, and one for parity at the bottom, with a stroke where a file
/// stalls.
fn stalls(pair: &Pair, swept: &[Swept]) -> Plot {
    let row = |swept: &Swept| -> (String, Vec<f64>) {
        let percent = swept.share_percent();
        let name = format!("{}: {percent:.0} % of the sizes stall", swept.policy);
        (name, swept.stalled().collect())
    };
    let odd = sizes().filter(|file| tail_behind_an_odd_segment(*file));
    let parity = (
        "by parity: a tail behind an odd segment".into(),
        odd.map(|file| file as f64).collect(),
    );
    // The policies come first, as in the other picture, so that each has the same colour in both.
    let rows = swept.iter().map(row).chain([parity]);
    let series = |((name, files), row): ((String, Vec<f64>), u8)| PlotSeries {
        name,
        mark: PlotMark::Row,
        points: files.iter().map(|file| (*file, f64::from(row))).collect(),
    };
    Plot {
        title: format!("Files that stall, {}", describe(pair)),
        x: "file [B]",
        y: "policy",
        series: rows.zip(1..).map(series).collect(),
    }
}

/// Returns a plot of the policies' cost in packets.
fn segments(pair: &Pair, swept: &[Swept]) -> Plot {
    let series = |swept: &Swept| PlotSeries {
        name: swept.policy.to_string(),
        mark: PlotMark::Steps,
        points: swept
            .points
            .iter()
            .map(|point| (point.0, point.2))
            .collect(),
    };
    Plot {
        title: format!("Data segments against the file's size, {}", describe(pair)),
        x: "file [B]",
        y: "data segments per request",
        series: swept.iter().map(series).collect(),
    }
}

fn shares(pair: &Pair, swept: &[Swept]) -> String {
    let share = |swept: &Swept| format!("{:.0} % under {}", swept.share_percent(), swept.policy);
    let shares: Vec<_> = swept.iter().map(share).collect();
    format!(
        "Share of the sizes from {STEP} to {LARGEST} B that stall, {}: {}.",
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
