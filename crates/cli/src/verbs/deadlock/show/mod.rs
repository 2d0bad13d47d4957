//! The results as text and as JSON, and the plane as SVG.

mod json;
mod plane;
mod rows;
mod text;

use serde::Serialize;
use tinygram_papers::moldeklev::predict::{AckThreshold, Area, DeadlockClass};

use super::plan::Parameters;

pub(super) use json::json;
pub(super) use plane::plane;
pub(super) use rows::rows;
pub(super) use text::text;

/// An inequality with its numbers filled in.
#[derive(Serialize)]
struct Inequality {
    /// Its number in the paper.
    number: u8,
    rule: String,
    filled_in: String,
    holds: bool,
}

/// Returns (1) and (2) in this receiver's terms.
fn inequalities(parameters: &Parameters, threshold: &AckThreshold) -> [Inequality; 2] {
    let (s, mss) = (parameters.send_buffer, u64::from(parameters.mss));
    [(1, 0, ""), (2, mss, " + MSS")].map(|(number, more, plus)| {
        let share = threshold
            .share
            .map(|(percent, octets)| (format!("S < {percent} % R{plus}"), octets + more));
        let segments = threshold.segments.map(|octets| {
            let rule = match octets / mss {
                2 if octets == 2 * mss => format!("S < {} MSS", 2 + number - 1),
                1 if octets == mss + 1 => format!("S < MSS + 1{plus}"),
                _ => format!("S < {octets}{plus}"),
            };
            (rule, octets + more)
        });
        let terms: Vec<(String, u64)> = [share, segments].into_iter().flatten().collect();
        let rules: Vec<&str> = terms.iter().map(|(rule, _)| rule.as_str()).collect();
        let numbers = terms.iter().map(|(_, limit)| {
            let relation = if s < *limit { "<" } else { ">=" };
            format!("{s} {relation} {limit}")
        });
        Inequality {
            number: number as u8,
            rule: rules.join(" and "),
            filled_in: numbers.collect::<Vec<_>>().join(" and "),
            holds: terms.iter().all(|(_, limit)| s < *limit),
        }
    })
}

/// Returns the name of an area of the plane.
const fn area(area: Area) -> &'static str {
    match area {
        Area::Certain => "certain",
        Area::Possible => "possible",
        Area::Safe => "safe",
    }
}

/// Returns the name of a class of deadlocks.
const fn class(class: DeadlockClass) -> &'static str {
    match class {
        DeadlockClass::WindowUpdate => "window-update",
        DeadlockClass::Copying => "copying",
        DeadlockClass::Timer => "timer",
    }
}

/// Returns the description of a capture.
pub(super) fn comment(parameters: &Parameters) -> String {
    format!(
        "tinygram deadlock, simulated: {}, one run; payload is zeros",
        subject(parameters)
    )
}

/// Returns what was asked about; the policy only if it is not the profile's.
fn subject(parameters: &Parameters) -> String {
    let policy = parameters
        .policy
        .map_or(String::new(), |name| format!(", {name}"));
    format!(
        "S = {}, R = {}, MSS = {}, writes of {} bytes ({}{policy})",
        parameters.send_buffer,
        parameters.receive_buffer,
        parameters.mss,
        parameters.write,
        parameters.profile,
    )
}
