//! The answer of `is_it_nagle` in words.

use schemars::JsonSchema;
use serde::Serialize;

use super::shared::{Answer, Other, Untold};

/// How often data was held, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Holds {
    pub(crate) count: u64,
    pub(crate) ms: f64,
}

impl Holds {
    fn add(&mut self, held: &Held<'_>) {
        self.count += held.count;
        self.ms = rounded([self.ms, held.ms].into_iter());
    }
}

/// Holds of one kind at one side.
pub(super) struct Held<'a> {
    pub(super) kind: &'a str,
    pub(super) side: &'a str,
    pub(super) count: u64,
    pub(super) ms: f64,
}

/// What the sentence says.
pub(super) struct Judged {
    answer: Answer,
    all: Holds,
    /// Those that the other side's delayed ACK ended.
    pub(super) until_delayed_ack: Holds,
    /// Those that lasted a round trip: nobody delayed the ACK.
    pub(super) for_a_round_trip: Holds,
    /// Who must change something, each side once.
    sides: Vec<String>,
}

impl Judged {
    /// Counts what was held by what released it.
    pub(super) fn of<'a>(answer: Answer, all: impl Iterator<Item = Held<'a>>) -> Self {
        let mut judged = Self {
            answer,
            all: Holds::default(),
            until_delayed_ack: Holds::default(),
            for_a_round_trip: Holds::default(),
            sides: Vec::new(),
        };
        for held in all {
            judged.all.add(&held);
            match held.kind == ROUND_TRIP {
                true => judged.for_a_round_trip.add(&held),
                false => judged.until_delayed_ack.add(&held),
            }
            if !judged.sides.iter().any(|side| side == held.side) {
                judged.sides.push(held.side.to_owned());
            }
        }
        judged
    }

    pub(super) fn stalls(&self) -> u64 {
        self.all.count
    }

    pub(super) fn stalled_ms(&self) -> f64 {
        self.all.ms
    }

    /// Returns whether a delayed ACK ended one of the waits.
    pub(super) fn delayed_ack(&self) -> Option<bool> {
        (self.all.count > 0).then_some(self.until_delayed_ack.count > 0)
    }

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
            Answer::Yes => self.yes(),
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

    fn yes(&self) -> String {
        let (delayed, prompt) = (self.until_delayed_ack, self.for_a_round_trip);
        let until = match (delayed.count, prompt.count) {
            (_, 0) => " until the other side's delayed ACK,",
            (0, _) => " for a round trip of the path,",
            _ => "",
        };
        let parts = match until {
            "" => format!(
                " {} of these holds lasted until the other side's delayed ACK ({:.0} ms), {} for a round trip of the path, in \
                 which nobody delayed the ACK ({:.0} ms).",
                delayed.count, delayed.ms, prompt.count, prompt.ms
            ),
            _ => String::new(),
        };
        format!(
            "Yes: Nagle's algorithm at the {} held data {}{until} while the other side waited for it: {:.0} ms each on average, \
             {:.0} ms in all.{parts}",
            self.sides.join(" and at the "),
            times(self.all.count),
            self.all.ms / (self.all.count.max(1) as f64),
            self.all.ms
        )
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn yes(all: &[(&'static str, &'static str, u64, f64)]) -> Judged {
        let all = all.iter().map(|&(kind, side, count, ms)| Held {
            kind,
            side,
            count,
            ms,
        });
        Judged::of(Answer::Yes, all)
    }

    #[test]
    fn holds_are_counted_by_what_released_them() {
        let mixed = yes(&[
            ("write-write-read", "server", 33, 4620.0),
            (ROUND_TRIP, "server", 12, 1071.0),
        ]);
        assert_eq!(
            mixed.sentence(&[], &[]),
            "Yes: Nagle's algorithm at the server held data 45 times while the other side waited for it: 126 ms each on \
             average, 5691 ms in all. 33 of these holds lasted until the other side's delayed ACK (4620 ms), 12 for a round \
             trip of the path, in which nobody delayed the ACK (1071 ms)."
        );
        let delayed = yes(&[("buffer-tearing", "client", 1, 40.0)]);
        assert_eq!(
            delayed.sentence(&[], &[]),
            "Yes: Nagle's algorithm at the client held data once until the other side's delayed ACK, while the other side \
             waited for it: 40 ms each on average, 40 ms in all."
        );
        let prompt = yes(&[
            (ROUND_TRIP, "client", 2, 160.0),
            (ROUND_TRIP, "server", 1, 80.0),
        ]);
        assert_eq!(
            prompt.sentence(&[], &[]),
            "Yes: Nagle's algorithm at the client and at the server held data 3 times for a round trip of the path, while the \
             other side waited for it: 80 ms each on average, 240 ms in all."
        );
        assert_eq!(prompt.delayed_ack(), Some(false));
        assert_eq!(yes(&[]).delayed_ack(), None);
    }
}
