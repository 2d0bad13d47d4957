//! Simulates the reports' loads, and compares.

use rayon::prelude::*;

use super::{Figure, Measure, Report, Scene, UnderWay};
use crate::backend::Error;
use crate::hosts::Over;
use crate::load::hosts::LoadedHosts;
use crate::load::knee::{KneeRule, capacity, knees};
use crate::load::measure::{measure_load, scored};
use crate::load::plan::{Demand, LoadCell, LoadPlan};
use crate::load::score::{Estimate, LoadScore};

/// A report beside what its loads came to on simulated hosts.
#[derive(Clone, Debug)]
pub struct Reported {
    /// The report.
    pub report: &'static Report,
    /// Its scenes, each with its loads.
    pub scenes: Vec<(&'static Scene, Vec<Compared>)>,
}

/// What TCP_NODELAY came to at one load.
#[derive(Clone, Copy, Debug)]
pub struct Compared {
    /// How many requests were under way.
    pub asked: UnderWay,
    /// The load: the share of the time for which the busier of the two ends' processors worked with TCP_NODELAY.
    pub load: f64,
    /// How many times better than a socket as Linux has it, whose rule is Minshall's.
    pub than_linux: Estimate,
    /// How many times better than Nagle's rule.
    pub than_nagle: Estimate,
}

/// Whether the simulated hosts come to what a report says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All loads are on its side, and its figure is within what they span.
    Agrees,
    /// All loads are on its side, and its figure is outside of what they span.
    OtherSize,
    /// Some loads are on its side, and some are not.
    AtSomeLoads,
    /// No load is on its side.
    OtherSide,
    /// There is nothing to compare.
    NotSimulated,
}

impl Verdict {
    /// Returns its words in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::OtherSize => "same side, other size",
            Self::AtSomeLoads => "same side at some loads",
            Self::OtherSide => "other side",
            Self::NotSimulated => "not simulated",
        }
    }
}

impl Reported {
    /// Returns the loads that are held against the report: its own, or all if it does not say which those are.
    pub fn held(&self) -> impl Iterator<Item = &Compared> {
        let all = || self.scenes.iter().flat_map(|(_, loads)| loads);
        let is_known = all().any(|it| it.asked.is_reports);
        all().filter(move |it| it.asked.is_reports || !is_known)
    }

    /// Returns whether it agrees, in comparison with a socket as Linux has it.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self.report.figure {
            None => Verdict::NotSimulated,
            Some(figure) => judged(figure, self.held().map(|it| it.than_linux)),
        }
    }
}

/// Judges ratios by a report's figure. A ratio is on a side of 1 if all of its interval is.
fn judged(figure: Figure, ratios: impl Iterator<Item = Estimate>) -> Verdict {
    let [low, high] = figure.times;
    let ratios: Vec<Estimate> = ratios.collect();
    let is_on_side = |it: &&Estimate| match low > 1.0 {
        true => it.value - it.within > 1.0,
        false => it.value + it.within < 1.0,
    };
    let on_side = ratios.iter().filter(is_on_side).count();
    let least = ratios.iter().map(|it| it.value - it.within);
    let most = ratios.iter().map(|it| it.value + it.within);
    let spanned = [
        least.fold(f64::INFINITY, f64::min),
        most.fold(f64::NEG_INFINITY, f64::max),
    ];
    match on_side {
        0 if ratios.is_empty() => Verdict::NotSimulated,
        0 => Verdict::OtherSide,
        some if some < ratios.len() => Verdict::AtSomeLoads,
        _ if spanned[0] <= high && low <= spanned[1] => Verdict::Agrees,
        _ => Verdict::OtherSize,
    }
}

/// Simulates a report's loads on hosts with such costs, each `repetitions` times. Calls `done` after each load. The outcome
/// depends on the seed alone.
///
/// # Errors
///
/// [`Error::Nothing`] if nothing came in the measured time, and the first error of the simulated hosts.
pub fn reproduce(
    report: &'static Report,
    over: Over,
    (repetitions, seed): (u32, u64),
    done: &(dyn Fn() + Sync),
) -> Result<Reported, Error> {
    let of_scene = |scene: &'static Scene| {
        let mut hosts = LoadedHosts::new(over);
        hosts.hosts.bits_per_second = scene.rate.0;
        hosts.hosts.rtt = scene.rtt.0;
        let compared = |asked: &UnderWay| {
            let plan = LoadPlan {
                repetitions,
                seed,
                ..scene.plan(*asked)
            };
            let compared = match report.figure.map(|it| it.measure) {
                Some(Measure::Knee) => of_knees(&plan, &hosts, *asked)?,
                Some(measure) => of_rows(&plan, &hosts, *asked, measure)?,
                None => None,
            };
            done();
            Ok(compared)
        };
        let loads: Result<Vec<_>, Error> = scene.asked.0.par_iter().map(compared).collect();
        Ok((scene, loads?.into_iter().flatten().collect()))
    };
    let scenes: Result<_, Error> = report.scenes.iter().map(of_scene).collect();
    Ok(Reported {
        report,
        scenes: scenes?,
    })
}

