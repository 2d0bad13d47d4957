//! The page of Heidemann's Table 1, fetched in four ways.

use serde::Deserialize;
use serde_json::{Value, json};
use tinygram_engine::Instant;
use tinygram_papers::heidemann::retrieval::Way;

use super::watch::Watch;
use super::within;

/// Which way, from 0 in the order of the table; without one, all of them are measured.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Retrieval {
    way: Option<usize>,
    seed: u64,
}

impl Retrieval {
    /// Returns the four means, or one retrieval as it went.
    pub(super) fn answer(&self) -> Result<Value, String> {
        match self.way {
            None => Ok(Way::ALL.map(|way| self.mean(way)).into_iter().collect()),
            Some(way) => Ok(self.watched(Way::ALL[within("way", way, 0..=3)?])),
        }
    }

    fn mean(&self, way: Way) -> Value {
        let measured = way.measured(self.seed);
        json!({
            "name": way.name(),
            "mean_ms": measured.mean_ms,
            "published_ms": measured.published_ms,
            "stalls": measured.stalls,
        })
    }

    fn watched(&self, way: Way) -> Value {
        let done = way.watched(self.seed, Watch::default());
        let ended = done.fetched.last().map_or(Instant::ZERO, |it| it.ended);
        let mut shown = done.observer.shown(Instant::ZERO, ended);
        let documents = done.fetched.iter().zip(Way::documents());
        let documents = documents.map(|(times, octets)| {
            json!({ "octets": octets, "began": times.began.as_nanos(), "ended": times.ended.as_nanos() })
        });
        shown["documents"] = documents.collect();
        shown["elapsed_ns"] = json!(ended.as_nanos());
        shown["ends"] = json!(["client", "server"]);
        shown
    }
}
