//! The sentences of `cure`.

use std::fmt::Write;
use std::time::Duration;

use tinygram_host::hand::SocketOption;
use tinygram_host::knob::KnobSetting;
use tinygram_remedy::look::Cause;
use tinygram_remedy::proof::statistics::{Estimate, PairFigures};
use tinygram_remedy::proof::{ProofVerdict, extra_segments};
use tinygram_remedy::remedy::{KnobPlace, Means, Remedy, ServiceEnd, WhichEnd};
use tinygram_remedy::split::Split;
use tinygram_remedy::trial::Tried;

use super::document;
use super::done::Cured;
use super::expected::{self, Expected};
use super::floods::Floods;
use super::perhaps::perhaps;
use super::plan::Plan;
use super::silence::why_unknown;
use crate::amount::three;
use crate::outcome::Failure;
use crate::terminal::print_text;
use crate::verbs::watch::sentence;
use tinygram_report::units::counted;

/// Shows what was seen and done. If it goes on, everything is looked at anew after `rest`.
pub(super) fn show(plan: &Plan, cured: &Cured, rest: Option<Duration>) -> Result<(), Failure> {
    let text = match plan.as_json {
        true => document::of(plan, cured, rest),
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
    for of_owner in &cured.of_owners {
        text += &of_owner.offered();
    }
    if plan.is_dry && !cured.remedies.is_empty() {
        text += "Nothing was changed (--dry-run). ";
        text += &next(plan, cured);
        text += "The program's own mend is in the advice of `tinygram watch`.\n";
    }
    text
}

/// Says what would be tried first, and by which command.
fn next(plan: &Plan, cured: &Cured) -> String {
    let mut remedies = cured.remedies.iter().map(|(remedy, _)| remedy);
    let Some(first) = remedies.find(|remedy| plan.may_try(remedy)) else {
        return "None of these would be tried. ".to_owned();
    };
    let targets: Vec<_> = plan.targets.iter().map(ToString::to_string).collect();
    format!(
        "Tried in this order, {} first, by: tinygram cure {}. ",
        first.means,
        targets.join(" ")
    )
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
    for program in perhaps(look) {
        let _ = writeln!(text, "  perhaps {}: {}", program.name, program.page());
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
            "  {} floods of small segments, which no setting ends: started under `tinygram run --eager`, their program gathers them \
             (without --eager only where answers are frequent or take eight writes)",
            look.floods
        );
        text += &Floods::of(plan, cured).in_words();
    }
    text
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
    let at = places_in_words(places);
    if others == 0 {
        return format!("; it holds for all of {at}, which no other connection uses now");
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

/// Names the first of a knob's places.
fn places_in_words(places: &[KnobPlace]) -> String {
    let names = places.iter().map(|place| match &place.route {
        Some(route) => format!("the route {route}"),
        None => format!("network namespace {}", place.netns),
    });
    let names: Vec<_> = names.take(MOST_PLACES).collect();
    names.join(", ")
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
        let is_server = |service: &ServiceEnd| matches!(service.end, WhichEnd::Server(_));
        text += &in_figures(figures, remedy.stalling.iter().any(is_server));
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
        ProofVerdict::Kept if plan.watch.is_some() => "Kept, for now.".to_owned(),
        ProofVerdict::Kept => {
            let whom = match &remedy.means {
                Means::Socket(_) => "the connections that are open now".to_owned(),
                Means::Knob(_, places) => format!(
                    "all connections of {}, those that are open now and those to come, whoever's, until it is put back",
                    places_in_words(places)
                ),
            };
            format!(
                "Kept, for {whom}; those that were tried had it {:.1} ms after the decision. To put it back: {}",
                tried.took.as_secs_f64() * 1e3,
                undo.join("; ")
            )
        }
        ProofVerdict::TooManySegments => format!(
            "Put back: it ends stalls, but takes more than {:.0} % more segments (--max-extra-segments). \
             `tinygram run` ends them without where answers are frequent or take eight writes, `tinygram run --eager` also where \
             they are rare (in a Go or static program that runs: `tinygram run --attach PID`).",
            plan.demand.most_extra_segments * 100.0
        ),
        ProofVerdict::Harms => "Put back: it makes something worse.".to_owned(),
        ProofVerdict::NoEffect => {
            "Put back: turns are not stalled for a shorter time beyond chance.".to_owned()
        }
        ProofVerdict::OtherIsBetter => "Put back: it helps, and another helps more.".to_owned(),
        ProofVerdict::Shared => {
            "Put back: it helps, and by now other connections use what it changes.".to_owned()
        }
        ProofVerdict::CannotTell => "Put back: cannot tell, too little was seen.".to_owned(),
    };
    text + &format!("  {sentence}\n")
}

fn in_figures(figures: &PairFigures, at_server: bool) -> String {
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
         \x20 turns a second: {} ({} with it, {} without); a turn: from a write to the next data read{}\n\
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
        match at_server {
            true => ", at a server with its client's pause",
            false => "",
        },
        three(p50),
        three(p50_with),
        ratio(&figures.p50),
        three(p99),
        three(p99_with),
        ratio(&figures.p99),
        extra_segments(figures) * 100.0
    )
}

/// So many places of a knob are named.
const MOST_PLACES: usize = 3;
