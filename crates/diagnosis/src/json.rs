//! `--json`: one document, schema `tinygram.diagnose/2` (book/src/reference/json.md names every field).

use std::io::{self, BufWriter, Write};

use serde::Serialize;
use serde_json::Serializer;
use tinygram_diagnose::{ConnectionReport, Direction, Finding, Obstacles, Pieces, Protocol, Side};

use crate::audit::{self, CheckKind, CheckRow};
use crate::capture::Capture;
use crate::perhaps::perhaps;
use crate::results::Diagnosis;
use crate::rows::RowByRow;
use crate::totals;

/// What was asked for, which the document repeats.
pub struct Echo {
    /// The names of the files.
    pub captures: Vec<String>,
    /// The conditions of `--fail-on`.
    pub fail_on: Vec<String>,
    /// The most connections that were kept at once.
    pub connection_limit: usize,
    /// The most findings that were kept.
    pub finding_limit: usize,
}

/// Writes the document row by row: that of a large capture would take more memory than the analysis.
///
/// # Errors
/// Those of writing.
pub fn write(echo: &Echo, results: &Diagnosis, into: &mut dyn Write) -> io::Result<()> {
    let document = Document {
        schema: "tinygram.diagnose/2",
        parameters: Parameters {
            captures: &echo.captures,
            fail_on: &echo.fail_on,
            connection_limit: echo.connection_limit,
            finding_limit: echo.finding_limit,
        },
        captures: results.captures.iter().map(capture_row).collect(),
        summary: summary(results),
        totals: Totals {
            services: totals(totals::by_service(results)),
            hosts: totals(totals::by_host(results)),
        },
        checks: audit::kinds(),
        connections: Rows(|| results.captures.iter().flat_map(connections)),
        findings: Rows(|| results.findings().map(|(c, f)| finding(c, f))),
    };
    let mut pieces = BufWriter::with_capacity(PIECE, into);
    document.serialize(&mut Serializer::with_formatter(
        &mut pieces,
        RowByRow::new(),
    ))?;
    pieces.write_all(b"\n")?;
    pieces.flush()
}

/// So many octets are written at once.
const PIECE: usize = 64 * 1024;

/// A list whose rows are made when they are written.
struct Rows<F>(F);

impl<F, I> Serialize for Rows<F>
where
    F: Fn() -> I,
    I: IntoIterator<Item: Serialize>,
{
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0())
    }
}

#[derive(Serialize)]
struct Document<'a, C: Serialize, F: Serialize> {
    schema: &'static str,
    parameters: Parameters<'a>,
    captures: Vec<CaptureRow<'a>>,
    summary: Summary,
    totals: Totals,
    /// What each check asks, and what becomes of a hold that does not pass it.
    checks: Vec<CheckKind>,
    connections: C,
    findings: F,
}

#[derive(Serialize)]
struct Parameters<'a> {
    captures: &'a [String],
    fail_on: &'a [String],
    connection_limit: usize,
    finding_limit: usize,
}

/// A capture, or the files of one ring buffer.
#[derive(Serialize)]
struct CaptureRow<'a> {
    capture: &'a str,
    /// The time of the first frame; null if there is none.
    start: Option<f64>,
    frames: u64,
}

/// The hundred costliest.
#[derive(Serialize)]
struct Totals {
    /// By server and its port.
    services: Vec<TotalRow>,
    /// By the host that must change something.
    hosts: Vec<TotalRow>,
}

#[derive(Serialize)]
struct TotalRow {
    who: String,
    connections: usize,
    stalls: usize,
    cost_ms: f64,
    floods: usize,
}

#[derive(Serialize)]
struct Summary {
    /// `stalls`, `none` or `cannot-tell`.
    result: &'static str,
    verdict: Vec<String>,
    /// Who the accused ends perhaps are.
    perhaps: Vec<PerhapsRow>,
    /// The captures for which no verdict is possible, and why.
    cannot_tell: Vec<Untold>,
    /// What took the time if nothing stalled.
    dominated_by: Option<Dominated>,
    /// Stalls of the tier `possible`: not counted as stalls.
    possible: u64,
    possible_cost_ms: f64,
    /// Segments that were held although nobody was seen to wait.
    unwatched: u64,
    unwatched_ms: f64,
    /// Frames of QUIC, which is out of scope.
    quic_frames: u64,
    frames: u64,
    segments: u64,
    connections: u32,
    stalls: u64,
    cost_ms: f64,
    floods: u64,
    dropped_findings: u64,
    unlisted_connections: u64,
    /// The captures that could not be read to their end, and why.
    incomplete: Vec<String>,
}

