//! The JSON document of `cure`.

use std::time::Duration;

use serde::Serialize;
use tinygram_remedy::proof::ProofVerdict;
use tinygram_remedy::proof::statistics::Estimate;
use tinygram_remedy::remedy::Remedy;
use tinygram_remedy::split::Split;
use tinygram_remedy::trial::Tried;
use tinygram_report::{Document, json};

use super::done::Cured;
use super::expected::{Expected, ExpectedRow, HeldRow};
use super::floods::Floods;
use super::owner::OfOwnerRow;
use super::perhaps::perhaps;
use super::plan::Plan;
use super::silence::why_unknown;

/// Returns the document.
pub(super) fn of(plan: &Plan, cured: &Cured, rest: Option<Duration>) -> String {
    json(&Document {
        schema: "tinygram.cure/1",
        parameters: Parameters {
            targets: plan.targets.iter().map(ToString::to_string).collect(),
            look_s: plan.look.as_secs_f64(),
            dry_run: plan.is_dry,
            watch_s: plan.watch.map(|length| length.as_secs_f64()),
            max_extra_segments_percent: plan.demand.most_extra_segments * 100.0,
            seed: plan.seed,
        },
        results: Results {
            connections: cured.sockets,
            looked_s: cured.look.lasted.as_secs_f64(),
            data_segments_sent: cured.traffic.sent,
            data_segments_received: cured.traffic.received,
            silent: cured.is_silent(),
            why_unknown: why_unknown(cured),
            stalls: cured.look.count(),
            stalling_connections: cured.look.stalls.len(),
            cost_ns: cured
                .look
                .stalls
                .values()
                .map(|stalling| stalling.cost_ns)
                .sum(),
            perhaps: perhaps(&cured.look)
                .into_iter()
                .map(|program| PerhapsRow {
                    name: program.name,
                    page: program.page().to_string(),
                })
                .collect(),
            stalls_that_no_setting_ends: cured.look.others.values().sum(),
            floods: cured.look.floods,
            of_floods: Floods::of(plan, cured),
            looks_anew_after_s: rest.map(|length| length.as_secs_f64()),
            remedies: cured
                .remedies
                .iter()
                .enumerate()
                .map(|(index, (remedy, tried))| {
                    let expected = cured.expected.get(index).and_then(Option::as_ref);
                    row(remedy, expected, tried.as_ref())
                })
                .collect(),
            of_owners: cured.of_owners.iter().map(OfOwnerRow::from).collect(),
        },
    })
}

fn row(remedy: &Remedy, expected: Option<&Expected>, tried: Option<&Tried>) -> RemedyRow {
    let figures = tried.and_then(|tried| tried.figures.as_ref());
    RemedyRow {
        setting: remedy.means.to_string(),
        needs: "root",
        other_connections: remedy.others,
        sockets: remedy.sockets.iter().map(ToString::to_string).collect(),
        expected: expected.map(ExpectedRow::from),
        held: expected
            .zip(figures)
            .map(|(expected, figures)| HeldRow::of(expected, figures)),
        trial: tried.map(|tried| TrialRow {
            verdict: match tried.verdict {
                _ if tried.was_stopped => "stopped",
                _ if tried.refused.is_some() => "refused",
                ProofVerdict::Kept => "kept",
                ProofVerdict::TooManySegments => "too-many-segments",
                ProofVerdict::Harms => "harms",
                ProofVerdict::NoEffect => "no-effect",
                ProofVerdict::CannotTell => "cannot-tell",
                ProofVerdict::OtherIsBetter => "other-is-better",
                ProofVerdict::Shared => "shared",
            },
            changes: tried.kept.clone(),
            took_ms: tried.took.as_secs_f64() * 1e3,
            connections: tried.sockets,
            left_to_their_program: tried.gave_way,
            split: match tried.split {
                Split::Turns(_) => "turns",
                Split::Halves { .. } => "halves",
            },
            why_turns: match tried.split {
                Split::Turns(why) => Some(why.to_string()),
                Split::Halves { .. } => None,
            },
            pairs: tried.pairs,
            period_s: tried.period.as_secs_f64(),
            figures: tried.figures.as_ref().map(|figures| FiguresRow {
                stalled_ms_per_turn: figures.stalled_ms.into(),
                stalls_with: figures.stalls[0],
                stalls_without: figures.stalls[1],
                chance: figures.chance,
                turns_per_second_ratio: figures.rate.into(),
                p50_ratio: figures.p50.into(),
                p99_ratio: figures.p99.into(),
                segments_per_turn_with: figures.segments[0],
                segments_per_turn_without: figures.segments[1],
                processor_us_per_turn_with: figures.processor_us.map(|[with, _]| with),
                processor_us_per_turn_without: figures.processor_us.map(|[_, without]| without),
                turns_with: figures.turns[0],
                turns_without: figures.turns[1],
                p50_ms_with: figures.ms[0][0],
                p99_ms_with: figures.ms[0][1],
                p50_ms_without: figures.ms[1][0],
                p99_ms_without: figures.ms[1][1],
            }),
        }),
    }
}

