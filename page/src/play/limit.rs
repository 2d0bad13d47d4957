//! Davids' two applications, under a limit and a timer.

use serde::Deserialize;
use serde_json::{Value, json};
use tinygram_engine::{Duration, Instant};
use tinygram_papers::davids::trace::{Measured, Parameters};
use tinygram_sim::medium::Side;

use super::watch::Watch;
use super::within;

/// The application, the limit in octets and the tick in milliseconds.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Limit {
    /// Whether it writes as fast as it can.
    is_fast: bool,
    limit: u32,
    tick_ms: u64,
    /// The time of the server's next tick after the first write, in milliseconds; without one, the means
    /// over the tick's phases are returned for every limit.
    phase_ms: Option<u64>,
}

/// The phases whose mean is taken, evenly spread; none is a write's time.
const PHASES: u64 = 20;
/// The limits: one write, two, and so on up to all the data. 500 octets are written.
const LIMITS: std::ops::RangeInclusive<u32> = 1..=50;
const WRITE: u32 = 10;

impl Limit {
    /// Returns a trace, or overhead and delay by limit.
    pub(super) fn answer(&self) -> Result<Value, String> {
        // Beyond 400 ms Solaris would retransmit before the acknowledgment comes.
        within("tick_ms", self.tick_ms, 10..=390)?;
        within("limit", self.limit, 1..=1460)?;
        match self.phase_ms {
            Some(phase) => self.watched(within("phase_ms", phase, 0..=self.tick_ms)?),
            None => Ok(self.by_limit()),
        }
    }

    fn parameters(&self) -> Parameters {
        let application = match self.is_fast {
            true => Parameters::FAST,
            false => Parameters::SLOW,
        };
        application
            .with_tick_ms(self.tick_ms)
            .with_naglim(self.limit)
    }

    fn by_limit(&self) -> Value {
        let limits = LIMITS.map(|step| step * WRITE);
        let limits = std::iter::once(1).chain(limits);
        limits.map(|limit| self.mean(limit)).collect()
    }

    /// Returns overhead and delay, as means over the phases of the server's tick.
    fn mean(&self, limit: u32) -> Value {
        let parameters = self.parameters().with_naglim(limit);
        let period = Duration::from_millis(self.tick_ms).as_nanos();
        let phase = |index| Duration::from_nanos(period * (2 * index + 1) / (2 * PHASES));
        let runs: Vec<Measured> = (0..PHASES)
            .map(|it| parameters.with_phase(phase(it)).run())
            .collect();
        let mean = |of: fn(&Measured) -> f64| runs.iter().map(of).sum::<f64>() / PHASES as f64;
        json!({
            "limit": limit,
            "overhead_percent": mean(|run| run.percent_of_data(run.total_overhead())),
            "delay_ms": mean(|run| run.sending_ms() - run.generating_ms()),
            "packets": mean(|run| run.packets() as f64),
        })
    }

    fn watched(&self, phase_ms: u64) -> Result<Value, String> {
        let parameters = self.parameters().with_phase_ms(phase_ms);
        let watch = parameters.watched(Watch::default());
        let measured = parameters.run();
        let mut shown = watch.shown(Instant::ZERO, watch.last());
        shown["packets"] = json!(measured.packets());
        shown["overhead_percent"] = json!(measured.percent_of_data(measured.total_overhead()));
        shown["sending_ms"] = json!(measured.sending_ms());
        shown["delay_ms"] = json!(measured.sending_ms() - measured.generating_ms());
        shown["counts"] =
            json!(watch.counts(Side::Client, 1460, Instant::ZERO, Instant::FAR_FUTURE));
        shown["ends"] = json!(["client", "server"]);
        Ok(shown)
    }
}
