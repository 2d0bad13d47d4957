//! A time-sequence plot of one stall: the trigger, the late ACK and the held segment.

use std::fmt::Write;

use tinygram_diagnose::Facts;
use tinygram_diagnose::vocabulary::ms;

use super::trace::Trace;

/// Returns the plot as inline SVG; empty if the finding is no stall or its segments are missing.
pub(super) fn svg(trace: &Trace<'_>) -> String {
    let Facts::Hold(hold) = &trace.finding.facts else {
        return String::new();
    };
    let Some(scale) = Scale::of(trace, hold.trigger.frame) else {
        return String::new();
    };
    let mut out = format!(
        "<svg class=\"zoom\" tabindex=\"0\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"time-sequence plot of {} in frames {} to {}\">",
        trace.finding.kind.name(),
        hold.trigger.frame,
        hold.held.frame
    );
    band(&mut out, trace, &scale);
    axes(&mut out, trace, &scale);
    acks(&mut out, trace, &scale, hold.release.map(|m| m.frame));
    data(&mut out, trace, &scale, hold.held.frame);
    labels(&mut out, trace, &scale, hold);
    out += "</svg>";
    out
}

/// From time and sequence number to the page.
struct Scale {
    from_ns: i64,
    ns: f64,
    base: u32,
    bytes: f64,
}

impl Scale {
    fn of(trace: &Trace<'_>, trigger: u64) -> Option<Self> {
        let first = trace.dots.iter().find(|d| d.frame == trigger)?;
        // Sequence numbers are drawn from the lowest shown.
        let below = |d: &&super::trace::Dot| d.by_sender && d.len > 0;
        let base = trace
            .dots
            .iter()
            .filter(below)
            .map(|d| d.seq)
            .min_by_key(|seq| seq.wrapping_sub(first.seq) as i32)?;
        let highest = trace
            .dots
            .iter()
            .filter(below)
            .map(|d| d.seq.wrapping_add(d.len).wrapping_sub(base) as i32)
            .max()?;
        Some(Self {
            from_ns: trace.from_ns,
            ns: (trace.to_ns - trace.from_ns).max(1) as f64,
            base,
            bytes: f64::from(highest.max(1)),
        })
    }

    fn x(&self, time_ns: i64) -> f64 {
        LEFT + (time_ns - self.from_ns) as f64 / self.ns * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, seq: u32) -> f64 {
        let bytes = f64::from(seq.wrapping_sub(self.base) as i32).clamp(0.0, self.bytes);
        BOTTOM - bytes / self.bytes * (BOTTOM - TOP)
    }
}

fn band(out: &mut String, trace: &Trace<'_>, scale: &Scale) {
    let from = scale.x(trace.finding.start_ns);
    let to = trace
        .finding
        .frames
        .last()
        .map_or(from, |m| scale.x(m.time_ns));
    let _ = write!(
        out,
        "<rect class=\"band\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\"/>",
        to - from,
        BOTTOM - TOP
    );
}

fn axes(out: &mut String, trace: &Trace<'_>, scale: &Scale) {
    let _ = write!(
        out,
        "<path class=\"axis\" fill=\"none\" d=\"M{LEFT} {TOP}V{BOTTOM}H{}\"/>\
         <text class=\"dim\" x=\"{LEFT}\" y=\"{}\">bytes sent by the {}</text>\
         <text class=\"dim\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{:.0}</text>",
        WIDTH - RIGHT,
        TOP - 8.0,
        trace.sender_side(),
        LEFT - 6.0,
        TOP + 10.0,
        scale.bytes
    );
    let step_ns = step(scale.ns);
    let mut tick_ns = 0.0;
    while tick_ns <= scale.ns {
        let x = scale.x(scale.from_ns + tick_ns as i64);
        let _ = write!(
            out,
            "<text class=\"dim\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            BOTTOM + 32.0,
            ms_axis(tick_ns)
        );
        tick_ns += step_ns;
    }
}

