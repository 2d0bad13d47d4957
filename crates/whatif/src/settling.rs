//! The rates to which BBR comes under other rules: it counts the segments that are delivered in a round trip, and lets so many
//! leave in the next ones.

use crate::lateness::HostLoad;
use crate::pacing::Pacing;
use crate::prediction::{Replayed, Service, Subject};
use crate::rules::Both;

/// Replays at the rates to which BBR comes.
#[derive(Clone, Debug)]
pub struct Settled {
    /// All that were played: the first at the rates that were seen.
    replays: Vec<Replayed>,
    /// Where those begin among which it stays.
    from: usize,
    /// Whether it neither stays nor goes round within [`MOST_STEPS`].
    pub is_unsettled: bool,
}

impl Settled {
    /// Returns the replay at the rates that were seen.
    #[must_use]
    pub fn at_first(&self) -> &Replayed {
        &self.replays[0]
    }

    /// Returns the replay with which it stays, those of the circle in which it goes round, or all.
    #[must_use]
    pub fn at_last(&self) -> &[Replayed] {
        &self.replays[self.from..]
    }
}

impl Service {
    /// Replays all conversations as [`Self::replay`] does, at the rates to which BBR then comes: `present` had fewer segments in
    /// flight, or more.
    #[must_use]
    pub fn replay_settled(
        &self,
        host: HostLoad,
        present: &Replayed,
        change: impl Fn(&Subject) -> Both,
    ) -> Settled {
        let follows = |subject: &Subject| {
            let pacings = subject.rules.iter().flat_map(|rules| &rules.pacing);
            pacings.into_iter().any(Pacing::follows_the_flight)
        };
        if !self.subjects.iter().any(follows) {
            return Settled {
                replays: vec![self.replay(host, change)],
                from: 0,
                is_unsettled: false,
            };
        }
        let indices = 0..self.subjects.len();
        let flights: Vec<_> = indices.map(|index| present.in_flight(index)).collect();
        let at_rates = |factors: &Vec<[f64; 2]>| {
            self.replay_each(host, |index, subject| {
                times(change(subject), factors[index])
            })
        };
        let to_come = |changed: &Replayed| -> Vec<[f64; 2]> {
            let all = flights.iter().enumerate();
            all.map(|(index, before)| {
                let now = changed.in_flight(index);
                [0, 1].map(|end| now[end] / before[end])
            })
            .collect()
        };
        let (replays, from) = settle(vec![[1.0; 2]; flights.len()], at_rates, to_come);
        Settled {
            replays,
            from: from.unwrap_or(0),
            is_unsettled: from.is_none(),
        }
    }
}

/// Returns rules with rates that are so many times as high, where these follow what is in flight.
fn times(mut rules: Both, factors: [f64; 2]) -> Both {
    for (rules, factor) in rules.iter_mut().zip(factors) {
        if let Some(pacing) = rules.pacing.take_if(|pacing| pacing.follows_the_flight()) {
            rules.pacing = Some(pacing.times(factor));
        }
    }
    rules
}

/// Plays with `first`, and again with what each play brings, until that was there before. Returns the plays, and where those
/// begin among which it then goes round; `None` if that is not known after [`MOST_STEPS`] more than the first.
fn settle<Rates: PartialEq, Play>(
    first: Rates,
    play: impl Fn(&Rates) -> Play,
    brings: impl Fn(&Play) -> Rates,
) -> (Vec<Play>, Option<usize>) {
    let mut plays = vec![play(&first)];
    let mut all = vec![first];
    loop {
        let next = brings(&plays[plays.len() - 1]);
        if let Some(at) = all.iter().position(|rates| *rates == next) {
            return (plays, Some(at));
        }
        if all.len() > MOST_STEPS {
            return (plays, None);
        }
        plays.push(play(&next));
        all.push(next);
    }
}

/// How often a replay is repeated at the rates that the last one brings.
pub const MOST_STEPS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(brings: impl Fn(&u32) -> u32) -> (Vec<u32>, Option<usize>) {
        settle(0, |rates| *rates, brings)
    }

    #[test]
    fn what_stays_is_one_and_what_goes_round_is_its_circle() {
        assert_eq!(settled(|_| 0), (vec![0], Some(0)));
        assert_eq!(
            settled(|rates| (rates + 1).min(2)),
            (vec![0, 1, 2], Some(2))
        );
        assert_eq!(
            settled(|rates| 5 - (*rates).max(2)),
            (vec![0, 3, 2], Some(1))
        );
    }

    #[test]
    fn what_never_settles_is_said_to_be_so() {
        assert_eq!(settled(|rates| rates + 1), ((0..=8).collect(), None));
    }
}
