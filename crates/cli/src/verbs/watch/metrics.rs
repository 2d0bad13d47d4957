//! `--metrics`: the counts in OpenMetrics' text format, over HTTP.
//!
//! The number of label values is bounded: labels have a program's name instead of its process id,
//! and a service's port instead of the client's.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tinygram_watch::finding::Part;

use super::Watch;
use crate::exit::Failure;

/// The text that is served.
pub(super) struct Page(Arc<Mutex<String>>);

impl Page {
    /// Listens at `address` from now on.
    pub(super) fn serve(address: SocketAddr) -> Result<Self, Failure> {
        let listener = TcpListener::bind(address).map_err(|error| Failure::Io {
            doing: format!("listening on {address}"),
            error,
        })?;
        let text = Arc::new(Mutex::new("# EOF\n".to_owned()));
        let served = Arc::clone(&text);
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let text = served
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .clone();
                // A client that disconnects early is no error.
                let _ = answer(connection, &text);
            }
        });
        Ok(Self(text))
    }

    pub(super) fn renew(&self, watch: &Watch) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = text(watch);
    }
}

/// Answers one request per connection; slow clients are not waited for.
fn answer(mut connection: TcpStream, text: &str) -> std::io::Result<()> {
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut chunk = [0; 1024];
    while request.len() < MOST_REQUEST && !request.windows(4).any(|four| four == b"\r\n\r\n") {
        match connection.read(&mut chunk)? {
            0 => break,
            count => request.extend_from_slice(&chunk[..count]),
        }
    }
    let known = [&b"GET /metrics "[..], b"GET / "]
        .iter()
        .any(|begin| request.starts_with(begin));
    let (status, body) = match known {
        true => ("200 OK", text),
        false => ("404 Not Found", "only /metrics is here\n"),
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    // In a single write.
    connection.write_all(answer.as_bytes())
}

fn text(watch: &Watch) -> String {
    // Processes of the same name are counted together.
    let mut sums: BTreeMap<String, [f64; 3]> = BTreeMap::new();
    for (key, row) in watch.summary.rows() {
        let place = key
            .process
            .container
            .as_ref()
            .map_or_else(String::new, ToString::to_string);
        let labels = format!(
            "kind=\"{}\",part=\"{}\",process=\"{}\",container=\"{}\",side=\"{}\",port=\"{}\"",
            key.kind.name(),
            if key.part == Part::Sent {
                "sent"
            } else {
                "acknowledged-late"
            },
            escaped(&key.process.name),
            escaped(&place),
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
    let excused = watch.live.excused();
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
const PATIENCE: Duration = Duration::from_secs(1);
const MOST_REQUEST: usize = 16 * 1024;