/// Returns a round step that gives four to ten ticks.
pub(super) fn step(ns: f64) -> f64 {
    let power = 10_f64.powf((ns / 4.0).log10().floor());
    [5.0, 2.0, 1.0]
        .into_iter()
        .map(|m| m * power)
        .find(|s| ns / s >= 4.0)
        .unwrap_or(power)
}

fn ms_axis(ns: f64) -> String {
    let ms = ns / 1e6;
    match ms.fract() == 0.0 {
        true => format!("{ms:.0} ms"),
        false => format!("{ms:.1} ms"),
    }
}

fn acks(out: &mut String, trace: &Trace<'_>, scale: &Scale, late: Option<u64>) {
    let mut path = String::new();
    for dot in trace.dots.iter().filter(|d| !d.by_sender) {
        let x = scale.x(dot.time_ns);
        if let Some(ack) = dot.ack {
            let y = scale.y(ack);
            let _ = match path.is_empty() {
                true => write!(path, "M{x:.1} {y:.1}"),
                false => write!(path, "H{x:.1}V{y:.1}"),
            };
            if Some(dot.frame) == late {
                let _ = write!(
                    out,
                    "<circle class=\"late\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"/>"
                );
            }
        }
        if dot.len > 0 {
            let _ = write!(
                out,
                "<path class=\"peer\" d=\"M{x:.1} {:.1}l-4 8h8z\"><title>frame {}: {} bytes by the {}</title></path>",
                BOTTOM + 4.0,
                dot.frame,
                dot.len,
                trace.sender_side().other()
            );
        }
    }
    let _ = write!(out, "<path class=\"ack\" d=\"{path}\"/>");
}

fn data(out: &mut String, trace: &Trace<'_>, scale: &Scale, held: u64) {
    for dot in trace.dots.iter().filter(|d| d.by_sender && d.len > 0) {
        let x = scale.x(dot.time_ns);
        let class = if dot.frame == held { "held" } else { "data" };
        // A segment of one byte must still be seen.
        let (low, high) = (scale.y(dot.seq), scale.y(dot.seq.wrapping_add(dot.len)));
        let _ = write!(
            out,
            "<path class=\"{class}\" d=\"M{x:.1} {low:.1}V{:.1}\"><title>frame {}: {} bytes</title></path>",
            high.min(low - 3.0),
            dot.frame,
            dot.len
        );
    }
}

fn labels(
    out: &mut String,
    trace: &Trace<'_>,
    scale: &Scale,
    hold: &tinygram_diagnose::hold::Hold,
) {
    let sender = trace.sender_side();
    let middle = f64::midpoint(scale.x(hold.trigger.time_ns), scale.x(hold.held.time_ns));
    let mut text = |x: f64, y: f64, class: &str, anchor: &str, said: &str| {
        let _ = write!(
            out,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{said}</text>"
        );
    };
    let held_ns = hold.held.time_ns - hold.trigger.time_ns;
    text(
        middle,
        TOP + 24.0,
        "heldtext",
        "middle",
        &format!(
            "{} bytes held for {} (frame {})",
            hold.held_len,
            ms(held_ns),
            hold.held.frame
        ),
    );
    text(
        middle,
        TOP + 44.0,
        "",
        "middle",
        &format!(
            "{} bytes {} (frame {})",
            hold.trigger_len,
            // A timer releases what no ACK was waited for.
            if hold.release.is_some() {
                "unacknowledged"
            } else {
                "sent before"
            },
            hold.trigger.frame
        ),
    );
    let released = match hold.release {
        Some(release) => format!(
            "ACK of the {} after {} (frame {})",
            sender.other(),
            ms(hold.ack_wait_ns),
            release.frame
        ),
        None => "no ACK: released by the retransmission timer".to_owned(),
    };
    text(middle, TOP + 64.0, "latetext", "middle", &released);
}

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 255.0;