#[derive(Serialize)]
struct PerhapsRow {
    end: String,
    name: &'static str,
    page: String,
}

#[derive(Serialize)]
struct Untold {
    capture: String,
    obstacles: Vec<ObstacleRow>,
}

#[derive(Serialize)]
struct ObstacleRow {
    obstacle: &'static str,
    reason: &'static str,
    remedy: &'static str,
}

#[derive(Serialize)]
struct Dominated {
    by: &'static str,
    time_ms: f64,
}

#[derive(Serialize)]
struct Connection<'a> {
    id: u32,
    capture: &'a str,
    client: String,
    server: String,
    handshake: bool,
    start: f64,
    duration_ms: f64,
    frames: u32,
    rtt_ms: Option<f64>,
    rtt_at_most_ms: Option<f64>,
    capture_point: &'static str,
    client_data: DirectionRow,
    server_data: DirectionRow,
    stalls: u32,
    cost_ms: f64,
    ruled_out: Vec<RuledOut>,
}

#[derive(Serialize)]
struct DirectionRow {
    bytes: u64,
    segments: u32,
    short_segments: u32,
    retransmitted: u32,
    mss: u32,
    mss_source: &'static str,
    offload: bool,
    sender_policy: &'static str,
    ack_timer_ms: Option<f64>,
    ack_every: Option<f64>,
}

#[derive(Serialize)]
struct RuledOut {
    kind: &'static str,
    count: u32,
    time_ms: f64,
    first_frame: u64,
    /// The first ones of the connection; 64 of all kinds together.
    frames: Vec<u64>,
    reason: &'static str,
}

#[derive(Serialize)]
struct FindingRow<'a> {
    kind: &'static str,
    connection: u32,
    capture: &'a str,
    direction: String,
    frames: Vec<u64>,
    /// Seconds after the capture's first frame, as `--from` takes them.
    at_s: f64,
    start: f64,
    end: f64,
    cost_ms: f64,
    blame: String,
    confidence: String,
    evidence: Vec<String>,
    steps: Vec<Step>,
    /// A step that seems to help and does not, or is impossible here.
    caution: Option<&'static str>,
    pieces: &'static str,
    protocol: Option<&'static str>,
    filter: String,
    /// The checks that were asked, in their order.
    checks: Vec<CheckRow>,
    /// The check that keeps it from being certain.
    bounded_by: Option<&'static str>,
}

/// A change that helps; what costs least comes first.
#[derive(Serialize)]
struct Step {
    side: String,
    cure: &'static str,
    effort: &'static str,
    text: String,
}

fn totals(totals: Vec<totals::Total>) -> Vec<TotalRow> {
    let row = |total: totals::Total| TotalRow {
        who: total.who,
        connections: total.connections,
        stalls: total.stalls,
        cost_ms: ms(total.cost_ns),
        floods: total.floods,
    };
    totals.into_iter().take(TOTALS).map(row).collect()
}

/// The most rows of the totals.
const TOTALS: usize = 100;

fn summary(results: &Diagnosis) -> Summary {
    let total = results.total();
    let untold = |(capture, obstacles): (&Capture, Obstacles)| Untold {
        capture: capture.name.clone(),
        obstacles: obstacles
            .into_iter()
            .map(|obstacle| ObstacleRow {
                obstacle: obstacle.name(),
                reason: obstacle.reason(),
                remedy: obstacle.remedy(),
            })
            .collect(),
    };
    let cannot_tell: Vec<_> = results.untold().map(untold).collect();
    let dominated_by = match total.stalls {
        0 => total.sight.dominant(),
        _ => None,
    };
    Summary {
        result: match (total.stalls, cannot_tell.is_empty()) {
            (1.., _) => "stalls",
            (0, true) => "none",
            (0, false) => "cannot-tell",
        },
        cannot_tell,
        dominated_by: dominated_by.map(|(by, time_ns)| Dominated {
            by: by.name(),
            time_ms: ms(time_ns),
        }),
        possible: total.possible,
        possible_cost_ms: ms(total.possible_ns),
        unwatched: total.sight.unwatched,
        unwatched_ms: ms(total.sight.unwatched_ns),
        quic_frames: total.unseen.quic,
        verdict: crate::group::groups(results)
            .iter()
            .map(crate::group::Group::sentence)
            .collect(),
        perhaps: perhaps(results)
            .into_iter()
            .map(|it| PerhapsRow {
                end: it.end,
                name: it.program.name,
                page: it.program.page().to_string(),
            })
            .collect(),
        frames: total.frames,
        segments: total.segments,
        connections: total.connections,
        stalls: total.stalls,
        cost_ms: ms(total.cost_ns),
        floods: total.floods,
        dropped_findings: total.dropped_findings,
        unlisted_connections: total.unlisted_connections,
        incomplete: results
            .captures
            .iter()
            .filter_map(|c| c.broken.as_ref().map(|e| format!("{} {e}", c.name)))
            .collect(),
    }
}

