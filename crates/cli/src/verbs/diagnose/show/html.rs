//! `--html`: one self-contained page.

use std::fmt::Write;
use std::io;

use tinygram_diagnose::vocabulary::ms;
use tinygram_diagnose::{ConnectionReport, Lookalike, Side, recipes};
use tinygram_report::Destination;

use super::super::results::Results;
use super::group::{Group, groups, plural, seconds};
use super::markup::{ZOOM, clock, escape};
use super::trace::{self, Trace};
use super::{plot, timeline, totals};
use crate::{interrupt, shown};

pub(super) fn write(results: &Results, out: Destination) -> io::Result<()> {
    let page = page(results)?;
    interrupt::shielded(|| out.write(page.as_bytes()))
}

fn page(results: &Results) -> io::Result<String> {
    let groups = groups(results);
    let names: Vec<_> = results.captures.iter().map(|c| c.name.clone()).collect();
    let mut out = String::new();
    let _ = write!(
        out,
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>tinygram diagnose: {0}</title><style>{STYLE}</style></head><body><main>\
         <p class=\"name\">tinygram diagnose</p><h1>{0}</h1>",
        escape(&names.join(", "))
    );
    verdict(&mut out, results, &groups);
    for capture in &results.captures {
        out += &timeline::of(capture);
    }
    overall(&mut out, results);
    connections(&mut out, results);
    for group in groups.iter().take(GROUPS) {
        section(&mut out, group)?;
    }
    if !groups.is_empty() {
        recipe_table(&mut out);
    }
    let _ = write!(
        out,
        "<footer class=\"calm\">{}</footer>",
        escape(&shown::origin())
    );
    let _ = writeln!(out, "</main><script>{SCRIPT}</script></body></html>");
    Ok(out)
}

fn verdict(out: &mut String, results: &Results, groups: &[Group<'_>]) {
    let total = results.total();
    for group in groups.iter().take(5) {
        let _ = write!(
            out,
            "<p class=\"verdict\">{}</p>",
            escape(&group.sentence())
        );
    }
    for line in super::terminal::outcome(results).lines() {
        let _ = write!(out, "<p class=\"calm\">{}</p>", escape(line));
    }
    if total.possible > 0 {
        let _ = write!(
            out,
            "<p class=\"calm\">{} possible and not counted: {}.</p>",
            plural(total.possible as usize, "stall"),
            seconds(total.possible_ns)
        );
    }
}

/// Totals by program and host, where there is more than a handful of connections.
fn overall(out: &mut String, results: &Results) {
    if (results.total().connections as usize) < MANY {
        return;
    }
    let tables = [
        ("By server and port", totals::by_service(results)),
        ("To be changed at", totals::by_host(results)),
    ];
    for (title, rows) in tables.into_iter().filter(|(_, rows)| !rows.is_empty()) {
        let _ = write!(
            out,
            "<h2>{title}</h2><div class=\"wide\"><table><thead><tr><th></th><th>connections</th>\
             <th>stalls</th><th>cost</th><th>floods</th></tr></thead><tbody>"
        );
        for total in rows.iter().take(ROWS) {
            let _ = write!(
                out,
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                total.who,
                total.connections,
                total.stalls,
                seconds(total.cost_ns),
                total.floods
            );
        }
        *out += "</tbody></table></div>";
        if rows.len() > ROWS {
            let _ = write!(out, "<p>... and {} more.</p>", rows.len() - ROWS);
        }
    }
}

fn connections(out: &mut String, results: &Results) {
    let mut rows: Vec<_> = results
        .captures
        .iter()
        .flat_map(|c| &c.report.connections)
        .collect();
    rows.sort_by_key(|r| (std::cmp::Reverse(r.cost_ns), std::cmp::Reverse(r.frames)));
    *out += "<h2>Connections</h2><div class=\"wide\"><table><thead><tr><th>no.</th>\
             <th>client &rarr; server</th><th>frames</th><th>RTT</th><th>captured</th>\
             <th>stalls</th><th>cost</th><th>looked like a stall and is not</th></tr></thead><tbody>";
    for r in rows.iter().take(ROWS) {
        let innocent: Vec<_> = r
            .ruled_out
            .iter()
            .map(|(kind, tally)| {
                format!(
                    "<span title=\"{}\">{} &times;{}</span> ({})",
                    escape(kind.reason()),
                    kind.name(),
                    tally.count,
                    first_frames(r, kind)
                )
            })
            .collect();
        let _ = write!(
            out,
            "<tr><td>{}</td><td>{} &rarr; {}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{}</td><td>{}</td></tr>",
            r.id,
            r.client,
            r.server,
            r.frames,
            r.rtt_ns.map_or("-".to_owned(), ms),
            r.capture_point.name(),
            r.stalls,
            if r.stalls > 0 {
                seconds(r.cost_ns)
            } else {
                "-".to_owned()
            },
            innocent.join(", ")
        );
    }
    *out += "</tbody></table></div>";
    why_not(out, &rows);
    if rows.len() > ROWS {
        let _ = write!(
            out,
            "<p>... and {} more.</p>",
            plural(rows.len() - ROWS, "connection")
        );
    }
}

/// Returns the frames of the first few of a sort.
fn first_frames(r: &ConnectionReport, kind: Lookalike) -> String {
    let events = r.ruled_out.events().iter();
    let of_kind = events.filter(|event| event.kind == kind);
    let frames: Vec<_> = of_kind
        .take(FEW)
        .map(|event| event.frame.to_string())
        .collect();
    match (frames.len(), frames.is_empty()) {
        (_, true) => format!("from frame {}", r.ruled_out.of(kind).first_frame),
        (1, _) => format!("frame {}", frames[0]),
        _ => format!("frames {}", frames.join(", ")),
    }
}

/// Why each lookalike was ruled out, once.
fn why_not(out: &mut String, rows: &[&ConnectionReport]) {
    let mut kinds: Vec<_> = rows
        .iter()
        .flat_map(|r| r.ruled_out.iter().map(|(kind, _)| kind))
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    if kinds.is_empty() {
        return;
    }
    *out += "<details><summary>Why these are no stalls</summary><ul>";
    for kind in kinds {
        let _ = write!(out, "<li>{}: {}</li>", kind.name(), escape(kind.reason()));
    }
    *out += "</ul></details>";
}

fn section(out: &mut String, group: &Group<'_>) -> io::Result<()> {
    let typical = group.typical();
    let _ = write!(
        out,
        "<section><h2>{} by the {}: {}</h2>",
        group.kind.title(),
        typical.sender,
        match group.kind.is_stall() {
            true => format!(
                "{}, {}",
                plural(group.findings.len(), "stall"),
                seconds(group.cost_ns)
            ),
            false => plural(group.findings.len(), "connection"),
        }
    );
    *out += "<ul>";
    for reason in typical.evidence() {
        let _ = write!(out, "<li>{}</li>", escape(&reason));
    }
    let advice = typical.advice();
    *out += "</ul><p class=\"advice\">Change one of these, what costs least first:</p><ol>";
    for step in &advice.steps {
        let _ = write!(out, "<li>{}: {}</li>", step.side, escape(&step.text));
    }
    *out += "</ol>";
    if let Some(caution) = advice.caution {
        let _ = write!(out, "<p>{}.</p>", escape(caution));
    }
    every_finding(out, group);
    let port = group.connections[0].end(Side::Server).port;
    for recipe in recipes::for_end(port, typical.blame) {
        let _ = write!(
            out,
            "<p>{} ({}): <code>{}</code></p>",
            recipe.place,
            recipe.cure.name(),
            escape(recipe.text)
        );
    }
    if group.kind.is_stall() {
        plots(out, group)?;
    }
    let note = group
        .filter_note()
        .map_or(String::new(), |n| format!(" ({n})"));
    let _ = write!(
        out,
        "<p>Wireshark: <code>{}</code>{}</p></section>",
        escape(&group.filter()),
        escape(&note)
    );
    Ok(())
}

/// All findings of a group, with their clock times (UTC), folded away.
fn every_finding(out: &mut String, group: &Group<'_>) {
    let _ = write!(
        out,
        "<details><summary>All {}</summary><div class=\"wide\"><table><thead><tr><th>UTC</th>\
         <th>cost</th><th>connection</th><th>frames</th><th></th></tr></thead><tbody>",
        plural(group.findings.len(), "finding")
    );
    for finding in group.findings.iter().take(LISTED) {
        let frames: Vec<_> = finding.frames.iter().map(|m| m.frame.to_string()).collect();
        let _ = write!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            clock(finding.start_ns),
            finding.cost(),
            finding.connection,
            frames.join(", "),
            finding.tier
        );
    }
    *out += "</tbody></table></div>";
    if group.findings.len() > LISTED {
        let _ = write!(
            out,
            "<p>... and {} more.</p>",
            group.findings.len() - LISTED
        );
    }
    *out += "</details>";
}

