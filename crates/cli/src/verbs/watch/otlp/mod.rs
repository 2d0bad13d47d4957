//! `--otlp`: the findings as OpenTelemetry's metrics, sent to a collector over HTTP.

mod message;
mod send;
mod series;

use std::time::Duration;

use prost::Message;
use serde_json::{Value, json};
use tinygram_host::clock::clock_ns;
use tinygram_host::process::Process;
use tinygram_host::root::Root;
use tinygram_watch::finding::Finding;

use crate::outcome::Failure;
use send::{Sender, Told};
use series::Series;

/// What is exported of a watch.
pub(super) struct Export {
    url: String,
    series: Series,
    sender: Sender,
    every: Duration,
    /// When it was exported last, since the watch began.
    last: Duration,
}

/// What became of an export.
pub(super) struct Ended {
    url: String,
    findings: u64,
    told: Told,
}

impl Export {
    pub(super) fn start(url: &str, root: &Root) -> Result<Self, Failure> {
        let sender = Sender::start(url.to_owned()).map_err(|error| Failure::Io {
            doing: "starting the thread of --otlp".to_owned(),
            error,
        })?;
        Ok(Self {
            url: url.to_owned(),
            series: Series::new(now_ns(), root),
            sender,
            every: interval().map_err(Failure::Input)?,
            last: Duration::ZERO,
        })
    }

    pub(super) fn add(&mut self, finding: &Finding, process: &Process) {
        self.series.add(finding, process);
    }

    /// Exports if it is time.
    pub(super) fn breathe(&mut self, watched: Duration) {
        if watched >= self.last + self.every {
            self.last = watched;
            self.give();
        }
    }

    /// Exports for the last time.
    pub(super) fn end(self) -> Ended {
        self.give();
        Ended {
            findings: self.series.findings,
            told: self.sender.end(),
            url: self.url,
        }
    }

    fn give(&self) {
        let request = self.series.request(now_ns());
        self.sender
            .give(request.encode_to_vec(), self.series.findings);
    }
}

impl Ended {
    /// Returns how many findings no collector has.
    pub(super) fn lost(&self) -> u64 {
        self.findings - self.told.delivered
    }

    /// Returns whether the last export arrived.
    pub(super) fn is_whole(&self) -> bool {
        self.told.exports > 0 && self.lost() == 0 && self.told.rejected == 0
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "address": self.url,
            "exports": self.told.exports,
            "replaced": self.told.replaced,
            "failed_attempts": self.told.failed,
            "rejected_points": self.told.rejected,
            "lost_findings": self.lost(),
            "error": self.told.wrong,
        })
    }

    /// Returns a sentence about what was lost, if anything was.
    pub(super) fn in_words(&self) -> Option<String> {
        if self.is_whole() {
            return None;
        }
        let (url, told) = (&self.url, &self.told);
        let why = told.wrong.as_deref().unwrap_or("no answer in time");
        let hint = match url.contains(":4317/") {
            true => " (4317 is the port for gRPC; over HTTP it is 4318)",
            false => "",
        };
        Some(match self.lost() {
            0 if told.exports > 0 => format!("--otlp {url}: {why}"),
            lost => format!(
                "--otlp {url}: {lost} findings did not arrive, {} of {} attempts failed: {why}{hint}",
                told.failed,
                told.failed + told.exports
            ),
        })
    }
}

/// Returns how often to export.
fn interval() -> Result<Duration, String> {
    let Some(typed) = std::env::var_os(INTERVAL) else {
        return Ok(Duration::from_mins(1));
    };
    let millis = typed.to_str().and_then(|text| text.parse().ok());
    let millis = millis.filter(|millis| (100..=3_600_000).contains(millis));
    millis.map(Duration::from_millis).ok_or_else(|| {
        format!("{INTERVAL}={typed:?}: accepted are milliseconds from 100 to 3600000")
    })
}

fn now_ns() -> u64 {
    clock_ns(libc::CLOCK_REALTIME).max(0) as u64
}

/// OpenTelemetry's own variable, in milliseconds.
const INTERVAL: &str = "OTEL_METRIC_EXPORT_INTERVAL";
