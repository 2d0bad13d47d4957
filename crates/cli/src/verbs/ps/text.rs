//! The table of connections as text, and remarks beneath it.

use std::fmt::Write;

use tinygram_host::target::Target;
use tinygram_report::Columns;
use tinygram_watch::seen::Seen;

use super::connection::{Connection, Owner};
use super::socket::Options;
use super::table::Table;
use super::unseen;
use crate::covered::State;
use crate::looked::in_words;

/// Returns a line per connection, in lines of at most `width`, and another beneath it if it shows signs of trouble.
pub(crate) fn text(table: &Table, width: usize) -> String {
    if table.connections.is_empty() {
        return String::new();
    }
    let rows: Vec<_> = table.connections.iter().map(row).collect();
    let lines = COLUMNS.lines(&rows, width);
    let mut out = format!("{}\n", lines[0]);
    for (line, connection) in lines[1..].iter().zip(&table.connections) {
        let _ = writeln!(out, "{line}");
        if let Some(verdict) = &connection.verdict {
            let _ = writeln!(out, "    ^ {}", verdict.explain());
            if connection.covered().is_some() {
                let _ = writeln!(out, "    ^ {UNDER_RUN}");
            }
        }
        for changed in &connection.changed {
            let _ = writeln!(out, "    ^ {}", changed.explain());
        }
    }
    out
}

/// Returns remarks for standard error.
pub(crate) fn remarks(table: &Table, target: Option<&Target>, seen: Seen) -> Vec<String> {
    let mut lines = Vec::new();
    if table.connections.is_empty() && seen.connections > 0 {
        let seen = in_words(seen);
        lines.push(format!("no connection looks like trouble: {seen}"));
    } else if table.connections.is_empty() {
        lines.push(match target {
            None => "there is no TCP connection".to_owned(),
            Some(target) => format!("no TCP connection of {}", target.sought()),
        });
    }
    lines.extend(unseen::why(table));
    lines
}

/// Returns whether `tinygram run` covers the process, under which policy, how much it has held and
/// rescued, and how many of its connections went over to NODELAY because of rescues.
pub(super) fn run(covered: Option<&State>) -> String {
    let Some(state) = covered else {
        return "-".to_owned();
    };
    let mut text = state.policy.to_owned();
    if state.writes_held > 0 {
        let _ = write!(text, " held {}", state.writes_held);
    }
    if state.writes_held > 0 && state.watchdog_rescues > 0 {
        let _ = write!(text, ", rescued {}", state.watchdog_rescues);
    }
    if state.went_over_to_nodelay > 0 {
        let _ = write!(text, ", {} over to NODELAY", state.went_over_to_nodelay);
    }
    match state.services_over_to_nodelay {
        0 => {}
        1 => text += ", 1 service over to NODELAY: holding was worse",
        count => {
            let _ = write!(
                text,
                ", {count} services over to NODELAY: holding was worse"
            );
        }
    }
    text
}

/// What a sign means where `tinygram run` covers the process.
const UNDER_RUN: &str = "under tinygram run already, which gathers small writes: the counts are of all the time since the \
     connection began";

const COLUMNS: Columns<15> = Columns {
    headings: [
        "PID", "PROCESS", "USER", "LOCAL", "REMOTE", "NAGLE", "CORK", "ACKS", "MSS", "CWND",
        "RTT ms", "BUFFERS", "SEGMENTS", "B/SEG", "RUN",
    ],
    left: [
        false, true, true, true, true, true, true, true, false, false, false, false, false, false,
        true,
    ],
};

fn row(connection: &Connection) -> [String; 15] {
    let counts = &connection.counts;
    let unknown = || "?".to_owned();
    let (pid, process) = match connection.owners.as_slice() {
        [] => (unknown(), unknown()),
        [owner] => (owner.pid.to_string(), named(owner)),
        [owner, others @ ..] => (
            owner.pid.to_string(),
            format!("{} +{}", named(owner), others.len()),
        ),
    };
    let options = connection.options.as_ref();
    let told = |tell: fn(&Options) -> String| options.map_or_else(unknown, tell);
    let first = connection.owners.first();
    [
        pid,
        process + &first.map_or_else(String::new, place),
        first
            .and_then(|owner| owner.user.clone())
            .unwrap_or_else(unknown),
        connection.local.to_string(),
        connection.remote.to_string(),
        told(|o| if o.nodelay { "off" } else { "on" }.to_owned()),
        told(|o| if o.cork { "on" } else { "-" }.to_owned()),
        options.map_or_else(unknown, |o| {
            let mode = if o.quickack { "quick" } else { "pingpong" };
            match counts.ack_timeout_us {
                0 => mode.to_owned(),
                timeout => format!("{mode} {}ms", timeout / 1000),
            }
        }),
        counts.mss.to_string(),
        counts.congestion_window.to_string(),
        format!("{:.2}", f64::from(counts.rtt_us) / 1e3),
        told(|o| {
            format!(
                "{}/{}",
                kibibytes(o.send_buffer),
                kibibytes(o.receive_buffer)
            )
        }),
        counts.data_segments_sent.to_string(),
        counts
            .bytes_per_segment()
            .map_or_else(|| "-".to_owned(), |bytes| format!("{bytes:.0}")),
        run(connection.covered()),
    ]
}

/// Returns the name of a process, with what it runs if it is an interpreter.
fn named(owner: &Owner) -> String {
    match &owner.script {
        Some(script) => format!("{} {script}", owner.name),
        None => owner.name.clone(),
    }
}

/// Returns the container of a process, or its network namespace if that differs from ours.
pub(super) fn place(owner: &Owner) -> String {
    let container = owner.container_name.as_ref().or(owner.container.as_ref());
    match (container, owner.network_namespace) {
        (container, _) if owner.pod.is_some() => {
            let parts = [owner.namespace.as_ref(), owner.pod.as_ref(), container];
            let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
            format!(" @{}", parts.join("/"))
        }
        (Some(container), _) => format!(" @{container}"),
        (None, Some(inode)) => format!(" @net:{inode}"),
        (None, None) => String::new(),
    }
}

fn kibibytes(bytes: u32) -> String {
    format!("{}K", bytes / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(writes_held: u64, watchdog_rescues: u64, went_over_to_nodelay: u64) -> String {
        run(Some(&State {
            policy: "flush-on-block",
            writes_held,
            writes_merged: 0,
            watchdog_rescues,
            went_over_to_nodelay,
            services_over_to_nodelay: 0,
            writes_passed_by_trial: 0,
        }))
    }

    #[test]
    fn a_covered_process_shows_what_became_of_its_holds() {
        assert_eq!(run(None), "-");
        assert_eq!(told(0, 0, 0), "flush-on-block");
        assert_eq!(told(12, 0, 0), "flush-on-block held 12");
        assert_eq!(told(12, 2, 0), "flush-on-block held 12, rescued 2");
        assert_eq!(
            told(12, 2, 1),
            "flush-on-block held 12, rescued 2, 1 over to NODELAY"
        );
        let over = State {
            policy: "flush-on-block",
            writes_held: 12,
            writes_merged: 12,
            watchdog_rescues: 0,
            went_over_to_nodelay: 0,
            services_over_to_nodelay: 1,
            writes_passed_by_trial: 300,
        };
        assert_eq!(
            run(Some(&over)),
            "flush-on-block held 12, 1 service over to NODELAY: holding was worse"
        );
    }
}
