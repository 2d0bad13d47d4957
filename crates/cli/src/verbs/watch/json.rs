//! Findings and the summary as JSON, one document a line.

use serde_json::{Value, json};
use tinygram_host::process::Process;
use tinygram_stalls::Advice;
use tinygram_watch::event::{Reason, Release};
use tinygram_watch::finding::{Facts, Finding, Part};
use tinygram_watch::judge::Excused;
use tinygram_watch::summary::WatchSummary;

use super::table;

const SCHEMA: &str = "tinygram.watch/1";

pub(super) fn finding(finding: &Finding, process: &Process) -> Value {
    let mut value = json!({
        "schema": SCHEMA,
        "event": if finding.kind.is_stall() { "stall" } else { "flood" },
        "kind": finding.kind.name(),
        "tier": finding.tier.name(),
        "part": part(finding.part),
        "side": finding.side.to_string(),
        "sender": finding.sender().to_string(),
        "process": of_process(process),
        "thread": finding.process.thread,
        "network_namespace": finding.connection.netns,
        "connection": finding.connection.cookie,
        "local": finding.connection.local,
        "remote": finding.connection.remote,
        "start_ns": finding.start_ns,
        "cost_ns": finding.cost.time_ns,
        "segments_saved": finding.cost.segments,
        "mss": finding.connection.mss,
        "min_rtt_ns": finding.connection.min_rtt_ns,
        "call_site": finding.call.as_deref(),
    });
    match &finding.facts {
        Facts::Held {
            held,
            behind,
            writes,
            reason,
            release,
            path_ns,
            ..
        } => {
            value["held_bytes"] = json!(held);
            value["in_flight_bytes"] = json!(behind);
            value["writes"] = json!(writes);
            value["reason"] = json!(reason_name(*reason));
            value["released_by"] = json!(release_name(*release));
            value["path_ns"] = json!(path_ns);
        }
        Facts::LateAck { length, before } => {
            value["held_bytes"] = json!(length);
            value["in_flight_bytes"] = json!(before);
        }
        Facts::Flood {
            segments,
            writes,
            turns,
            bytes,
            lasted_ns,
            unseen,
        } => {
            value["segments_before_it_was_looked_at"] = json!(unseen);
            value["segments"] = json!(segments);
            value["writes"] = json!(writes);
            value["answers"] = json!(turns);
            value["bytes"] = json!(bytes);
            value["lasted_ns"] = json!(lasted_ns);
        }
    }
    value
}

/// Returns the last line.
pub(super) fn summary(
    summary: &WatchSummary,
    excused: &Excused,
    lost: u64,
    source: &str,
    seconds: f64,
) -> Value {
    let rows: Vec<Value> = summary
        .rows()
        .into_iter()
        .map(|(key, row)| {
            let (held, behind) = row.octets();
            let steps: Vec<Value> = Advice::of(&row.case)
                .steps
                .iter()
                .map(|step| json!({"side": step.side.to_string(), "cure": step.cure.name(), "effort": step.effort.name(), "text": step.text}))
                .collect();
            let calls: Vec<Value> = row
                .calls()
                .into_iter()
                .map(|(call, count)| json!({"count": count, "call_site": call}))
                .collect();
            json!({
                "kind": key.kind.name(),
                "part": part(key.part),
                "process": of_process(&key.process),
                "processes": row.processes,
                "network_namespace": key.netns,
                "side": key.side.to_string(),
                "peer": key.peer,
                "port": key.port,
                "count": row.count,
                "possible": row.possible,
                "connections": row.connections,
                "held_bytes_median": held,
                "in_flight_bytes_median": behind,
                "cost_ns": row.cost.time_ns,
                "cost_median_ns": row.cost_at(0.5),
                "cost_p99_ns": row.cost_at(0.99),
                "path_ns": row.path_ns,
                "segments_saved": row.cost.segments,
                "call_sites": calls,
                "advice": steps,
                "cure": table::cure(key, row),
            })
        })
        .collect();
    json!({
        "schema": SCHEMA,
        "event": "summary",
        "source": source,
        "seconds": seconds,
        "rows": rows,
        "possible": summary.possible(),
        "excused": {
            "nobody_waited": excused.nobody_waited,
            "short": excused.short,
            "ended_by_the_program": excused.own_cork,
            "harmless_late_acks": excused.harmless_acks,
        },
        "events_lost": lost,
        "rows_not_kept": summary.unlisted,
    })
}

/// Returns a process, without a number if it is unknown or if they are several.
fn of_process(process: &Process) -> Value {
    let mut value = json!(process);
    if process.pid == 0 {
        value["pid"] = Value::Null;
    }
    value
}

fn part(part: Part) -> &'static str {
    match part {
        Part::Sent => "sent",
        Part::AcknowledgedLate => "acknowledged-late",
    }
}

pub(super) fn reason_name(reason: Reason) -> &'static str {
    match reason {
        Reason::Nagle => "nagle",
        Reason::Cork => "cork",
        Reason::MsgMore => "msg-more",
        Reason::Autocork => "autocork",
        Reason::CongestionWindow => "congestion-window",
        Reason::Buffer => "buffer",
    }
}

pub(super) fn release_name(release: Release) -> &'static str {
    match release {
        Release::Ack => "ack",
        Release::Close => "close",
        Release::Option => "option",
        Release::Write => "write",
        Release::LossProbe => "loss-probe",
        Release::Timer => "timer",
        Release::Never => "never",
    }
}
