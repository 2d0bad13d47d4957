//! The answer: what was seen, and what each change would do, over all guesses that agree with what was seen.

use crate::lateness::HostLoad;
use crate::offer::{AskedChanges, Offer, offers};
use crate::prediction::{Estimate, Figures, Prediction, Replayed, Seen, Service};

/// What is expected of a service.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// What was seen; under the first of the guesses that agree, if an end was not seen.
    pub seen: Seen,
    /// The present settings, played again.
    pub present: Prediction,
    /// Each change with what it would do.
    pub rows: Vec<(Offer, Prediction)>,
    /// How many guesses agree with what was seen, and of how many; one of one if both ends were seen.
    pub agree: usize,
    /// See `agree`.
    pub of: usize,
}

/// Plays the service of each guess again. `None` if nothing was seen.
#[must_use]
pub fn forecast(guesses: &[Service], asked: AskedChanges<'_>) -> Option<Forecast> {
    let played: Vec<(&Service, Seen, [Replayed; HOSTS.len()])> = guesses
        .iter()
        .filter_map(|service| {
            let seen = service.seen()?;
            let present = HOSTS.map(|host| service.replay(host, |subject| subject.rules.clone()));
            Some((service, seen, present))
        })
        .collect();
    let agreeing: Vec<_> = played
        .iter()
        .filter(|(_, seen, [as_seen, ..])| as_seen.agrees_with(seen))
        .collect();
    let (service, seen, _) = agreeing.first().copied().or(played.first())?;
    let over_all = |predict: &dyn Fn(&Service, HostLoad, &Replayed) -> Prediction| {
        let all = agreeing.iter().map(|(service, _, present)| {
            let [as_seen, quiet, busier] =
                [0, 1, 2].map(|host| predict(service, HOSTS[host], &present[host]));
            as_seen.widened_by(quiet).widened_by(busier)
        });
        all.reduce(Prediction::spanning).unwrap_or_default()
    };
    let rows = offers(service, asked).into_iter().map(|offer| {
        let prediction = over_all(&|service, host, present| {
            let rules = |subject: &_| offer.rules(subject);
            let predict = |changed: &Replayed| service.predict(present, changed);
            let settled = service.replay_settled(host, present, rules);
            let at_last = settled.at_last().iter().map(predict);
            let at_last = at_last.reduce(Prediction::spanning).unwrap_or_default();
            Prediction {
                is_unsettled: settled.is_unsettled,
                ..at_last.widened_by(predict(settled.at_first()))
            }
        });
        (offer, prediction)
    });
    Some(Forecast {
        seen: *seen,
        present: over_all(&|service, _, present| service.predict(present, present)),
        rows: rows.collect(),
        agree: agreeing.len(),
        of: played.len(),
    })
}

impl Forecast {
    /// Returns whether anything can be told.
    #[must_use]
    pub fn tells(&self) -> bool {
        self.present.figures.p50_ms.is_some()
    }

    /// Returns the first change that helps: they are in the order of how much they touch.
    #[must_use]
    pub fn first_that_helps(&self) -> Option<&(Offer, Prediction)> {
        self.rows.iter().find(|(_, prediction)| prediction.helps())
    }
}

impl Prediction {
    /// Returns whether turns become shorter, beyond what the intervals leave open: one of the median and the 99th percentile
    /// does, and the other does not become longer.
    #[must_use]
    pub fn helps(&self) -> bool {
        let signs = [self.p50_change_ms, self.p99_change_ms];
        let signs = signs.map(|change| change.map_or(0, Estimate::sign));
        signs.contains(&-1) && !signs.contains(&1)
    }

    /// Returns the prediction that spans both; a figure that one of them cannot tell cannot be told.
    #[must_use]
    pub fn spanning(self, other: Self) -> Self {
        self.with(other, Estimate::spanning)
    }

    /// Returns the same prediction with intervals that hold those of both.
    #[must_use]
    pub fn widened_by(self, other: Self) -> Self {
        self.with(other, Estimate::widened_by)
    }

    fn with(self, other: Self, join: fn(Estimate, Estimate) -> Estimate) -> Self {
        let both = |one: Option<Estimate>, other: Option<Estimate>| {
            one.zip(other).map(|(one, other)| join(one, other))
        };
        let (figures, others) = (self.figures, other.figures);
        Self {
            figures: Figures {
                p50_ms: both(figures.p50_ms, others.p50_ms),
                p99_ms: both(figures.p99_ms, others.p99_ms),
                segments: both(figures.segments, others.segments),
                packets: both(figures.packets, others.packets),
                packets_per_second: both(figures.packets_per_second, others.packets_per_second),
            },
            p50_change_ms: both(self.p50_change_ms, other.p50_change_ms),
            p99_change_ms: both(self.p99_change_ms, other.p99_change_ms),
            is_unsettled: self.is_unsettled || other.is_unsettled,
        }
    }
}

/// What is played: the others show how much of a figure is the host's.
const HOSTS: [HostLoad; 3] = [HostLoad::AsSeen, HostLoad::Quiet, HostLoad::Busier];
