//! `--format parquet|arrow`: a diagnosis as the tables of book/src/reference/tables.md.

use tinygram_diagnose::{
    ConnectionReport, Direction, Facts, Finding, Obstacle, Pieces, Protocol, Side, Verdict,
};
use tinygram_tables::{Rows, Table, Value, schemas};

use crate::capture::Capture;
use crate::results::Diagnosis;

/// Returns every table.
pub fn all(results: &Diagnosis) -> Vec<Rows> {
    let tables = [
        &schemas::FINDINGS,
        &schemas::CONNECTIONS,
        &schemas::RULED_OUT,
        &schemas::VERDICT,
    ];
    tables.map(|table| of(table, results)).into()
}

/// Returns one table.
pub fn of(table: &'static Table, results: &Diagnosis) -> Rows {
    let mut rows = Rows::of(table);
    for capture in &results.captures {
        match table.name {
            "findings" => findings(capture, &mut rows),
            "connections" => connections(capture, &mut rows),
            "ruled_out" => ruled_out(capture, &mut rows),
            "verdict" => rows.push(verdict(capture)),
            other => unreachable!("a diagnosis has no table {other}"),
        }
    }
    rows
}

fn findings(capture: &Capture, rows: &mut Rows) {
    for finding in &capture.report.findings {
        // The ends of a connection that is no longer listed are unknown.
        let connection = capture.connection(finding.connection);
        let saved = match &finding.facts {
            Facts::Hold(_) => 0,
            Facts::Flood(flood) => flood.saved,
        };
        let end_ns = finding
            .frames
            .last()
            .map_or(finding.start_ns, |m| m.time_ns);
        let frames: Vec<_> = finding.frames.iter().map(|mark| mark.frame).collect();
        rows.push(
            whose(capture, finding.connection, connection)
                .into_iter()
                .chain([
                    ("kind", finding.kind.name().into()),
                    ("sender", finding.sender.to_string().into()),
                    ("blame", finding.blame.to_string().into()),
                    ("start", Value::time_ns(finding.start_ns)),
                    ("end", Value::time_ns(end_ns)),
                    ("cost_ms", Value::ms(finding.cost_ns)),
                    ("segments_saved", saved.into()),
                    ("confidence", finding.tier().name().into()),
                    ("pieces", pieces(finding).into()),
                    ("protocol", finding.protocol.map(Protocol::name).into()),
                    ("frames", frames.into()),
                    ("habit", finding.habit().into()),
                    ("cure", finding.cure().into()),
                    ("evidence", finding.evidence().into()),
                    ("advice", finding.advice().to_string().into()),
                ]),
        );
    }
}

fn connections(capture: &Capture, rows: &mut Rows) {
    for connection in &capture.report.connections {
        let measured = connection.rtt_ns.filter(|_| connection.rtt_measured);
        let of_connection = [
            ("handshake", connection.handshake.into()),
            ("start", Value::time_ns(connection.first_ns)),
            ("duration_ms", Value::ms(connection.duration_ns())),
            ("frames", connection.frames.into()),
            ("rtt_ms", measured.map_or(Value::Null, Value::ms)),
            ("capture_point", connection.capture_point.name().into()),
            ("stalls", connection.stalls.into()),
            ("cost_ms", Value::ms(connection.cost_ns)),
        ];
        let [client, server] = [Side::Client, Side::Server].map(|side| {
            let names = if side == Side::Client {
                CLIENTS
            } else {
                SERVERS
            };
            direction(&connection.directions[side as usize], names)
        });
        let at_most = connection.rtt_ns.map_or(Value::Null, Value::ms);
        rows.push(
            whose(capture, connection.id, Some(connection))
                .into_iter()
                .chain(of_connection)
                .chain(client)
                .chain(server)
                .chain([("rtt_at_most_ms", at_most)]),
        );
    }
}

fn ruled_out(capture: &Capture, rows: &mut Rows) {
    for connection in &capture.report.connections {
        for (kind, tally) in connection.ruled_out.iter() {
            let events = connection.ruled_out.events().iter();
            let frames: Vec<_> = events
                .filter(|event| event.kind == kind)
                .map(|event| event.frame)
                .collect();
            rows.push(
                whose(capture, connection.id, Some(connection))
                    .into_iter()
                    .chain([
                        ("kind", kind.name().into()),
                        ("count", tally.count.into()),
                        ("time_ms", Value::ms(tally.time_ns)),
                        ("first_frame", tally.first_frame.into()),
                        ("frames", frames.into()),
                        ("reason", kind.reason_if(connection.rtt_measured).into()),
                    ]),
            );
        }
    }
}