/// Returns the typical stall, and the costliest if it is another.
fn plots(out: &mut String, group: &Group<'_>) -> io::Result<()> {
    let typical = group.typical();
    let costliest = group.findings.iter().copied().max_by_key(|f| f.cost_ns);
    let mut chosen = vec![typical];
    chosen.extend(costliest.filter(|f| f.start_ns != typical.start_ns));
    let mut traces: Vec<_> = chosen
        .into_iter()
        .filter_map(|f| Trace::around(group.capture, f))
        .collect();
    if group.capture.sources.is_empty() {
        return Ok(());
    }
    trace::fill(group.capture, &mut traces)?;
    for trace in &traces {
        *out += &plot::svg(trace);
    }
    let peer = typical.sender.other();
    let _ = write!(
        out,
        "<p class=\"name\">Bars: data, the held segment in red. Line: what is acknowledged; the \
         dot is the ACK that released. Triangles: data of the {peer}. {ZOOM}</p>"
    );
    Ok(())
}

fn recipe_table(out: &mut String) {
    *out += "<h2>How to make the change</h2><p>Where many small writes follow each other, write \
             once: TCP_NODELAY turns them into as many packets.</p><div class=\"wide\"><table><tbody>";
    for recipe in recipes::TABLE {
        let _ = write!(
            out,
            "<tr><td>{}</td><td>{}</td><td><code>{}</code></td></tr>",
            recipe.place,
            recipe.cure.name(),
            escape(recipe.text)
        );
    }
    *out += "</tbody></table></div>";
}

/// Groups with plots, and connections in the table.
const GROUPS: usize = 20;
const ROWS: usize = 100;
/// Findings of a group that are listed.
const LISTED: usize = 2_000;

/// From here on totals come first.
const MANY: usize = 20;
/// Frames of one sort that are listed with a connection.
const FEW: usize = 5;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
