//! The sentence that answers "what would it do?".

use tinygram_whatif::forecast::Forecast;
use tinygram_whatif::offer::{At, Offer};
use tinygram_whatif::prediction::Prediction;

use crate::amount::becomes;

/// Returns the sentence; `None` where nothing can be told. `asked` is how many changes were asked for: none stands for every
/// remedy.
pub(super) fn answer(forecast: &Forecast, asked: usize) -> Option<String> {
    if !forecast.tells() {
        return None;
    }
    let helps = forecast.first_that_helps();
    Some(match (helps, &forecast.rows[..]) {
        (Some((offer, prediction)), [_]) => {
            format!("{} would help: {}.", named(offer), told(forecast, prediction))
        }
        (Some((offer, prediction)), _) => format!(
            "{} would help, and touches least of those that would: {}.",
            named(offer),
            told(forecast, prediction)
        ),
        (None, [(offer, prediction)]) => format!(
            "{} is not shown to help: {}.",
            named(offer),
            told(forecast, prediction)
        ),
        (None, _) if asked == 0 => {
            "No remedy is shown to help: of none does the interval say that turns become shorter.".to_owned()
        }
        (None, _) => {
            "None of these is shown to help: of none does the interval say that turns become shorter.".to_owned()
        }
    })
}

fn named(offer: &Offer) -> String {
    match offer.at {
        At::Meant => format!("{} on the target's sockets", offer.change),
        At::Client | At::Server => format!("{} at the {}", offer.change, offer.at.words()),
    }
}

/// Tells the figures with the change against those without it.
fn told(forecast: &Forecast, with: &Prediction) -> String {
    let without = forecast.present.figures;
    let with = with.figures;
    [
        becomes("the median of a turn", " ms", (without.p50_ms, with.p50_ms)),
        becomes("the 99th percentile", " ms", (without.p99_ms, with.p99_ms)),
        becomes(
            "data segments a turn (both ends)",
            "",
            (without.segments, with.segments),
        ),
    ]
    .join(", ")
}
