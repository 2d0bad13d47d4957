//! The sentences and the JSON document of `cure`.

use std::fmt::Write;
use std::time::Duration;

use serde::Serialize;
use tinygram_host::hand::SocketOption;
use tinygram_host::knob::KnobSetting;
use tinygram_remedy::look::Cause;
use tinygram_remedy::proof::statistics::{Estimate, Figures};
use tinygram_remedy::proof::{Verdict, extra_segments};
use tinygram_remedy::remedy::{KnobPlace, Means, Remedy};
use tinygram_remedy::split::Split;
use tinygram_remedy::trial::Tried;
use tinygram_report::{Document, json};

use super::done::Cured;
use super::expected::{self, Expected, ExpectedRow, HeldRow};
use super::plan::Plan;
use crate::amount::{counted, three};
use crate::exit::Failure;
use crate::terminal::print_text;
use crate::verbs::watch::sentence;

/// Shows what was seen and done. If it goes on, everything is looked at anew after `rest`.
pub(super) fn show(plan: &Plan, cured: &Cured, rest: Option<Duration>) -> Result<(), Failure> {
    let text = match plan.as_json {
        true => document(plan, cured, rest),
        false => text(plan, cured),
    };
    print_text(&text)?;
    Ok(())
}

fn text(plan: &Plan, cured: &Cured) -> String {
    let mut text = seen(plan, cured);
    for (index, (remedy, tried)) in cured.remedies.iter().enumerate() {
        match tried {
            None => {
                let _ = writeln!(text, "{}", offered(remedy));
                // Of what is not tried nothing is asked, unless nothing is to be changed.
                if plan.is_dry
                    && let Some(expected) = cured.expected.get(index)
                {
                    let _ = writeln!(text, "    {}", expected::told(expected.as_ref()));
                }
            }
            Some(tried) => {
                let expected = cured.expected.get(index).and_then(Option::as_ref);
                text += &told(plan, remedy, expected, tried);
            }
        }
    }
    if plan.is_dry && !cured.remedies.is_empty() {
        text += "Nothing was changed (--dry-run). If no setting is wanted: the program's own mend is in the advice of \
                 `tinygram watch`, and `tinygram run -- PROGRAM` holds and flushes for it.\n";
    }
    text
}

/// Says what stalls.
fn seen(plan: &Plan, cured: &Cured) -> String {
    let look = &cured.look;
    let targets: Vec<_> = plan.targets.iter().map(ToString::to_string).collect();
    let mut text = match (look.count(), why_unknown(cured)) {
        (_, Some(why)) if cured.sockets == 0 => format!("{}: {why}.\n", targets.join(", ")),
        (_, Some(why)) => format!("{}: cannot tell: {why}.\n", targets.join(", ")),
        (0, None) => format!(
            "{}: no stall that a setting ends in {:.1} s on {}.\n",
            targets.join(", "),
            look.lasted.as_secs_f64(),
            counted(cured.sockets as u64, "connection")
        ),
        (count, None) => {
            let cost_ns: i64 = look.stalls.values().map(|stalling| stalling.cost_ns).sum();
            format!(
                "{}: {} in {:.1} s on {}, {:.1} ms each on average.\n",
                targets.join(", "),
                counted(count, "stall"),
                look.lasted.as_secs_f64(),
                counted(look.stalls.len() as u64, "connection"),
                cost_ns as f64 / 1e6 / count as f64
            )
        }
    };
    if let Some(worst) = look.stalls.values().max_by_key(|stalling| stalling.cost_ns) {
        let _ = writeln!(text, "  {}", sentence::of(&worst.first, &worst.process));
    }
    for (reason, count) in &look.others {
        let _ = writeln!(
            text,
            "  {count} stalls were held by {reason}: no setting of a socket ends that"
        );
    }
    if look.floods > 0 {
        let _ = writeln!(
            text,
            "  {} floods of small segments, which no setting ends: `tinygram run` gathers them",
            look.floods
        );
    }
    text
}

