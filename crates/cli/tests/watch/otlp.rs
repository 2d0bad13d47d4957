//! `watch --otlp`: what a collector gets, and what is said where it gets nothing. A small receiver decodes the messages;
//! the real collector is asked where `OTELCOL` names it. Needs root; without it, the tests say so and pass.

#[allow(dead_code, reason = "the program makes what the test reads")]
#[path = "../../src/verbs/watch/otlp/message.rs"]
mod message;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use prost::Message;
use serde_json::Value as Json;

use message::{Data, KeyValue, Request, Value};

/// A program that stalls until it is ended.
struct Stalls(Child);

impl Stalls {
    fn begin() -> Self {
        Self(
            crate::stalling::asks_in_two_writes()
                .spawn()
                .expect("python3 starts"),
        )
    }
}

impl Drop for Stalls {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Answers requests one after the other, the last answer again and again, and passes on what it got.
fn receiver(answers: &'static [&'static str]) -> (SocketAddr, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sends, got) = channel();
    std::thread::spawn(move || {
        let mut answers = answers
            .iter()
            .copied()
            .cycle()
            .take(answers.len())
            .peekable();
        let mut answer = "";
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            while let Some(body) = request(&mut connection) {
                answer = answers.next().unwrap_or(answer);
                let _ = sends.send(body);
                let head = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n");
                if connection.write_all(head.as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    (address, got)
}

/// Returns the body of a request.
fn request(connection: &mut TcpStream) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    let mut octet = [0];
    while !head.ends_with(b"\r\n\r\n") {
        connection.read_exact(&mut octet).ok()?;
        head.push(octet[0]);
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    assert!(head.starts_with("post /v1/metrics http/1.1"), "{head}");
    assert!(
        head.contains("content-type: application/x-protobuf"),
        "{head}"
    );
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    let mut body = vec![0; length?.trim().parse().ok()?];
    connection.read_exact(&mut body).ok()?;
    Some(body)
}

/// Watches a stalling program; returns what was said, or `None` where the kernel cannot be asked.
fn watch(address: &str) -> Option<Output> {
    watch_for("2s", address, "60000")
}

/// Watches it for a time, with an export after each interval (in milliseconds).
fn watch_for(length: &str, address: &str, interval: &str) -> Option<Output> {
    let stalls = Stalls::begin();
    let pid = stalls.0.id().to_string();
    let words = ["watch", "--once", length, "--json", "--otlp", address, &pid];
    let output = Command::new(env!("CARGO_BIN_EXE_tinygram"))
        .args(words)
        .env("OTEL_METRIC_EXPORT_INTERVAL", interval)
        .output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !said.contains("asking the kernel") {
        println!("skipped: {said}");
        return None;
    }
    Some(output)
}

/// Returns how many holds a request has.
fn holds(request: &Request) -> u64 {
    let scopes = request.resource_metrics.iter();
    let metrics = scopes.flat_map(|resource| &resource.scope_metrics[0].metrics);
    let histograms = metrics.filter_map(|metric| match &metric.data {
        Some(Data::Histogram(histogram)) => Some(histogram),
        _ => None,
    });
    let points = histograms.flat_map(|histogram| &histogram.data_points);
    points.map(|point| point.count).sum()
}

/// Returns the stalls and the summary.
fn told(output: &Output) -> (usize, Json) {
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<Json> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let counts = |line: &&Json| line["event"] == "stall" && line["tier"] != "possible";
    let stalls = lines.iter().filter(counts).count();
    (stalls, lines.last().unwrap().clone())
}

fn text<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a str> {
    let attribute = attributes.iter().find(|attribute| attribute.key == key)?;
    match attribute.value.as_ref()?.value.as_ref()? {
        Value::String(text) => Some(text),
        Value::Bool(_) => None,
    }
}

#[test]
fn the_last_export_has_every_hold() {
    let (address, got) = receiver(&["200 OK"]);
    let Some(output) = watch(&address.to_string()) else {
        return;
    };
    let (stalls, summary) = told(&output);
    assert!(output.status.success() && stalls > 3, "{summary}");
    assert_eq!(summary["otlp"]["lost_findings"], 0);
    let last = got.try_iter().last().expect("a request");
    let request = Request::decode(&*last).expect("OTLP");
    let mut counted = 0;
    for resource in &request.resource_metrics {
        let attributes = &resource.resource.as_ref().unwrap().attributes;
        assert_eq!(text(attributes, "process.executable.name"), Some("python3"));
        assert!(text(attributes, "host.name").is_some());
        for metric in &resource.scope_metrics[0].metrics {
            let Some(Data::Histogram(histogram)) = &metric.data else {
                continue;
            };
            assert_eq!(metric.name, "system.network.tcp.hold.duration");
            assert_eq!(metric.unit, "s");
            for point in &histogram.data_points {
                let reason = text(&point.attributes, "network.tcp.hold.reason");
                assert!(
                    reason.is_some_and(|reason| !reason.contains('-')),
                    "{point:?}"
                );
                assert_eq!(point.bucket_counts.iter().sum::<u64>(), point.count);
                assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
                assert!(point.sum > Some(0.0) && point.time_unix_nano > point.start_time_unix_nano);
                counted += point.count;
            }
        }
    }
    assert_eq!(counted, stalls as u64);
}

#[test]
fn a_busy_collector_is_asked_again() {
    const BUSY: &str = "503 Service Unavailable\r\nRetry-After: 1";
    const TOO_MANY: &str = "429 Too Many Requests\r\nRetry-After: 1";
    let (address, _got) = receiver(&[BUSY, TOO_MANY, "200 OK"]);
    let Some(output) = watch(&address.to_string()) else {
        return;
    };
    let (_, summary) = told(&output);
    assert!(output.status.success(), "{summary}");
    assert_eq!(summary["otlp"]["failed_attempts"], 2, "{summary}");
    assert_eq!(summary["otlp"]["exports"], 1, "{summary}");
}

/// It is away for the first exports and comes back: this is said when it begins, and the last export has everything.
#[test]
fn a_collector_that_comes_back_has_what_it_missed() {
    const BUSY: &str = "503 Service Unavailable\r\nRetry-After: 1";
    let (address, got) = receiver(&[BUSY, BUSY, "200 OK"]);
    let Some(output) = watch_for("5s", &address.to_string(), "200") else {
        return;
    };
    let (stalls, summary) = told(&output);
    assert!(output.status.success() && stalls > 3, "{summary}");
    assert_eq!(summary["otlp"]["lost_findings"], 0, "{summary}");
    assert_eq!(summary["otlp"]["failed_attempts"], 2, "{summary}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.matches("status 503").count(), 1, "{said}");
    let last = got.try_iter().last().expect("a request");
    assert_eq!(holds(&Request::decode(&*last).unwrap()), stalls as u64);
}

/// One that is not there, one that redirects, three that refuse, and one that never answers.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn what_is_lost_is_counted_and_said() {
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (moved, _got) = receiver(&["307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/"]);
    let (refuses, _got) = receiver(&["400 Bad Request"]);
    let (small, _got) = receiver(&["413 Content Too Large"]);
    let (busy, _got) = receiver(&["429 Too Many Requests\r\nRetry-After: 60"]);
    for (address, why) in [
        (closed, "refused"),
        (moved, "redirects are not followed"),
        (refuses, "status 400"),
        (small, "status 413: larger"),
        (busy, "status 429"),
        (silent.local_addr().unwrap(), "no answer in time"),
    ] {
        let Some(output) = watch(&address.to_string()) else {
            return;
        };
        let (stalls, summary) = told(&output);
        assert_eq!(output.status.code(), Some(2), "{summary}");
        assert_eq!(summary["otlp"]["lost_findings"], stalls, "{summary}");
        let said = summary["otlp"]["error"].as_str().unwrap().to_lowercase();
        assert!(said.contains(why), "{said}");
    }
}

/// `OTELCOL` is the real collector with its receiver for OTLP and its debug exporter.
#[test]
fn the_real_collector_takes_it() {
    let Some(collector) = std::env::var_os("OTELCOL") else {
        println!("skipped: OTELCOL names no collector");
        return;
    };
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.yaml");
    std::fs::write(&config, CONFIG.replace("PORT", &port.to_string())).unwrap();
    let log = folder.path().join("log");
    let mut collector = Command::new(collector);
    collector.arg("--config").arg(&config).stdout(Stdio::null());
    let mut collector = collector
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let is_up = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    let output = watch(&format!("127.0.0.1:{port}"));
    std::thread::sleep(Duration::from_millis(500));
    let _ = collector.kill();
    let _ = collector.wait();
    let log = std::fs::read_to_string(&log).unwrap();
    assert!(is_up, "{log}");
    let Some(output) = output else { return };
    assert!(output.status.success(), "{output:?}");
    for part in [
        "-> Name: system.network.tcp.hold.duration",
        "-> Unit: s",
        "-> DataType: Histogram",
        "-> network.tcp.hold.reason: Str(nagle)",
        "-> Name: system.network.tcp.hold.count",
        "-> AggregationTemporality: Cumulative",
        "-> process.executable.name: Str(python3)",
    ] {
        assert!(log.contains(part), "{part}: {log}");
    }
}

const CONFIG: &str = "
receivers: {otlp: {protocols: {http: {endpoint: '127.0.0.1:PORT'}}}}
exporters: {debug: {verbosity: detailed}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {metrics: {receivers: [otlp], exporters: [debug]}}
";
