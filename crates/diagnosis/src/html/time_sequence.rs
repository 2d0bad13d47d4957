//! The time-sequence chart of one stall: the trigger, the late ACK and the held segment.

use tinygram_diagnose::Facts;
use tinygram_diagnose::Hold;
use tinygram_report::{Axis, Band, Chart, Mark, Point, Series, Tone, units};
use tinygram_stalls::ms;

use crate::trace::{Dot, Excerpt};

/// Returns the chart, if the finding is a stall whose segments were found.
pub(super) fn of(name: &str, trace: &Excerpt<'_>) -> Option<Chart> {
    let Facts::Hold(hold) = &trace.finding.facts else {
        return None;
    };
    let plane = Plane::of(trace, hold.trigger.frame)?;
    let sender = trace.sender_side();
    let end_ns = trace.finding.frames.last()?.time_ns;
    Some(Chart {
        title: format!(
            "{name}: {}, frames {} to {}",
            trace.finding.kind.title(),
            hold.trigger.frame,
            hold.held.frame
        ),
        x: Axis::new("time", "ms"),
        y: Axis::new(format!("sent by the {sender}"), "bytes"),
        series: series(trace, hold, &plane),
        bands: vec![Band {
            from: plane.x(trace.finding.start_ns),
            to: plane.x(end_ns),
            name: waiting(hold),
            tone: Tone::Bad,
        }],
        ..Chart::default()
    })
}

/// Converts time and sequence number to the chart's units.
struct Plane {
    from_ns: i64,
    /// The lowest sequence number shown, from which others are counted.
    base: u32,
    highest: f64,
}

impl Plane {
    fn of(trace: &Excerpt<'_>, trigger: u64) -> Option<Self> {
        let first = trace.dots.iter().find(|it| it.frame == trigger)?;
        let data = || trace.dots.iter().filter(|it| it.by_sender && it.len > 0);
        let base = data()
            .map(|it| it.seq)
            .min_by_key(|seq| seq.wrapping_sub(first.seq) as i32)?;
        let highest = data()
            .map(|it| it.seq.wrapping_add(it.len).wrapping_sub(base) as i32)
            .max()?;
        Some(Self {
            from_ns: trace.from_ns,
            base,
            highest: f64::from(highest.max(1)),
        })
    }

    fn x(&self, time_ns: i64) -> f64 {
        milliseconds(time_ns - self.from_ns)
    }

    fn y(&self, seq: u32) -> f64 {
        f64::from(seq.wrapping_sub(self.base) as i32).clamp(0.0, self.highest)
    }
}

fn series(trace: &Excerpt<'_>, hold: &Hold, plane: &Plane) -> Vec<Series> {
    let (sender, peer) = (trace.sender_side(), trace.sender_side().other());
    let bar = |it: &Dot| {
        Point::at(plane.x(it.time_ns), plane.y(it.seq))
            .to(plane.y(it.seq.wrapping_add(it.len)))
            .saying(format!(
                "frame {}: {} bytes of the {sender}",
                it.frame, it.len
            ))
    };
    let data = || trace.dots.iter().filter(|it| it.by_sender && it.len > 0);
    let others = data().filter(|it| it.frame != hold.held.frame);
    let held = data().filter(|it| it.frame == hold.held.frame);
    let acks = || trace.dots.iter().filter(|it| !it.by_sender);
    let step = |it: &Dot| {
        let at = Point::at(plane.x(it.time_ns), plane.y(it.ack?));
        Some(at.saying(format!("frame {}: acknowledgment of the {peer}", it.frame)))
    };
    let late = hold.release.map(|it| it.frame);
    let release = acks().filter(|it| Some(it.frame) == late);
    let peers = acks().filter(|it| it.len > 0).map(|it| {
        let said = format!("frame {}: {} bytes of the {peer}", it.frame, it.len);
        Point::at(plane.x(it.time_ns), 0.0).saying(said)
    });
    let series = [
        Series::new(
            format!("data of the {sender}"),
            Mark::Bars,
            others.map(bar).collect(),
        ),
        Series::new(being_held(hold), Mark::Bars, held.map(bar).collect()).toned(Tone::Bad),
        Series::new(
            format!("what the {peer} has acknowledged"),
            Mark::Steps,
            acks().filter_map(step).collect(),
        ),
        Series::new(
            released(hold, &peer.to_string()),
            Mark::Rings,
            release.filter_map(step).collect(),
        )
        .toned(Tone::Odd),
        Series::new(
            format!("data of the {peer}"),
            Mark::Triangles,
            peers.collect(),
        ),
    ];
    // If no ACK released the segment, the legend still says so.
    let is_said = |it: &Series| it.mark == Mark::Rings || !it.points.is_empty();
    series.into_iter().filter(is_said).collect()
}

fn being_held(hold: &Hold) -> String {
    format!(
        "{} bytes held for {} (frame {})",
        hold.held_len,
        ms(hold.held.time_ns - hold.trigger.time_ns),
        hold.held.frame
    )
}

/// Returns what the held segment waited behind.
fn waiting(hold: &Hold) -> String {
    // If a timer released the segment, no ACK was waited for.
    let state = match hold.release {
        Some(_) => "unacknowledged",
        None => "sent before",
    };
    format!(
        "the wait: {} bytes {state} (frame {})",
        hold.trigger_len, hold.trigger.frame
    )
}

fn released(hold: &Hold, peer: &str) -> String {
    match hold.release {
        Some(release) => format!(
            "ACK of the {peer} after {} (frame {})",
            ms(hold.ack_wait_ns),
            release.frame
        ),
        None => "no ACK: released by the retransmission timer".to_owned(),
    }
}

pub(super) fn milliseconds(ns: i64) -> f64 {
    ns as f64 / 1e6
}

/// Returns the milliseconds since midnight, UTC.
pub(super) fn of_day(ns: i64) -> f64 {
    milliseconds(ns.rem_euclid(86_400_000_000_000))
}

/// Returns the time of day, in UTC, to the millisecond.
pub(super) fn clock(ns: i64) -> String {
    units::clock(of_day(ns))
}