fn verdict(capture: &Capture) -> Vec<(&'static str, Value)> {
    let total = &capture.report.summary;
    let verdict = total.verdict();
    let obstacles: &[Obstacle] = match &verdict {
        Verdict::CannotTell(obstacles) => obstacles,
        Verdict::Stalls { .. } | Verdict::None => &[],
    };
    let said = |of: fn(Obstacle) -> &'static str| -> Vec<_> {
        obstacles.iter().map(|it| of(*it).to_owned()).collect()
    };
    let dominant = match total.stalls {
        0 => total.sight.dominant(),
        _ => None,
    };
    let time = |ns| match total.segments {
        0 => Value::Null,
        _ => Value::time_ns(ns),
    };
    vec![
        ("capture", capture.name.as_str().into()),
        ("result", verdict.name().into()),
        ("obstacles", said(Obstacle::name).into()),
        ("remedies", said(Obstacle::remedy).into()),
        ("start", time(total.first_ns)),
        ("end", time(total.last_ns)),
        ("frames", total.frames.into()),
        ("segments", total.segments.into()),
        ("connections", total.connections.into()),
        ("stalls", total.stalls.into()),
        ("cost_ms", Value::ms(total.cost_ns)),
        ("floods", total.floods.into()),
        ("possible", total.possible.into()),
        ("possible_cost_ms", Value::ms(total.possible_ns)),
        ("unwatched", total.sight.unwatched.into()),
        ("unwatched_ms", Value::ms(total.sight.unwatched_ns)),
        ("dominated_by", dominant.map(|(by, _)| by.name()).into()),
        (
            "dominated_ms",
            dominant.map_or(Value::Null, |(_, ns)| Value::ms(ns)),
        ),
        ("quic_frames", total.unseen.quic.into()),
        ("dropped_findings", total.dropped_findings.into()),
        ("unlisted_connections", total.unlisted_connections.into()),
        (
            "incomplete",
            capture.broken.as_ref().map(ToString::to_string).into(),
        ),
    ]
}

/// Returns the columns that name a connection, with which three tables begin.
fn whose(
    capture: &Capture,
    id: u32,
    connection: Option<&ConnectionReport>,
) -> [(&'static str, Value); 6] {
    let address = |side| {
        let end = connection.map(|it| it.end(side));
        end.map(|end| end.address().to_string())
    };
    let port = |side| connection.map(|it| it.end(side).port);
    [
        ("capture", capture.name.as_str().into()),
        ("connection", (id - capture.first_connection).into()),
        ("client_address", address(Side::Client).into()),
        ("client_port", port(Side::Client).into()),
        ("server_address", address(Side::Server).into()),
        ("server_port", port(Side::Server).into()),
    ]
}

fn direction(it: &Direction, names: [&'static str; 10]) -> [(&'static str, Value); 10] {
    let values: [Value; 10] = [
        it.bytes.into(),
        it.segments.into(),
        it.short.into(),
        it.retransmitted.into(),
        it.mss.into(),
        it.mss_source.into(),
        it.offload.into(),
        it.policy.into(),
        it.ack_timer_ns.map_or(Value::Null, Value::ms),
        it.ack_every.into(),
    ];
    let mut names = names.into_iter();
    values.map(|value| (names.next().expect("a name for each"), value))
}

fn pieces(finding: &Finding) -> &'static str {
    match finding.pieces {
        Pieces::Unknown => "unknown",
        Pieces::OneMessage => "one-message",
        Pieces::Pipelined => "pipelined",
    }
}

const CLIENTS: [&str; 10] = [
    "client_bytes",
    "client_segments",
    "client_short_segments",
    "client_retransmitted",
    "client_mss",
    "client_mss_source",
    "client_offload",
    "client_policy",
    "client_data_ack_timer_ms",
    "client_data_ack_every",
];
const SERVERS: [&str; 10] = [
    "server_bytes",
    "server_segments",
    "server_short_segments",
    "server_retransmitted",
    "server_mss",
    "server_mss_source",
    "server_offload",
    "server_policy",
    "server_data_ack_timer_ms",
    "server_data_ack_every",
];