/// Says why it cannot be told whether anything stalls: nothing is known to have been sent or received. `None` if something is.
fn why_unknown(cured: &Cured) -> Option<String> {
    if !cured.is_silent() {
        return None;
    }
    let seconds = cured.look.lasted.as_secs_f64();
    Some(match (cured.sockets, cured.traffic.open) {
        (0, _) => format!("no connection was found in {seconds:.1} s, so nothing was looked at"),
        (1, 0) => format!(
            "the only connection closed while it looked ({seconds:.1} s) and took its counts along"
        ),
        (all, 0) => format!(
            "all {all} connections closed while it looked ({seconds:.1} s) and took their counts along"
        ),
        (_, open) => format!(
            "in {seconds:.1} s nothing was sent on {} (those still open), and nothing came",
            counted(open as u64, "connection")
        ),
    })
}

/// Says what a remedy is, what it needs and what is expected of it.
fn offered(remedy: &Remedy) -> String {
    let expected = match (remedy.cause, &remedy.means) {
        (_, Means::Socket(setting)) if setting.option == SocketOption::Nodelay => {
            "ends the wait; costs a segment for each write that waited"
        }
        (Cause::Cork, _) => {
            "ends the wait where the program leaves TCP_CORK on; not tried without --uncork, for it copies the program's descriptors"
        }
        (Cause::Autocork, _) => {
            "ends the wait; costs segments where small writes follow each other"
        }
        (Cause::Nagle, Means::Socket(_)) => {
            "bounds the wait at the receiver on this host to about 12 ms at 250 ticks a second; costs a bare ACK for each"
        }
        (_, Means::Socket(_)) => {
            "bounds what the peer waits for this host's ACK to about 12 ms at 250 ticks a second; costs a bare ACK for each"
        }
        (_, Means::Knob(..)) => "ends the wait at the receiver; costs a bare ACK for each",
    };
    let text = format!(
        "  {} on {}: needs root, no restart; {expected}",
        remedy.means,
        whose(remedy)
    );
    match &remedy.means {
        Means::Knob(setting, places) => text + &shares(*setting, places, remedy.others),
        Means::Socket(_) => text,
    }
}

/// Says whose sockets a remedy is for.
fn whose(remedy: &Remedy) -> String {
    let mut services: Vec<(String, usize)> = Vec::new();
    for service in &remedy.sockets {
        let name = service.to_string();
        match services.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => services.push((name, 1)),
        }
    }
    // Two of one name differ by their network namespaces alone.
    let named = services.into_iter().map(|(name, count)| match count {
        1 => name,
        _ => format!("{name} in {count} network namespaces"),
    });
    named.collect::<Vec<_>>().join(", ")
}

/// Says where a knob is, and which other connections it touches.
fn shares(setting: KnobSetting, places: &[KnobPlace], others: usize) -> String {
    let names = places.iter().map(|place| match &place.route {
        Some(route) => format!("the route {route}"),
        None => format!("network namespace {}", place.netns),
    });
    let names: Vec<_> = names.take(MOST_PLACES).collect();
    let at = names.join(", ");
    if others == 0 {
        return format!("; it holds for {at}, which no other connection uses");
    }
    let target = match setting.knob.is_of_route() {
        true => "TARGET",
        false => "PROCESS",
    };
    format!(
        "; not tried, for it holds for {at}, which is used by {}, too: tinygram set {target} {setting}",
        counted(others as u64, "other connection")
    )
}