#[derive(Serialize)]
struct Parameters {
    targets: Vec<String>,
    look_s: f64,
    dry_run: bool,
    watch_s: Option<f64>,
    max_extra_segments_percent: f64,
    seed: u64,
}

#[derive(Serialize)]
struct Results {
    connections: usize,
    looked_s: f64,
    /// By those of these connections that were open when the look ended.
    data_segments_sent: u64,
    data_segments_received: u64,
    /// Whether nothing was sent, received or found, so that it cannot tell whether they stall.
    silent: bool,
    /// Why it cannot tell, if so.
    why_unknown: Option<String>,
    stalls: u64,
    stalling_connections: usize,
    cost_ns: i64,
    /// Who the processes perhaps are.
    perhaps: Vec<PerhapsRow>,
    stalls_that_no_setting_ends: u64,
    floods: u64,
    of_floods: Floods,
    /// With `--watch`: at least `watch_s`.
    looks_anew_after_s: Option<f64>,
    remedies: Vec<RemedyRow>,
    /// With `--dry-run`: what the programs' owners can do.
    of_owners: Vec<OfOwnerRow>,
}

#[derive(Serialize)]
struct PerhapsRow {
    name: &'static str,
    page: String,
}

#[derive(Serialize)]
struct RemedyRow {
    setting: String,
    needs: &'static str,
    other_connections: usize,
    sockets: Vec<String>,
    /// Null where it cannot be told, and where it was not to be tried.
    expected: Option<ExpectedRow>,
    /// Whether what was measured lies in the intervals.
    held: Option<HeldRow>,
    trial: Option<TrialRow>,
}

#[derive(Serialize)]
struct TrialRow {
    verdict: &'static str,
    changes: Vec<u64>,
    took_ms: f64,
    connections: usize,
    left_to_their_program: usize,
    split: &'static str,
    why_turns: Option<String>,
    pairs: usize,
    period_s: f64,
    figures: Option<FiguresRow>,
}

#[derive(Serialize)]
struct FiguresRow {
    stalled_ms_per_turn: Interval,
    stalls_with: u64,
    stalls_without: u64,
    chance: f64,
    turns_per_second_ratio: Interval,
    p50_ratio: Interval,
    p99_ratio: Interval,
    segments_per_turn_with: f64,
    segments_per_turn_without: f64,
    /// Null where halves were tried: their processes may be the same.
    processor_us_per_turn_with: Option<f64>,
    processor_us_per_turn_without: Option<f64>,
    turns_with: usize,
    turns_without: usize,
    /// Of a turn: from the first write after a read to the next read that brings data. At a server it contains the time until
    /// its client asks again.
    p50_ms_with: f64,
    p99_ms_with: f64,
    p50_ms_without: f64,
    p99_ms_without: f64,
}

#[derive(Serialize)]
struct Interval {
    value: f64,
    low: f64,
    high: f64,
}

impl From<Estimate> for Interval {
    fn from(estimate: Estimate) -> Self {
        let Estimate { value, low, high } = estimate;
        Self { value, low, high }
    }
}
