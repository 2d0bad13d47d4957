//! `--xplot`: time-sequence graphs for xplot (Shepard 1991), in tcptrace's colours.

use std::fmt::Write;
use std::io;

use tinygram_diagnose::{Facts, Finding};
use tinygram_diagnosis::Capture;
use tinygram_diagnosis::trace::{self, Excerpt};
use tinygram_report::Folder;
use tinygram_stalls::ms;

/// Writes one graph per direction that stalled, at most [`GRAPHS`] per capture.
pub(super) fn write(capture: &Capture, folder: &Folder) -> io::Result<()> {
    let mut directions: Vec<&Finding> = Vec::new();
    for finding in &capture.report.findings {
        let known = |f: &&Finding| (f.connection, f.sender) == (finding.connection, finding.sender);
        if directions.len() < GRAPHS && !directions.iter().any(known) {
            directions.push(finding);
        }
    }
    let mut traces: Vec<_> = directions
        .into_iter()
        .filter_map(|f| Excerpt::whole(capture, f))
        .collect();
    trace::fill(capture, &mut traces)?;
    for trace in &traces {
        let side = trace.sender_side();
        let name = format!(
            "{}-{side}-to-{}.xpl",
            trace.finding.connection,
            side.other()
        );
        folder.write(&name, graph(capture, trace).as_bytes())?;
    }
    Ok(())
}

fn graph(capture: &Capture, trace: &Excerpt<'_>) -> String {
    let side = trace.sender_side();
    let mut out = format!(
        "timeval unsigned\ntitle\nconnection {}: {side} -> {}\nxlabel\ntime\nylabel\nsequence number\n",
        trace.finding.connection,
        side.other()
    );
    let mut acked = None;
    for dot in &trace.dots {
        let t = time(dot.time_ns);
        if dot.by_sender && dot.len > 0 {
            let end = dot.seq.wrapping_add(dot.len);
            let _ = writeln!(
                out,
                "white\ndarrow {t} {}\nuarrow {t} {end}\nline {t} {} {t} {end}",
                dot.seq, dot.seq
            );
        }
        if let (false, Some(ack)) = (dot.by_sender, dot.ack) {
            if let Some((before, level)) = acked {
                let _ = writeln!(
                    out,
                    "green\nline {before} {level} {t} {level}\nline {t} {level} {t} {ack}"
                );
            }
            acked = Some((t, ack));
        }
    }
    let same = |f: &&Finding| (f.connection, f.sender) == (trace.finding.connection, side);
    for finding in capture.report.findings.iter().filter(same) {
        let Facts::Hold(hold) = &finding.facts else {
            continue;
        };
        let Some(held) = trace.dots.iter().find(|d| d.frame == hold.held.frame) else {
            continue;
        };
        let (from, to) = (time(hold.trigger.time_ns), time(hold.held.time_ns));
        let _ = writeln!(
            out,
            "red\nline {from} {0} {to} {0}\natext {to} {0}\n{1} {2}",
            held.seq,
            finding.kind.name(),
            ms(finding.cost_ns)
        );
    }
    out += "go\n";
    out
}

fn time(ns: i64) -> String {
    format!(
        "{}.{:06}",
        ns.div_euclid(1_000_000_000),
        ns.rem_euclid(1_000_000_000) / 1_000
    )
}

/// The most graphs of one capture.
const GRAPHS: usize = 64;
