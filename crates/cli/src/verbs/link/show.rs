//! The output about a link, for people and scripts.

use std::fmt::Write;

use serde::Serialize;
use tinygram_link::namespace::Namespace;
use tinygram_link::relay::Carried;

use super::plan::{Emulation, FAR, How, NEAR, Plan};
use crate::outcome::{Done, Failure, complain};
use crate::terminal;

/// Returns where the ends are and how to enter them.
pub(super) fn invitation(near: &Namespace, far: &Namespace) -> String {
    let mut text = String::new();
    for (name, space, own) in [("first", near, NEAR), ("second", far, FAR)] {
        let enter = format!("nsenter --net={}", space.path().display());
        let (v4, v6) = (own.v4, own.v6);
        writeln!(text, "{name:6}  {v4}  {v6}  {enter}").expect("a string takes all");
    }
    text + "Ctrl-C ends the link.\n"
}

/// Shows what an emulated link carried.
pub(super) fn ended(plan: &Plan, carried: Option<&[Carried; 2]>) -> Result<Done, Failure> {
    let (Some(carried), How::Emulated(emulation)) = (carried, &plan.how) else {
        return Ok(Done::Well);
    };
    let text = match plan.json {
        true => json(emulation, carried),
        false => text(carried),
    };
    if plan.command.is_empty() {
        return terminal::print(text.as_bytes());
    }
    // Standard output belongs to the command.
    complain(text.trim_end_matches('\n'));
    Ok(Done::Well)
}

/// Returns the statistics as a table.
fn text(carried: &[Carried; 2]) -> String {
    let mut text = String::new();
    for (name, way) in WAYS.iter().zip(carried) {
        let counts = way.counts;
        let parts = [
            (counts.lost, "lost"),
            (counts.overflowed, "dropped by the full queue"),
            (counts.reordered, "held back"),
            (counts.duplicated, "doubled"),
            (way.refused, "refused by the kernel"),
        ];
        write!(
            text,
            "{name}: {} packets, {} bytes in; {} packets, {} bytes out",
            counts.packets, counts.octets, counts.delivered, counts.delivered_octets
        )
        .expect("a string takes all");
        for (number, what) in parts.iter().filter(|(number, _)| *number > 0) {
            write!(text, "; {number} {what}").expect("a string takes all");
        }
        writeln!(
            text,
            "; queue at most {}; late by {:.3} ms on average, {:.3} ms at worst",
            counts.queued_max,
            way.late.mean().as_secs_f64() * 1e3,
            way.late.longest.as_secs_f64() * 1e3
        )
        .expect("a string takes all");
    }
    text
}

/// Returns the statistics as a document.
fn json(emulation: &Emulation, carried: &[Carried; 2]) -> String {
    let document = Document {
        schema: "tinygram.link/1",
        emulation,
        there: Way::from(&carried[0]),
        back: Way::from(&carried[1]),
    };
    serde_json::to_string_pretty(&document).expect("numbers and names") + "\n"
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    emulation: &'a Emulation,
    there: Way,
    back: Way,
}

#[derive(Serialize)]
struct Way {
    packets: u64,
    bytes: u64,
    delivered_packets: u64,
    delivered_bytes: u64,
    lost: u64,
    overflowed: u64,
    held_back: u64,
    doubled: u64,
    refused: u64,
    queued_max: usize,
    late_mean_ms: f64,
    late_max_ms: f64,
}

impl Way {
    fn from(way: &Carried) -> Self {
        let counts = way.counts;
        Self {
            packets: counts.packets,
            bytes: counts.octets,
            delivered_packets: counts.delivered,
            delivered_bytes: counts.delivered_octets,
            lost: counts.lost,
            overflowed: counts.overflowed,
            held_back: counts.reordered,
            doubled: counts.duplicated,
            refused: way.refused,
            queued_max: counts.queued_max,
            late_mean_ms: way.late.mean().as_secs_f64() * 1e3,
            late_max_ms: way.late.longest.as_secs_f64() * 1e3,
        }
    }
}

const WAYS: [&str; 2] = ["there", "back "];
