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
use ureq::http::Uri;

use crate::exit::Failure;
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

/// Returns the address of a collector's metrics that was typed.
pub(super) fn address(typed: &str) -> Result<String, String> {
    let accepted = "accepted: HOST, HOST:PORT or http://HOST:PORT/PATH of a collector that takes OTLP over HTTP (port 4318)";
    let text = match typed.contains("://") {
        true => typed.to_owned(),
        false => format!("http://{typed}"),
    };
    let uri: Uri = text.parse().map_err(|_| accepted.to_owned())?;
    match uri.scheme_str() {
        Some("http") => {}
        Some("https") => {
            return Err(format!(
                "this program does not encrypt; {accepted}, as of a collector on the same host"
            ));
        }
        _ => return Err(accepted.to_owned()),
    }
    let authority = uri.authority().filter(|it| !it.as_str().contains('@'));
    let host = authority
        .map(ureq::http::uri::Authority::host)
        .unwrap_or_default();
    if host.is_empty() || uri.query().is_some() || uri.port_u16() == Some(0) {
        return Err(accepted.to_owned());
    }
    let port = match authority.map(|it| it.as_str().len() > host.len()) {
        Some(true) => uri.port_u16().ok_or_else(|| accepted.to_owned())?,
        _ => PORT,
    };
    let path = uri.path().trim_end_matches('/');
    let path = path.strip_suffix(PATH).unwrap_or(path);
    Ok(format!("http://{host}:{port}{path}{PATH}"))
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
const PORT: u16 = 4318;
const PATH: &str = "/v1/metrics";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_completed() {
        let whole = "http://collector:4318/v1/metrics";
        for typed in [
            "collector",
            "collector:4318",
            "http://collector",
            "http://collector:4318/",
            "http://collector:4318/v1/metrics",
        ] {
            assert_eq!(address(typed).as_deref(), Ok(whole), "{typed}");
        }
        let v6 = address("[::1]:4319").unwrap();
        assert_eq!(v6, "http://[::1]:4319/v1/metrics");
        let below = address("http://gateway/otlp").unwrap();
        assert_eq!(below, "http://gateway:4318/otlp/v1/metrics");
        for bad in [
            "",
            "https://c",
            "grpc://c",
            "c:0",
            "c:70000",
            "a b",
            "u@c",
            "http://",
            "c/?x=1",
        ] {
            let said = address(bad).unwrap_err();
            assert!(said.contains("accepted"), "{bad}: {said}");
        }
    }
}
