//! One transfer of a trial, watched from both hosts.

use serde::Deserialize;
use serde_json::{Value, json};
use tinygram_naglemark::Yardstick;
use tinygram_sim::medium::Side;

use super::setting::Setting;
use super::watch::Watch;

/// Which transfer of which trial.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Exchange {
    setting: Setting,
    /// Its index among the trial's transfers.
    transfer: usize,
}

impl Exchange {
    /// Runs the trial up to the transfer, and returns what happened in it.
    pub(super) fn answer(&self) -> Result<Value, String> {
        let (hosts, plan, mut trial) = self.setting.meant()?;
        let last = trial.lengths.len() - 1;
        if self.transfer > last {
            return Err(format!(
                "transfer is {} (accepted: 0 to {last})",
                self.transfer
            ));
        }
        trial.lengths = trial.lengths[..=self.transfer].into();
        // Something of the transfer before may still be under way.
        let watch = Watch::after(self.transfer.saturating_sub(1));
        let watched = hosts.watched(&trial, watch);
        let (taken, watch) = watched.map_err(|error| error.to_string())?;
        let sample = taken.samples.last().ok_or("the transfer did not end")?;
        let conditions = hosts.conditions();
        let yardstick = Yardstick::new(&conditions, plan.multiplier);
        let from = watch.last_write(Side::Client).unwrap_or_default();
        let mut shown = watch.shown(from, watch.last());
        shown["length"] = json!(sample.length);
        shown["elapsed_ns"] = json!(sample.elapsed.as_nanos());
        shown["cutoff_ns"] = json!(yardstick.cutoff(sample.length).as_nanos());
        shown["is_delayed"] = json!(yardstick.is_delayed(sample));
        shown["fewest"] = json!(yardstick.fewest(sample.length));
        shown["earliest_ns"] = json!(yardstick.earliest(sample.length).map(|it| it.as_nanos()));
        shown["mss"] = json!(conditions.mss);
        shown["counts"] = json!(watch.counts(Side::Server, conditions.mss, from, watch.last()));
        shown["ends"] = json!(["client", "server"]);
        Ok(shown)
    }
}