/// Says what a trial showed.
fn told(plan: &Plan, remedy: &Remedy, expected: Option<&Expected>, tried: &Tried) -> String {
    let mut text = format!(
        "{} on {}, {} periods of {:.1} s{}:\n",
        remedy.means,
        counted(tried.sockets as u64, "connection"),
        tried.pairs,
        tried.period.as_secs_f64(),
        match tried.split {
            Split::Turns(why) => format!(" with it and as many without, by turns, for {why}"),
            Split::Halves { clients } => format!(
                ", in each of which half of {clients} clients have it, drawn by seed {}",
                plan.seed
            ),
        }
    );
    if let Some(figures) = &tried.figures {
        text += &in_figures(figures);
        let _ = writeln!(text, "  {}", expected::compared(expected, figures));
    }
    if tried.gave_way > 0 {
        let _ = writeln!(
            text,
            "  {} left to their program, which set the option meanwhile",
            counted(tried.gave_way as u64, "connection")
        );
    }
    let undo: Vec<_> = tried
        .kept
        .iter()
        .map(|id| format!("tinygram set --undo {id}"))
        .collect();
    if let Some(why) = &tried.refused {
        return format!("{}: cannot be set here ({why})\n", remedy.means);
    }
    let sentence = match tried.verdict {
        _ if tried.was_stopped => "Stopped; it was put back.".to_owned(),
        Verdict::Kept if plan.watch.is_some() => "Kept, for now.".to_owned(),
        Verdict::Kept => {
            let whom = match remedy.means {
                Means::Socket(_) => "the connections that are open now",
                Means::Knob(..) => "the connections that are open now and those to come",
            };
            format!(
                "Kept, for {whom}; those that were tried had it {:.1} ms after the decision. To put it back: {}",
                tried.took.as_secs_f64() * 1e3,
                undo.join("; ")
            )
        }
        Verdict::TooManySegments => format!(
            "Put back: it ends stalls, but takes more than {:.0} % more segments (--max-extra-segments). \
             `tinygram run` ends them without (in a Go or static program that runs: `tinygram run --attach PID`).",
            plan.demand.most_extra_segments * 100.0
        ),
        Verdict::Harms => "Put back: it makes something worse.".to_owned(),
        Verdict::NoEffect => {
            "Put back: turns are not stalled for a shorter time beyond chance.".to_owned()
        }
        Verdict::OtherIsBetter => "Put back: it helps, and another helps more.".to_owned(),
        Verdict::CannotTell => "Put back: cannot tell, too little was seen.".to_owned(),
    };
    text + &format!("  {sentence}\n")
}

fn in_figures(figures: &Figures) -> String {
    let ratio = |estimate: &Estimate| {
        format!(
            "x{} [{}, {}]",
            three(estimate.value),
            three(estimate.low),
            three(estimate.high)
        )
    };
    let [[p50_with, p99_with], [p50, p99]] = figures.ms;
    let [with, without] = figures.segments;
    let [with_it, without_it] = figures.stalls;
    let processor = figures
        .processor_us
        .map_or_else(String::new, |[with, without]| {
            format!(
                "; processor time of its processes a turn: {} -> {} us",
                three(without),
                three(with)
            )
        });
    format!(
        "  stalled in a turn: {:+.3} ms [{:+.3}, {:+.3}], by chance alone {:.4} ({} with it, {without_it} without)\n\
         \x20 turns a second: {} ({} with it, {} without)\n\
         \x20 p50 {} -> {} ms, {}; p99 {} -> {} ms, {}\n\
         \x20 data segments a turn: {without:.2} -> {with:.2} ({:+.0} %){processor}\n",
        figures.stalled_ms.value,
        figures.stalled_ms.low,
        figures.stalled_ms.high,
        figures.chance,
        counted(with_it, "stall"),
        ratio(&figures.rate),
        figures.turns[0],
        figures.turns[1],
        three(p50),
        three(p50_with),
        ratio(&figures.p50),
        three(p99),
        three(p99_with),
        ratio(&figures.p99),
        extra_segments(figures) * 100.0
    )
}

fn document(plan: &Plan, cured: &Cured, rest: Option<Duration>) -> String {
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
            stalls_that_no_setting_ends: cured.look.others.values().sum(),
            floods: cured.look.floods,
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
        },
    })
}

fn row(remedy: &Remedy, expected: Option<&Expected>, tried: Option<&Tried>) -> RemedyRow {
    let figures = tried.and_then(|tried| tried.figures.as_ref());
    RemedyRow {
        setting: remedy.means.to_string(),
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
                Verdict::Kept => "kept",
                Verdict::TooManySegments => "too-many-segments",
                Verdict::Harms => "harms",
                Verdict::NoEffect => "no-effect",
                Verdict::CannotTell => "cannot-tell",
                Verdict::OtherIsBetter => "other-is-better",
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
    stalls_that_no_setting_ends: u64,
    floods: u64,
    /// With `--watch`: at least `watch_s`.
    looks_anew_after_s: Option<f64>,
    remedies: Vec<RemedyRow>,
}

#[derive(Serialize)]
struct RemedyRow {
    setting: String,
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

/// So many places of a knob are named.
const MOST_PLACES: usize = 3;
