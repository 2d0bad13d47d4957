//! Doupnik's web server: which sizes of files stall.

use serde::Deserialize;
use serde_json::{Value, json};
use tinygram_engine::Instant;
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_papers::doupnik::published::{File, TABLE};
use tinygram_papers::doupnik::table::test;
use tinygram_papers::doupnik::tail_behind_an_odd_segment;
use tinygram_papers::doupnik::web::{MSS, WebTest};
use tinygram_sim::medium::Side;
use tinygram_sim::workload::exchange::Exchange;

use super::watch::Watch;
use super::within;

/// A policy, and one file or all of a series.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Parity {
    policy: String,
    /// The file's size in octets; without one, all sizes in steps of `step` up to `to`.
    file: Option<u64>,
    #[serde(default)]
    step: u64,
    #[serde(default)]
    to: u64,
}

/// The pair of hosts in the draft's table whose server passes writes down whole, so that only the
/// policy counts: FreeBSD asks UnixWare.
const PAIR: usize = 2;
/// A request takes less without a stall and more with one.
const STALL_MS: f64 = 50.0;
/// The measured requests, after those that open the windows.
const REQUESTS: u32 = 2;

impl Parity {
    /// Returns the time for each size, or one answer as it went.
    pub(super) fn answer(&self) -> Result<Value, String> {
        match self.file {
            Some(file) => self.watched(within("file", file, 1..=200_000)?),
            None => self.sizes(),
        }
    }

    fn test(&self, file: u64) -> Result<WebTest, String> {
        let policy = SendPolicy::named(&self.policy);
        let policy = policy.ok_or_else(|| format!("there is no policy {}", self.policy))?;
        Ok(WebTest {
            file,
            requests: REQUESTS,
            ..test(&TABLE[PAIR], policy, File::Long)
        })
    }

    fn sizes(&self) -> Result<Value, String> {
        let step = within("step", self.step, 10..=10_000)?;
        let to = within("to", self.to, step..=200_000)?;
        let mut stalled = Vec::new();
        let mut count = 0;
        for file in (step..=to).step_by(step as usize) {
            count += 1;
            if self.test(file)?.run().mean_ms() > STALL_MS {
                stalled.push(file);
            }
        }
        let files = (step..=to).step_by(step as usize);
        let odd: Vec<u64> = files
            .filter(|file| tail_behind_an_odd_segment(*file))
            .collect();
        Ok(json!({ "stalled": stalled, "by_parity": odd, "count": count }))
    }

    fn watched(&self, file: u64) -> Result<Value, String> {
        let test = self.test(file)?;
        let world = test.watched(Watch::default());
        let elapsed = world.host(Side::Client).programs().next();
        let elapsed = elapsed.and_then(|it| Exchange::elapsed(it).last().copied());
        let elapsed = elapsed.ok_or("nothing was answered")?;
        let watch = world.observer();
        let from = world.now() - elapsed;
        let mut shown = watch.shown(from, world.now());
        let behind_the_first = test.headers[1] + file;
        shown["full_segments"] = json!(behind_the_first / u64::from(MSS));
        shown["tail"] = json!(behind_the_first % u64::from(MSS));
        shown["by_parity"] = json!(tail_behind_an_odd_segment(file));
        shown["elapsed_ns"] = json!(elapsed.as_nanos());
        shown["counts"] = json!(watch.counts(Side::Server, MSS, from, Instant::FAR_FUTURE));
        shown["ends"] = json!(["client", "server"]);
        Ok(shown)
    }
}
