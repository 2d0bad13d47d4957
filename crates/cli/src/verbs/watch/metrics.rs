//! `--metrics`: the counts in OpenMetrics' text format, over HTTP.
//!
//! The number of label values is bounded: labels have a program's name instead of its process id,
//! and a service's port instead of the client's.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{SocketAddr, TcpListener};

use tinygram_host::container::Container;
use tinygram_watch::finding::Part;

use super::done::Watch;
use super::http::{self, Bounds, Page};
use crate::outcome::Failure;

/// Listens at `address` from now on. The page that it serves is to be renewed.
pub(super) fn serve(address: SocketAddr) -> Result<Page, Failure> {
    let listener = TcpListener::bind(address).map_err(|error| Failure::Io {
        doing: format!("listening on {address}"),
        error,
    })?;
    let page = Page::new("# EOF\n");
    http::serve(listener, page.clone(), Bounds::default());
    Ok(page)
}

pub(super) fn text(watch: &Watch) -> String {
    // Processes of the same name are counted together.
    let mut sums: BTreeMap<String, [f64; 3]> = BTreeMap::new();
    for (key, row) in watch.summary.rows() {
        let container = key.process.container.as_ref();
        let place = container.map_or_else(String::new, ToString::to_string);
        let named = |name: fn(&Container) -> Option<&str>| {
            escaped(container.and_then(name).unwrap_or_default())
        };
        let labels = format!(
            "kind=\"{}\",part=\"{}\",process=\"{}\",container=\"{}\",namespace=\"{}\",pod=\"{}\",side=\"{}\",port=\"{}\"",
            key.kind.name(),
            if key.part == Part::Sent {
                "sent"
            } else {
                "acknowledged-late"
            },
            escaped(&key.process.name),
            escaped(&place),
            named(Container::namespace),
            named(Container::pod),
            key.side,
            key.port
        );
        let sum = sums.entry(labels).or_default();
        sum[0] += row.count as f64;
        sum[1] += row.cost.time_ns as f64 / 1e9;
        sum[2] += row.cost.segments as f64;
    }
    let mut out = String::new();
    for (at, (name, unit, help)) in FAMILIES.iter().enumerate() {
        let _ = writeln!(out, "# TYPE {name} counter");
        if !unit.is_empty() {
            let _ = writeln!(out, "# UNIT {name} {unit}");
        }
        let _ = writeln!(out, "# HELP {name} {help}");
        for (labels, sum) in &sums {
            let _ = writeln!(out, "{name}_total{{{labels}}} {}", sum[at]);
        }
    }
    let (excused, seen) = (watch.live.excused(), watch.seen());
    let plain = [
        (
            "tinygram_holds_nobody_waited_for",
            excused.nobody_waited,
            "Holds after which the program wrote on.",
        ),
        (
            "tinygram_short_holds",
            excused.short,
            "Holds too short to be listed.",
        ),
        (
            "tinygram_events_lost",
            watch.lost,
            "Events for which there was no room.",
        ),
        (
            "tinygram_writes_seen",
            seen.writes.unwrap_or(0),
            "Writes that were looked at; of a connection that was asked for, once it has ended.",
        ),
    ];
    for (name, count, help) in plain {
        let _ = writeln!(
            out,
            "# TYPE {name} counter\n# HELP {name} {help}\n{name}_total {count}"
        );
    }
    out + "# EOF\n"
}

fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

const FAMILIES: [(&str, &str, &str); 3] = [
    ("tinygram_findings", "", "Stalls and floods found."),
    (
        "tinygram_stall_seconds",
        "seconds",
        "Time that somebody waited in vain.",
    ),
    (
        "tinygram_saved_segments",
        "",
        "Segments that coalescing would have saved.",
    ),
];
