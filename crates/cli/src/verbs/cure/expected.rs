//! What each remedy is expected to bring and to cost, as `whatif` says it.

use std::slice;

use serde::Serialize;
use tinygram_host::clock::tick;
use tinygram_host::hand::Hand;
use tinygram_host::recorder::Recorder;
use tinygram_host::scope::Scope;
use tinygram_remedy::foresee::Recorded;
use tinygram_remedy::foresee::recording::{Ask, record};
use tinygram_remedy::remedy::Remedy;
use tinygram_whatif::change::Change;
use tinygram_whatif::forecast::{Forecast, forecast};
use tinygram_whatif::offer::Asked;
use tinygram_whatif::prediction::{Estimate, Figures};

use super::plan::Plan;
use crate::amount::three;
use crate::exit::Failure;
use crate::hand::{self, walking};
use crate::stop;
use crate::terminal::remark;

/// The figures without a remedy and with it.
pub(super) struct Expected {
    without: Figures,
    with: Figures,
}

/// Records the connections for as long as was looked, and returns what is expected of each remedy; nothing where it cannot
/// be told.
pub(super) fn of(
    plan: &Plan,
    hand: &mut Hand,
    scope: &Scope,
    remedies: &[Remedy],
) -> Result<Vec<Option<Expected>>, Failure> {
    if remedies.is_empty() {
        return Ok(Vec::new());
    }
    let mut recorder = Recorder::open().map_err(|lacking| hand::refused(&lacking))?;
    remark(&format!(
        "tinygram cure: recording for {:?}, to play it again with each remedy",
        plan.look
    ));
    let ask = Ask {
        scope,
        length: plan.look,
        one_end: false,
        seed: plan.seed,
    };
    let recorded = record(hand, &mut recorder, ask, stop::is_asked).map_err(walking)?;
    let expected = remedies.iter();
    Ok(expected
        .map(|remedy| foreseen(&recorded, plan.seed, remedy))
        .collect())
}

fn foreseen(recorded: &Recorded, seed: u64, remedy: &Remedy) -> Option<Expected> {
    let setting = remedy.means.to_string().replace(' ', "");
    let change = Change::parse(&setting, tick()).ok()?;
    let services = recorded.services(seed, &|end| remedy.is_for(&end.socket));
    let asked = Asked {
        changes: slice::from_ref(&change),
        by_target: true,
    };
    let forecast = forecast(&services, asked).filter(Forecast::tells)?;
    let (_, with) = forecast.rows.first()?;
    Some(Expected {
        without: forecast.present.figures,
        with: with.figures,
    })
}

/// Says it in a line.
pub(super) fn told(expected: Option<&Expected>) -> String {
    let Some(Expected { without, with }) = expected else {
        return "cannot tell what it would do: too little was seen, or it cannot be played again"
            .to_owned();
    };
    let becomes = |name: &str, unit: &str, one: Option<Estimate>, other: Option<Estimate>| {
        one.zip(other).map_or_else(
            || format!("{name} cannot tell"),
            |(one, other)| {
                let [one, value, low, high] =
                    [one.value, other.value, other.low, other.high].map(three);
                format!("{name} {one} -> {value}{unit} [{low}, {high}]")
            },
        )
    };
    let figures = [
        becomes("p50", " ms", without.p50_ms, with.p50_ms),
        becomes("p99", " ms", without.p99_ms, with.p99_ms),
        becomes("segments a turn", "", without.segments, with.segments),
        becomes("packets a turn", "", without.packets, with.packets),
    ];
    format!("expected: {}", figures.join("; "))
}

#[derive(Serialize)]
pub(super) struct ExpectedRow {
    p50_ms: Option<Interval>,
    p99_ms: Option<Interval>,
    segments_per_turn: Option<Interval>,
    packets_per_turn: Option<Interval>,
}

/// A figure with a remedy, its interval, and the figure without.
#[derive(Serialize)]
struct Interval {
    without: f64,
    value: f64,
    low: f64,
    high: f64,
}

impl From<&Expected> for ExpectedRow {
    fn from(Expected { without, with }: &Expected) -> Self {
        let interval = |one: Option<Estimate>, other: Option<Estimate>| {
            one.zip(other).map(|(one, other)| Interval {
                without: one.value,
                value: other.value,
                low: other.low,
                high: other.high,
            })
        };
        Self {
            p50_ms: interval(without.p50_ms, with.p50_ms),
            p99_ms: interval(without.p99_ms, with.p99_ms),
            segments_per_turn: interval(without.segments, with.segments),
            packets_per_turn: interval(without.packets, with.packets),
        }
    }
}
