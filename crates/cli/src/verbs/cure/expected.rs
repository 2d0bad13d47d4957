//! What each remedy is expected to bring and to cost, as `whatif` says it, and whether it did. Turns are those that the
//! trial measures.

use std::collections::BTreeSet;
use std::slice;

use serde::Serialize;
use tinygram_host::clock::tick;
use tinygram_host::hand::Socket;
use tinygram_host::scope::Scope;
use tinygram_remedy::foresee::recording::Ask;
use tinygram_remedy::foresee::{Recorded, Wanted};
use tinygram_remedy::proof::statistics;
use tinygram_remedy::remedy::{Remedy, ServiceEnd};
use tinygram_whatif::change::Change;
use tinygram_whatif::forecast::{Forecast, forecast};
use tinygram_whatif::offer::AskedChanges;
use tinygram_whatif::prediction::{Estimate, Figures};

use super::plan::Plan;
use crate::amount::{becomes, interval, three};

/// The figures without a remedy and with it.
pub(super) struct Expected {
    without: Figures,
    with: Figures,
}

/// Returns what is recorded while it is looked.
pub(super) fn ask<'a>(plan: &Plan, scope: &'a Scope) -> Ask<'a> {
    Ask {
        scope,
        one_end: false,
        seed: plan.seed,
        sockets: MOST_SOCKETS,
        steps: MOST_STEPS,
    }
}

/// The ends that a change is for, and those at which turns are measured.
#[derive(Clone, Copy)]
pub(super) struct Ends<'a> {
    changed: &'a BTreeSet<ServiceEnd>,
    stalling: &'a BTreeSet<ServiceEnd>,
}

impl<'a> Ends<'a> {
    /// Returns the ends of a change that is for those that stall.
    pub(super) fn of(stalling: &'a BTreeSet<ServiceEnd>) -> Self {
        Self {
            changed: stalling,
            stalling,
        }
    }
}

/// Plays what was recorded again with a remedy; `None` where it cannot be told.
pub(super) fn of(recorded: &Recorded, seed: u64, remedy: &Remedy) -> Option<Expected> {
    let setting = remedy.means.to_string().replace(' ', "");
    let change = Change::parse(&setting, tick()).ok()?;
    let ends = Ends {
        changed: &remedy.sockets,
        stalling: &remedy.stalling,
    };
    of_change(recorded, seed, &change, ends)
}

/// Plays what was recorded again with a change; `None` where it cannot be told.
pub(super) fn of_change(
    recorded: &Recorded,
    seed: u64,
    change: &Change,
    ends: Ends<'_>,
) -> Option<Expected> {
    let is_of = |services: &BTreeSet<ServiceEnd>, socket: &Socket| {
        let has = |service: &ServiceEnd| service.has(socket.netns, socket.local, socket.remote);
        services.iter().any(has)
    };
    let services = recorded.services(Wanted {
        seed,
        is_meant: &|end| is_of(ends.changed, &end.socket),
        is_measured: Some(&|end| is_of(ends.stalling, &end.socket)),
    });
    let asked = AskedChanges {
        changes: slice::from_ref(change),
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
    let figures = [
        becomes("a turn's p50", " ms", (without.p50_ms, with.p50_ms)),
        becomes("p99", " ms", (without.p99_ms, with.p99_ms)),
        becomes(
            "segments a turn of the end that stalls",
            "",
            (without.segments, with.segments),
        ),
        becomes("packets a turn", "", (without.packets, with.packets)),
    ];
    format!("expected: {}", figures.join("; "))
}

/// Says in a line what a trial measured of what was expected.
pub(super) fn compared(expected: Option<&Expected>, measured: &statistics::PairFigures) -> String {
    let Some(expected) = expected else {
        return "what it would do could not be told before".to_owned();
    };
    let figures = expected
        .held(measured)
        .map(|(name, unit, held)| match held {
            None => format!("{name} could not be told"),
            Some((estimate, is, true)) => {
                format!("{name} {} and is {}", interval(estimate, unit), three(is))
            }
            Some((estimate, is, false)) => {
                let is = three(is);
                format!("{name} {} and is not: {is}", interval(estimate, unit))
            }
        });
    format!("expected with it: {}", figures.join("; "))
}

/// A figure that was expected, what was measured, and whether that lies in the interval.
type Held = Option<(Estimate, f64, bool)>;

impl Expected {
    /// Returns what became of each figure, with its name and unit.
    fn held(&self, measured: &statistics::PairFigures) -> [(&'static str, &'static str, Held); 3] {
        let [p50_ms, p99_ms] = measured.ms[0];
        let of = |estimate: Option<Estimate>, is: f64| {
            let estimate = estimate.filter(|_| is.is_finite())?;
            Some((estimate, is, (estimate.low..=estimate.high).contains(&is)))
        };
        [
            ("p50", " ms", of(self.with.p50_ms, p50_ms)),
            ("p99", " ms", of(self.with.p99_ms, p99_ms)),
            (
                "segments a turn of that end",
                "",
                of(self.with.segments, measured.segments[0]),
            ),
        ]
    }
}

/// Whether a figure lies in the interval that was expected; null where nothing was expected of it.
#[derive(Serialize)]
pub(super) struct HeldRow {
    p50_ms: Option<bool>,
    p99_ms: Option<bool>,
    segments_per_turn: Option<bool>,
}

impl HeldRow {
    pub(super) fn of(expected: &Expected, measured: &statistics::PairFigures) -> Self {
        let [p50_ms, p99_ms, segments_per_turn] = expected
            .held(measured)
            .map(|(_, _, held)| held.map(|(_, _, is)| is));
        Self {
            p50_ms,
            p99_ms,
            segments_per_turn,
        }
    }
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

/// How many sockets are recorded, and how many steps of each: playing them again for each remedy takes a second or two.
const MOST_SOCKETS: usize = 32;
const MOST_STEPS: u32 = 2048;
