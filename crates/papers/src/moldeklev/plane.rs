//! Figures 4 and 7: which pairs of buffers deadlock in the simulation, with the inequalities drawn
//! over them.

use rayon::prelude::*;
use tinygram_engine::Duration;

use super::cures::most_per_timer;
use super::hosts::{ATM_MSS, ETHERNET_MSS, RULES, parameters};
use super::predict::{AckThreshold, Area, predict};
use super::transfer::Transfer;
use crate::experiment::{
    Class, Effort, Layout, Origin, Outcome, Parameter, Plot, PlotMark, PlotSeries, Row,
};
use crate::standard::Standard;
use crate::value::{PaperValue, Tolerance};

/// A grid over the plane, in octets: the multiples of `step` (at least 1) up to the largest sizes.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// The distance between two sizes.
    pub step: u64,
    /// The largest send buffer.
    pub send_to: u64,
    /// The largest receive buffer.
    pub receive_to: u64,
    /// A pair that the inequalities allow and that has not deadlocked within this time counts as
    /// free of deadlocks.
    pub within: Duration,
}

/// A pair of buffers in octets, with its area and its result.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The send buffer.
    pub send: u64,
    /// The receive buffer.
    pub receive: u64,
    /// The area of the plane in which it lies.
    pub area: Area,
    /// Whether the rules, played without time, can make it deadlock.
    pub predicted: bool,
    /// Whether the simulated transfer deadlocked.
    pub deadlocks: bool,
}

/// How long the figures' pairs are watched.
const WATCHED: Duration = Duration::from_secs(4);
/// The same for a pair outside both inequalities.
const GLANCE: Duration = Duration::from_secs(2);

/// Figure 4: the ATM network, up to SunOS's largest buffers.
pub(super) fn figure_4(effort: &Effort) -> Outcome {
    let grid = Grid {
        step: 1 << 10,
        send_to: 51 << 10,
        receive_to: 51 << 10,
        within: WATCHED,
    };
    let mut outcome = grid.outcome("Figure 4: S x R plane, MSS 9204", ATM_MSS, effort);
    outcome.notes.push(format!(
        "Inequality (2) is an outer bound: a pair between it and inequality (1) deadlocks only if \
         a flight, or a part of one, is left for which the receiver sends no acknowledgment. The \
         plot also shows the paper's boundary effects (3.1.4): R = {FIRST_PIECE} / 35 %, and half \
         of the largest window."
    ));
    outcome
}

/// Figure 7: Ethernet.
pub(super) fn figure_7(effort: &Effort) -> Outcome {
    let grid = Grid {
        step: 256,
        send_to: 6 << 10,
        receive_to: 12 << 10,
        within: WATCHED,
    };
    grid.outcome("Figure 7: S x R plane, MSS 1460", ETHERNET_MSS, effort)
}

/// "The first segment being maximum 4 kbytes" (3.1.4), in octets.
const FIRST_PIECE: u64 = 4096;

impl Grid {
    fn outcome(self, title: &str, mss: u16, effort: &Effort) -> Outcome {
        let pairs = self.pairs(&Transfer::paper(1, 1, mss), 1, effort.seed);
        let mut parameters = parameters();
        parameters.retain(|parameter| parameter.name != "transfer");
        parameters.push(Parameter {
            name: "watched",
            value: "4 s, or 2 s outside both inequalities".into(),
            origin: Origin::Assumed(
                "long enough for every pair that deadlocks within 600 ms \
                                     (appendix)",
            ),
        });
        Outcome {
            rules: RULES.to_vec(),
            parameters,
            rows: rows(&pairs),
            layout: Layout::List,
            plots: vec![self.plot(title, mss, &pairs)],
            ..Outcome::default()
        }
    }

    /// Simulates all pairs, `runs` times each, as `transfer` with those buffers; one run that
    /// deadlocks is enough. Runs on the caller's thread pool.
    #[must_use]
    pub fn pairs(self, transfer: &Transfer, runs: u32, seed: u64) -> Vec<Pair> {
        let multiples = |to: u64| (1..=to / self.step).map(move |n| n * self.step);
        let places: Vec<(u64, u64)> = multiples(self.send_to)
            .flat_map(|send| multiples(self.receive_to).map(move |receive| (send, receive)))
            .collect();
        let places = places.par_iter().with_max_len(16);
        places
            .map(|place| self.pair(transfer, *place, runs, seed))
            .collect()
    }

