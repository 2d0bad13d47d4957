//! What is said of captures in which nothing stalled, and remarks that accuse nobody.

use std::fmt::Write;

use tinygram_diagnose::{Finding, Obstacles, Summary, Verdict};
use tinygram_report::units::counted;

use crate::capture::Capture;
use crate::group::seconds;
use crate::results::Diagnosis;

/// Returns what to say of the captures in which nothing stalled; an empty text if something did in each. `verbose` names
/// all captures that cannot tell.
pub fn outcome(results: &Diagnosis, verbose: bool) -> String {
    let total = results.total();
    let mut out = String::new();
    let several = results.captures.len() > 1;
    for (names, obstacles) in by_reason(results) {
        let whose = match &names[..] {
            [name] if several => format!("{name}: "),
            [_, _, ..] if verbose => format!("{}: ", names.join(", ")),
            [first, others @ ..] if !others.is_empty() => format!(
                "{first} and {} (--verbose names them): ",
                counted(others.len() as u64, "other capture")
            ),
            _ => String::new(),
        };
        let reasons: Vec<_> = obstacles.iter().map(|o| o.reason()).collect();
        // A flood has been told of already: it needs no complete capture.
        let cannot = match total.floods {
            0 => "Cannot tell",
            _ => "Whether anything stalled cannot be told",
        };
        let _ = writeln!(out, "{whose}{cannot}, because {}.", reasons.join(", and "));
        for obstacle in obstacles {
            let _ = writeln!(out, "  To see more: {}.", obstacle.remedy());
        }
    }
    out += &read_of_incomplete(results);
    let untold = results.untold().count();
    if total.stalls > 0 {
        return out + &without(results, no_stalls(total.some_kinds), verbose);
    }
    if untold == results.captures.len() {
        return out;
    }
    let _ = write!(
        out,
        "{}: {} with {} in {}",
        no_stalls(total.some_kinds),
        counted(total.connections.into(), "connection"),
        counted(total.segments, "segment"),
        seconds(total.last_ns - total.first_ns)
    );
    let _ = match total.sight.dominant() {
        Some((by, ns)) => writeln!(
            out,
            "; {} of the {} that connections lasted {}.",
            seconds(ns),
            seconds(total.sight.lifetime_ns),
            by.sentence()
        ),
        None => writeln!(out, "."),
    };
    out
}

/// Returns how much was read of each capture that could not be read to its end and in which nothing stalled until there.
fn read_of_incomplete(results: &Diagnosis) -> String {
    let mut out = String::new();
    for (capture, _) in results.untold() {
        if let Some(error) = &capture.broken {
            let summary = &capture.report.summary;
            let _ = writeln!(
                out,
                "  {} {error}. Nothing stalled in what was read: {} of TCP in {}.",
                capture.name,
                counted(summary.segments, "segment"),
                seconds(summary.last_ns - summary.first_ns)
            );
        }
    }
    out
}

/// Returns where captures with stalls end too early, a sentence each.
fn ends_of_incomplete(results: &Diagnosis) -> impl Iterator<Item = String> {
    results.captures.iter().filter_map(|capture| {
        let error = capture.broken.as_ref()?;
        let summary = &capture.report.summary;
        (summary.stalls > 0).then(|| {
            format!(
                "{} {error}: what came after frame {} is not in this.",
                capture.name, summary.frames
            )
        })
    })
}

/// Returns how it is said that there are none; `some_kinds` if only some were asked for.
fn no_stalls(some_kinds: bool) -> &'static str {
    match some_kinds {
        true => "No stalls of the kind asked for (--kind)",
        false => "No stalls",
    }
}

/// Returns which of several captures have no stalls, where others have, in the words of `none`; an empty text if none is
/// so. `verbose` names them all.
fn without(results: &Diagnosis, none: &str, verbose: bool) -> String {
    let is_without = |it: &&Capture| matches!(it.report.summary.verdict(), Verdict::None);
    let all = results.captures.iter().filter(is_without);
    let names: Vec<_> = all.map(|it| it.name.as_str()).collect();
    match &names[..] {
        [] => String::new(),
        [first, others @ ..] if !verbose && others.len() > 1 => format!(
            "{none} in {first} and {} (--verbose names them).\n",
            counted(others.len() as u64, "other capture")
        ),
        _ => format!("{none} in {}.\n", names.join(", ")),
    }
}

/// Returns the captures of which nothing can be told, those with the same reasons together, in the order
/// of the first of them.
fn by_reason(results: &Diagnosis) -> Vec<(Vec<&str>, Obstacles)> {
    let mut groups: Vec<(Vec<&str>, Obstacles)> = Vec::new();
    for (capture, obstacles) in results.untold() {
        match groups.iter_mut().find(|(_, known)| *known == obstacles) {
            Some((names, _)) => names.push(&capture.name),
            None => groups.push((vec![&capture.name], obstacles)),
        }
    }
    groups
}

