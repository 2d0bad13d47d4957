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
    spoken: Spoken,
}

/// What was said last about the collector.
#[derive(Default)]
struct Spoken {
    fails: bool,
    at: Option<Duration>,
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
            spoken: Spoken::default(),
        })
    }

    pub(super) fn add(&mut self, finding: &Finding, process: &Process) {
        self.series.add(finding, process);
    }

    /// Exports if it is time; returns a sentence if the collector began to fail, or takes exports again.
    pub(super) fn breathe(&mut self, watched: Duration) -> Option<String> {
        if watched >= self.last + self.every {
            self.last = watched;
            self.give();
        }
        let news = self.spoken.news(self.sender.told().wrong, watched)?;
        Some(format!("--otlp {}: {news}", self.url))
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

impl Spoken {
    /// Returns what is to be said of how the last attempt went; nothing if that was said, or something just before.
    fn news(&mut self, wrong: Option<String>, watched: Duration) -> Option<String> {
        if wrong.is_some() == self.fails || self.at.is_some_and(|at| watched < at + LEAST_SILENCE) {
            return None;
        }
        self.fails = wrong.is_some();
        self.at = Some(watched);
        Some(match wrong {
            Some(why) => format!("{why}; the next export has all that was counted"),
            None => "exports arrive again".to_owned(),
        })
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

/// Between two sentences about a collector that fails and recovers.
const LEAST_SILENCE: Duration = Duration::from_secs(30);
/// OpenTelemetry's own variable, in milliseconds.
const INTERVAL: &str = "OTEL_METRIC_EXPORT_INTERVAL";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_that_fails_and_recovers_all_the_time_is_spoken_of_now_and_then() {
        let mut spoken = Spoken::default();
        let mut after = |seconds, fails: bool| {
            let wrong = fails.then(|| "status 503".to_owned());
            spoken.news(wrong, Duration::from_secs(seconds))
        };
        assert_eq!(after(1, false), None);
        assert!(after(2, true).is_some_and(|said| said.starts_with("status 503")));
        assert_eq!(
            (after(3, false), after(4, true), after(33, true)),
            (None, None, None)
        );
        assert_eq!(after(34, false), Some("exports arrive again".to_owned()));
    }
}