    fn pair(self, transfer: &Transfer, (send, receive): (u64, u64), runs: u32, seed: u64) -> Pair {
        let mut transfer = transfer.clone();
        transfer.rules.sender.buffer = send;
        transfer.rules.receiver.buffer = receive;
        let rules = &transfer.rules;
        let area = Area::of(
            send,
            rules.sender.mss.into(),
            &AckThreshold::of(&rules.receiver),
        );
        // Outside the inequalities no deadlock is expected, and these pairs are the costly ones.
        let within = if area == Area::Safe {
            GLANCE
        } else {
            self.within
        };
        let most = most_per_timer(&transfer);
        Pair {
            send,
            receive,
            area,
            predicted: predict(rules, transfer.call).deadlock.is_some(),
            deadlocks: transfer
                .at_random_phases(runs, seed)
                .any(|run| run.deadlock(most, within).is_some()),
        }
    }

    fn plot(self, title: &str, mss: u16, pairs: &[Pair]) -> Plot {
        let (mss, far) = (f64::from(mss), self.receive_to as f64);
        let squares = |name: &str, wanted: &dyn Fn(&Pair) -> bool| PlotSeries {
            name: name.into(),
            mark: PlotMark::Squares,
            points: pairs
                .iter()
                .filter(|pair| wanted(pair))
                .map(|pair| (kib(pair.receive as f64), kib(pair.send as f64)))
                .collect(),
        };
        // S = 35 % R + offset, up to the given number of segments, and constant from there on.
        let bound = |name: &str, offset: f64, most: f64| PlotSeries {
            name: name.into(),
            mark: PlotMark::Line,
            points: [0.0, (most - offset) / 0.35, far]
                .map(|r: f64| (kib(r.min(far)), kib((0.35 * r + offset).min(most))))
                .into(),
        };
        let dashed = |name: &str, points: [(f64, f64); 2]| PlotSeries {
            name: name.into(),
            mark: PlotMark::Dashed,
            points: points.map(|(r, s)| (kib(r), kib(s))).into(),
        };
        let first = FIRST_PIECE as f64;
        let edge = first / 0.35;
        Plot {
            title: title.into(),
            x: "receive buffer (KiB)",
            y: "send buffer (KiB)",
            series: vec![
                squares("deadlocks, inside (1)", &|pair| {
                    pair.deadlocks && pair.area == Area::Certain
                }),
                squares("deadlocks, outside (1)", &|pair| {
                    pair.deadlocks && pair.area != Area::Certain
                }),
                bound("(1) S < 35 % R and S < 2 MSS", 0.0, 2.0 * mss),
                bound("(2) S < 35 % R + MSS and S < 3 MSS", mss, 3.0 * mss),
                dashed("4096 = 35 % R", [(edge, 0.0), (edge, self.send_to as f64)]),
                dashed(
                    "(5) S - 4096 = R / 2",
                    [(0.0, first), (2.0 * mss, first + mss)],
                ),
            ],
        }
    }
}

fn rows(pairs: &[Pair]) -> Vec<Row> {
    let count = |wanted: &dyn Fn(&Pair) -> bool| pairs.iter().filter(|pair| wanted(pair)).count();
    let inside = |area: Area| count(&|pair| pair.area == area);
    let deadlock = |area: Area| count(&|pair| pair.area == area && pair.deadlocks);
    let row = |measure: String, published: Option<usize>, ours: usize| Row {
        cell: vec![("measure", PaperValue::Text(measure))],
        standard: published.map(|count| Standard::derived(PaperValue::Count(count as u64))),
        reproduced: PaperValue::Count(ours as u64),
        tolerance: Tolerance::Exact,
        class: match published {
            Some(_) => Class::Rules,
            None => Class::NotPublished,
        },
    };
    let certain = inside(Area::Certain);
    let possible = inside(Area::Possible);
    let safe = inside(Area::Safe);
    vec![
        row(
            format!("deadlocks among the {certain} pairs inside (1)"),
            Some(certain),
            deadlock(Area::Certain),
        ),
        row(
            format!("deadlocks among the {safe} pairs outside (1) and (2)"),
            Some(0),
            deadlock(Area::Safe),
        ),
        row(
            format!("deadlocks among the {possible} pairs inside (2) alone"),
            None,
            deadlock(Area::Possible),
        ),
        row(
            "pairs that deadlock here, but not if the rules are played without time".into(),
            None,
            count(&|pair| pair.deadlocks && !pair.predicted),
        ),
        row(
            "pairs that do not deadlock here, but can if the rules are played without time".into(),
            None,
            count(&|pair| !pair.deadlocks && pair.predicted),
        ),
    ]
}

fn kib(octets: f64) -> f64 {
    octets / 1024.0
}