/// Compares rows: TCP_NODELAY's, Linux's, Nagle's, as [`Scene::plan`] has them.
fn of_rows(
    plan: &LoadPlan,
    hosts: &LoadedHosts,
    asked: UnderWay,
    measure: Measure,
) -> Result<Option<Compared>, Error> {
    let rows = measure_load(plan, hosts, &|_| ())?.rows;
    let of = |at: usize| match measure {
        Measure::Mean => rows[at].score.mean_ms,
        _ => Some(rows[at].score.answered_per_second),
    };
    let (Some(no_delay), Some(linux), Some(nagle)) = (of(0), of(1), of(2)) else {
        return Err(Error::Nothing { came: "request" });
    };
    let better = |other: Estimate| match measure {
        Measure::Mean => ratio(other, no_delay),
        _ => ratio(no_delay, other),
    };
    Ok(Some(Compared {
        asked,
        load: busier(&rows[0].score),
        than_linux: better(linux),
        than_nagle: better(nagle),
    }))
}

/// Compares the highest loads that are carried; `None` if one of the policies carries none.
fn of_knees(
    plan: &LoadPlan,
    hosts: &LoadedHosts,
    asked: UnderWay,
) -> Result<Option<Compared>, Error> {
    let most = capacity(plan, hosts, &|_| ())?;
    let rule = KneeRule::default();
    let found = knees(plan, hosts, rule, most, &|_| ())?.knees;
    let [(cell, Some(no_delay)), (_, Some(linux)), (_, Some(nagle))] = &found[..] else {
        return Ok(None);
    };
    // The search ends within this much of the highest load.
    let near = |value: f64| Estimate {
        value,
        within: most * rule.within,
    };
    let cell = LoadCell {
        demand: Demand::Open(*no_delay),
        ..cell.clone()
    };
    Ok(Some(Compared {
        asked,
        load: busier(&scored(plan, hosts, &cell)?),
        than_linux: ratio(near(*no_delay), near(*linux)),
        than_nagle: ratio(near(*no_delay), near(*nagle)),
    }))
}

fn busier(score: &LoadScore) -> f64 {
    score.client_busy.max(score.server_busy)
}

/// Returns a ratio with its interval: relative errors of independent values add as squares.
fn ratio(above: Estimate, below: Estimate) -> Estimate {
    let value = above.value / below.value;
    let relative = libm::hypot(above.within / above.value, below.within / below.value);
    Estimate {
        value,
        within: value * relative,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(times: [f64; 2], ours: &[(f64, f64)]) -> Verdict {
        let measure = Measure::Throughput;
        let ours = ours
            .iter()
            .map(|&(value, within)| Estimate { value, within });
        judged(Figure { measure, times }, ours)
    }

    #[test]
    fn a_verdict_asks_for_the_side_and_then_for_the_size() {
        assert_eq!(
            verdict([1.4, 1.7], &[(1.2, 0.05), (1.5, 0.05)]),
            Verdict::Agrees
        );
        assert_eq!(verdict([1.4, 1.7], &[(1.2, 0.05)]), Verdict::OtherSize);
        assert_eq!(
            verdict([1.4, 1.7], &[(1.04, 0.05), (1.5, 0.05)]),
            Verdict::AtSomeLoads
        );
        assert_eq!(verdict([1.4, 1.7], &[(1.04, 0.05)]), Verdict::OtherSide);
        assert_eq!(verdict([0.93, 0.93], &[(0.9, 0.04)]), Verdict::Agrees);
        assert_eq!(verdict([0.93, 0.93], &[(0.8, 0.04)]), Verdict::OtherSize);
        assert_eq!(verdict([0.93, 0.93], &[(0.98, 0.04)]), Verdict::OtherSide);
        assert_eq!(verdict([0.93, 0.93], &[]), Verdict::NotSimulated);
    }

    #[test]
    fn a_ratio_has_both_intervals() {
        let of = |value, within| Estimate { value, within };
        let ratio = ratio(of(30.0, 0.9), of(10.0, 0.4));
        assert!(
            (ratio.value - 3.0).abs() < 1e-12 && (ratio.within - 0.15).abs() < 1e-12,
            "{ratio:?}"
        );
    }
}