fn capture_row(capture: &Capture) -> CaptureRow<'_> {
    let summary = &capture.report.summary;
    CaptureRow {
        capture: &capture.name,
        start: (summary.frames > 0).then(|| summary.first_frame_ns as f64 / 1e9),
        frames: summary.frames,
    }
}

fn connections(capture: &Capture) -> impl Iterator<Item = Connection<'_>> {
    let rows = capture.report.connections.iter();
    rows.map(|row| connection(capture, row))
}

fn connection<'a>(capture: &'a Capture, r: &ConnectionReport) -> Connection<'a> {
    Connection {
        id: r.id,
        capture: &capture.name,
        client: r.client.to_string(),
        server: r.server.to_string(),
        handshake: r.handshake,
        start: r.first_ns as f64 / 1e9,
        duration_ms: ms(r.duration_ns()),
        frames: r.frames,
        rtt_ms: r.rtt_ns.filter(|_| r.rtt_measured).map(ms),
        rtt_at_most_ms: r.rtt_ns.map(ms),
        capture_point: r.capture_point.name(),
        client_data: direction(&r.directions[Side::Client as usize]),
        server_data: direction(&r.directions[Side::Server as usize]),
        stalls: r.stalls,
        cost_ms: ms(r.cost_ns),
        ruled_out: r
            .ruled_out
            .iter()
            .map(|(kind, tally)| RuledOut {
                kind: kind.name(),
                count: tally.count,
                time_ms: ms(tally.time_ns),
                first_frame: tally.first_frame,
                frames: r
                    .ruled_out
                    .events()
                    .iter()
                    .filter(|event| event.kind == kind)
                    .map(|event| event.frame)
                    .collect(),
                reason: kind.reason_if(r.rtt_measured),
            })
            .collect(),
    }
}

fn direction(d: &Direction) -> DirectionRow {
    DirectionRow {
        bytes: d.bytes,
        segments: d.segments,
        short_segments: d.short,
        retransmitted: d.retransmitted,
        mss: d.mss,
        mss_source: d.mss_source,
        offload: d.offload,
        sender_policy: d.policy,
        ack_timer_ms: d.ack_timer_ns.map(ms),
        ack_every: d.ack_every.map(|n| (n * 100.0).round() / 100.0),
    }
}

fn finding<'a>(capture: &'a Capture, f: &Finding) -> FindingRow<'a> {
    let frames: Vec<_> = f.frames.iter().map(|m| m.frame).collect();
    let list: Vec<_> = frames.iter().map(u64::to_string).collect();
    let advice = f.advice();
    FindingRow {
        kind: f.kind.name(),
        connection: f.connection,
        capture: &capture.name,
        direction: format!("{}->{}", f.sender, f.sender.other()),
        at_s: ms(f.start_ns - capture.report.summary.first_frame_ns) / 1e3,
        start: f.start_ns as f64 / 1e9,
        end: f.frames.last().map_or(f.start_ns, |m| m.time_ns) as f64 / 1e9,
        cost_ms: ms(f.cost_ns),
        blame: f.blame.to_string(),
        confidence: f.tier().to_string(),
        evidence: f.evidence(),
        steps: advice
            .steps
            .into_iter()
            .map(|step| Step {
                side: step.side.to_string(),
                cure: step.cure.name(),
                effort: step.effort.name(),
                text: step.text,
            })
            .collect(),
        caution: advice.caution,
        pieces: match f.pieces {
            Pieces::Unknown => "unknown",
            Pieces::OneMessage => "one-message",
            Pieces::Pipelined => "pipelined",
        },
        protocol: f.protocol.map(Protocol::name),
        filter: format!("frame.number in {{{}}}", list.join(", ")),
        frames,
        checks: CheckRow::all(f),
        bounded_by: audit::bounded_by(f),
    }
}

/// Returns milliseconds, rounded to the microsecond.
fn ms(ns: i64) -> f64 {
    (ns as f64 / 1e3).round() / 1e3
}