/// Returns what took more time than the stalls, if there are stalls and something did.
fn slower(total: &Summary) -> Option<String> {
    let is_more = |&(_, ns): &(_, i64)| total.stalls > 0 && ns > total.cost_ns;
    let (by, ns) = total.sight.dominant().filter(is_more)?;
    Some(format!(
        "More than the stalls cost, {} of the {} that connections lasted, {}.",
        seconds(ns),
        seconds(total.sight.lifetime_ns),
        by.sentence()
    ))
}

/// Returns what the checks saw that bounded the possible stalls, of which there are so many, the most frequent first.
fn bounds(results: &Diagnosis, all: u64) -> String {
    let possible = results.findings().map(|(_, finding)| finding);
    let possible = possible.filter(|it| it.kind.is_stall() && !it.tier().accuses());
    let bounds = possible.filter_map(Finding::bounded_by);
    because(bounds.map(|bound| bound.check.failed), all)
}

/// Returns the reasons with how often each is there. Only what is kept has one: where that is not all, it is said.
fn because<'a>(each: impl Iterator<Item = &'a str>, all: u64) -> String {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for why in each {
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, count)) => *count += 1,
            None => reasons.push((why, 1)),
        }
    }
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let kept: usize = reasons.iter().map(|(_, count)| count).sum();
    let said = match &reasons[..] {
        [] => return String::new(),
        [(why, _)] => (*why).to_owned(),
        [first, second] => format!("{} ({}), and {} ({})", first.0, first.1, second.0, second.1),
        [first, second, others @ ..] => format!(
            "{} ({}), {} ({}), and for {} ({})",
            first.0,
            first.1,
            second.0,
            second.1,
            match others.len() {
                1 => "another reason".to_owned(),
                n => format!("{n} other reasons"),
            },
            others.iter().map(|(_, count)| count).sum::<usize>()
        ),
    };
    match kept as u64 == all {
        true => format!(": {said}"),
        false => format!("; of the {kept} that were kept: {said}"),
    }
}

/// Returns remarks that accuse nobody, a sentence each.
pub fn asides(results: &Diagnosis) -> Vec<String> {
    let total = &results.total();
    let mut sentences = Vec::new();
    sentences.extend(ends_of_incomplete(results));
    sentences.extend(slower(total));
    if total.possible > 0 {
        let stalls = match total.possible {
            1 => "1 stall is".to_owned(),
            n => format!("{n} stalls are"),
        };
        sentences.push(format!(
            "{stalls} possible, {}, and not counted{} (listed below).",
            seconds(total.possible_ns),
            bounds(results, total.possible)
        ));
    }
    if total.sight.unwatched > 0 {
        let ns = seconds(total.sight.unwatched_ns);
        let held = match total.sight.unwatched {
            1 => format!(
                "1 segment left as if it had been held, {ns}, and nobody was seen to wait: its"
            ),
            n => format!(
                "{n} segments left as if they had been held, {ns} in all, and nobody was seen to wait: their"
            ),
        };
        sentences.push(format!(
            "{held} program goes by a clock of its own, or a reader elsewhere waited (behind a VPN, of a report)."
        ));
    }
    if total.unseen.quic > 0 {
        sentences.push(format!(
            "{} of QUIC: out of scope, for it has neither Nagle's algorithm nor TCP's delayed ACKs.",
            counted(total.unseen.quic, "frame")
        ));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use tinygram_diagnose::Sight;

    use super::*;

    #[test]
    fn what_took_more_than_the_stalls_is_said() {
        let said = |server_ms: i64| {
            slower(&Summary {
                stalls: 1,
                cost_ns: 400_000_000,
                sight: Sight {
                    server_ns: server_ms * 1_000_000,
                    lifetime_ns: 1_000_000_000,
                    ..Sight::default()
                },
                ..Summary::default()
            })
        };
        let more = said(401).expect("a sentence");
        assert!(more.contains("before the servers answered"), "{more}");
        assert_eq!(said(400), None);
    }

    #[test]
    fn reasons_add_up_or_are_said_to_be_of_some() {
        let each = || ["far", "alone", "far"].into_iter();
        assert_eq!(because(each(), 3), ": far (2), and alone (1)");
        assert_eq!(
            because(each(), 5),
            "; of the 3 that were kept: far (2), and alone (1)"
        );
        assert_eq!(because([].into_iter(), 5), "");
    }
}
