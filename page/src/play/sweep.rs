//! All transfers of a trial, with the score of Mogul & Minshall's section 6.

use serde_json::{Value, json};
use tinygram_naglemark::{Score, Yardstick};

use super::setting::Setting;

/// Runs the trial and returns its transfers and its score.
pub(super) fn answer(setting: &Setting) -> Result<Value, String> {
    let (mut hosts, plan, trial) = setting.meant()?;
    let taken = hosts.ran(&trial).map_err(|error| error.to_string())?;
    let conditions = hosts.conditions();
    let yardstick = Yardstick::new(&conditions, plan.multiplier);
    let score = Score::of(&yardstick, [&taken]);
    let samples = &taken.samples;
    let cutoff_ms = |length| yardstick.cutoff(length).as_millis_f64();
    let longest = samples.iter().map(|it| it.length).max().unwrap_or(1);
    Ok(json!({
        "lengths": samples.iter().map(|it| it.length).collect::<Vec<_>>(),
        "elapsed_ns": samples.iter().map(|it| it.elapsed.as_nanos()).collect::<Vec<_>>(),
        // A line: the cutoff at length 0, and its slope.
        "cutoff": { "at_zero": cutoff_ms(0), "slope": (cutoff_ms(longest) - cutoff_ms(0)) / f64::from(longest) },
        "mss": conditions.mss,
        "score": {
            "score_percent": score.score_percent,
            "segments_per_transfer": score.segments_per_transfer,
            "short_segments_per_transfer": score.short_segments_per_transfer,
            "mean_elapsed_ms": score.mean_elapsed_ms,
            "p99_elapsed_ms": score.p99_elapsed_ms,
            "slope_ns_per_byte": score.slope_ns_per_byte,
            "segments_over_fewest": score.segments_over_fewest,
            "elapsed_over_earliest": score.elapsed_over_earliest,
        },
    }))
}
