//! A finding as a sentence.

use std::time::Duration;

use tinygram_host::container::Container;
use tinygram_host::process::Process;
use tinygram_stalls::ms;
use tinygram_stalls::{Kind, Side, Tier};
use tinygram_watch::event::{Reason, Release};
use tinygram_watch::finding::{Facts, Finding};

/// Returns one line, without a line end.
pub(crate) fn of(finding: &Finding, process: &Process) -> String {
    let maybe = if finding.tier == Tier::Possible {
        "perhaps: "
    } else {
        ""
    };
    let call = finding
        .call
        .as_ref()
        .map_or_else(String::new, |call| format!(", {}", call.written()));
    format!(
        "{} {}{} {}: {maybe}{}{call}",
        clock(finding.start_ns),
        name(process),
        place(process),
        ends(finding),
        what(finding)
    )
}

/// Returns the program's name.
pub(super) fn program(process: &Process) -> &str {
    match process.pid {
        0 => "an unknown process",
        _ => &process.name,
    }
}

/// Returns the process's name: `python3[4242] app.py`.
pub(crate) fn name(process: &Process) -> String {
    if process.pid == 0 {
        return program(process).to_owned();
    }
    let script = process
        .script
        .as_ref()
        .map_or_else(String::new, |script| format!(" {script}"));
    format!("{}[{}]{script}", process.name, process.pid)
}

/// Returns the pod and the container, if the process is in one.
fn place(process: &Process) -> String {
    match &process.container {
        None | Some(Container::Unit { .. }) => String::new(),
        Some(container) => format!(" in {container},"),
    }
}

/// Returns the ends: `server :80, client 10.0.0.2` or `client of 10.0.0.2:80`.
fn ends(finding: &Finding) -> String {
    let (local, remote) = (finding.connection.local, finding.connection.remote);
    match finding.side {
        Side::Server => format!("on port {}, to {remote}", local.port()),
        Side::Client => format!("from port {}, to {remote}", local.port()),
    }
}

fn what(finding: &Finding) -> String {
    let cost = ms(finding.cost.time_ns);
    let peer = finding.side.other();
    match finding.facts {
        Facts::Held {
            held,
            behind,
            writes,
            reason,
            release,
            path_ns,
            ..
        } => {
            let pieces = match writes {
                None | Some(0 | 1) => String::new(),
                Some(writes) => format!(" of {writes} writes"),
            };
            let why = match reason {
                Reason::Nagle => format!("behind {behind} in flight"),
                Reason::Cork => "by TCP_CORK".to_owned(),
                Reason::MsgMore => "by MSG_MORE".to_owned(),
                Reason::Autocork => "by autocorking".to_owned(),
                Reason::CongestionWindow => {
                    format!("by a congestion window of one segment, behind {behind} in flight")
                }
                Reason::Buffer => format!("by a small buffer, behind {behind} in flight"),
            };
            let until = match release {
                Release::Ack if finding.kind == Kind::NagleRoundTrip => {
                    let path = path_ns.map_or_else(String::new, |ns| format!(" ({})", ms(ns)));
                    format!(", a round trip{path}")
                }
                Release::Ack => format!(", until the {peer}'s delayed ACK"),
                Release::Close => ", until the program closed".to_owned(),
                Release::Option => ", until the program changed the option".to_owned(),
                Release::Write => ", until the next write".to_owned(),
                Release::LossProbe => ", until the kernel's loss probe".to_owned(),
                Release::Timer => ", until the retransmission timer".to_owned(),
                Release::Never => ", until the connection ended".to_owned(),
            };
            format!(
                "{held} bytes{pieces} held {cost} {why}{until} ({})",
                finding.kind
            )
        }
        Facts::LateAck { length, before } => format!(
            "its delayed ACK of {before} bytes kept the {peer} waiting {cost} with {length} more ({})",
            finding.kind
        ),
        Facts::Flood {
            segments,
            writes,
            turns,
            bytes,
            lasted_ns,
            unseen,
        } => {
            let lasted = Duration::from_nanos(lasted_ns.max(0) as u64);
            let answers = match turns {
                0 => String::new(),
                turns => format!(", {:.0} for each answer", segments as f64 / turns as f64),
            };
            let writes =
                writes.map_or_else(String::new, |writes| format!(" ({writes} writes{answers})"));
            let sampled = match unseen {
                0..=FEW => String::new(),
                unseen => {
                    format!("; found by samples, {unseen} segments before were not looked at")
                }
            };
            format!(
                "{segments} segments of {:.0} bytes in {:.1} s{writes}{sampled}; coalescing would save {} ({})",
                bytes as f64 / segments.max(1) as f64,
                lasted.as_secs_f64(),
                finding.cost.segments,
                finding.kind
            )
        }
    }
}

/// Returns the time of day in this host's time zone.
fn clock(epoch_ns: i64) -> String {
    let seconds = epoch_ns.div_euclid(1_000_000_000);
    // SAFETY: both are only read and written within the call.
    let day = unsafe {
        let mut day: libc::tm = std::mem::zeroed();
        libc::localtime_r(&raw const seconds, &raw mut day);
        day
    };
    let millis = epoch_ns.rem_euclid(1_000_000_000) / 1_000_000;
    format!(
        "{:02}:{:02}:{:02}.{millis:03}",
        day.tm_hour, day.tm_min, day.tm_sec
    )
}

/// So many segments go by before any connection is looked at.
pub(super) const FEW: u64 = 16;

#[cfg(test)]
mod tests {
    use tinygram_host::process::{NO_USER, user_name};

    use super::*;

    /// As in a folder without `/proc`, where packets are read and their owners are not found.
    #[test]
    fn who_is_unknown_is_no_process_with_the_number_0_and_is_not_root() {
        let mut process = Process {
            pid: 0,
            name: "?".into(),
            script: None,
            user: user_name(NO_USER),
            container: None,
            cgroup: None,
        };
        assert_eq!(name(&process), "an unknown process");
        assert_eq!(process.user, "?");
        (process.pid, process.name) = (7, "sensor".into());
        assert_eq!(name(&process), "sensor[7]");
    }
}
