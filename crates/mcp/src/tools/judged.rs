//! The answer of `is_it_nagle` in words.

use super::shared::{Answer, Other, Untold};

/// What the sentence says.
pub(super) struct Judged {
    pub(super) answer: Answer,
    pub(super) stalls: u64,
    pub(super) stalled_ms: f64,
    pub(super) delayed_ack: Option<bool>,
    /// Who must change something.
    pub(super) side: Option<String>,
}

impl Judged {
    pub(super) fn sentence(&self, others: &[Other], why: &[Untold]) -> String {
        let told = |other: &Other| {
            format!(
                "{} ({}, {:.0} ms)",
                other.kind,
                times(other.count),
                other.cost_ms
            )
        };
        let others: Vec<_> = others.iter().map(told).collect();
        match self.answer {
            Answer::Yes => {
                let until = match self.delayed_ack {
                    Some(true) => "until the other side's delayed ACK",
                    _ => "for a round trip of the path",
                };
                format!(
                    "Yes: Nagle's algorithm at the {} held data {} {until}, while the other side waited for it: {:.0} ms each \
                     on average, {:.0} ms in all.",
                    self.side.as_deref().unwrap_or("sender"),
                    times(self.stalls),
                    self.stalled_ms / (self.stalls.max(1) as f64),
                    self.stalled_ms
                )
            }
            Answer::CannotTell => {
                let reasons: Vec<_> = why.iter().map(|one| one.reason.as_str()).collect();
                format!("Cannot tell, which is not a no: {}.", reasons.join("; "))
            }
            Answer::No if others.is_empty() => {
                "No: no segment was seen that Nagle's algorithm held while somebody waited for it."
                    .to_owned()
            }
            Answer::No => format!(
                "No: Nagle's algorithm held nothing that somebody waited for. Found instead: {}.",
                others.join(", ")
            ),
        }
    }
}

/// Returns whether a delayed ACK ended one of the waits.
pub(super) fn delayed<'a>(mut kinds: impl Iterator<Item = &'a str>) -> Option<bool> {
    let first = kinds.next()?;
    Some(first != ROUND_TRIP || kinds.any(|kind| kind != ROUND_TRIP))
}

/// Adds up milliseconds, to the microsecond.
pub(super) fn rounded(all: impl Iterator<Item = f64>) -> f64 {
    (all.fold(0.0, |sum, one| sum + one) * 1e3).round() / 1e3
}

/// Returns how often, in words.
pub(super) fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

/// Held although the ACK was prompt: the path is long.
pub(super) const ROUND_TRIP: &str = "nagle-round-trip";
