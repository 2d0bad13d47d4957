//! A trial as a capture at one of its hosts sees it.
//!
//! The benchmark's connections are open when they are used, and the time that this takes is not
//! measured ([`super::naglemark`]). A capture that begins in the middle of a connection tells nobody
//! the MSS, though, without which neither people nor programs can say what is a short segment. So the
//! opening is simulated once, apart, between the same hosts over the same medium, and stands in the
//! capture before each connection's first segment.

use std::collections::BTreeSet;

use tinygram_engine::{Duration, Instant};
use tinygram_sim::medium::{ImpairmentRules, Side};
use tinygram_sim::observer::{Seen, Tap};
use tinygram_sim::workload::opening::Opening as Opener;
use tinygram_sim::{Opening, World, WorldConfig};

use super::naglemark::Parameters;

impl Parameters {
    /// Runs the trial and gives what a tap at this host saw, in the order of time. The trial begins
    /// when the first connection's opening is done.
    #[must_use]
    pub fn captured(&self, at: Side) -> Vec<Seen> {
        let (_, tap) = self.watched(Tap::at(at));
        let opening = self.opening(at);
        let (Some(first), Some(last)) = (opening.first(), opening.last()) else {
            return tap.into_seen();
        };
        let lasts = last.frame.at.since(first.frame.at) + self.model.think();
        let mut seen = Vec::new();
        let mut opened = BTreeSet::new();
        for of_trial in tap.into_seen() {
            let of_trial = later(&of_trial, lasts);
            let generation = of_trial.frame.generation;
            if opened.insert(generation) {
                // The first request follows as any request follows an answer.
                let begin = Duration::from_nanos(of_trial.frame.at.as_nanos() - lasts.as_nanos());
                seen.extend(opening.iter().map(|of_opening| {
                    let since = of_opening.frame.at.since(first.frame.at);
                    let mut renewed = *of_opening;
                    renewed.frame.at = Instant::ZERO + begin + since;
                    renewed.frame.generation = generation;
                    renewed
                }));
            }
            seen.push(of_trial);
        }
        seen.sort_by_key(|seen| seen.frame.at);
        seen
    }

    /// The three segments of an opening, as seen at this host.
    fn opening(&self, at: Side) -> Vec<Seen> {
        let trial = self.world_config();
        let config = WorldConfig {
            impairment: ImpairmentRules {
                delay: trial.impairment.delay,
                ..ImpairmentRules::NONE
            },
            ..trial
        };
        let programs = [vec![Opener::Client], vec![Opener::Server]];
        let mut world = World::watched(config, programs, Tap::at(at));
        world.connect(Opening::Handshake, self.ends());
        world.run(Instant::ZERO + LONGEST_OPENING);
        world.into_observer().into_seen()
    }
}

fn later(seen: &Seen, by: Duration) -> Seen {
    let mut later = *seen;
    later.frame.at += by;
    later
}

/// Three segments take less over any path that carries a trial.
const LONGEST_OPENING: Duration = Duration::from_secs(1000);

#[cfg(test)]
mod tests {
    use tinygram_engine::Flags;
    use tinygram_engine::sender::send_policy::SendPolicy;

    use super::super::model::Model;
    use super::super::naglemark::{Lengths, MediumKind, Series, Trial};
    use super::*;

    fn parameters(trial: Trial) -> Parameters {
        let policy = SendPolicy::named("NAGLE").expect("registered");
        let (model, medium) = (Model::Fitted, MediumKind::Fddi);
        let paper = Parameters::paper(model, medium, policy, 32_768, 65_536, trial);
        let series = Series {
            from: 20_000,
            to: 20_000,
            step: 1,
            transfers: 3,
        };
        Parameters {
            lengths: Lengths {
                series,
                ..Lengths::PAPER
            },
            ..paper
        }
    }

    #[test]
    fn every_connection_is_seen_to_open_with_its_mss() {
        for (trial, connections) in [(Trial::SequentialOne, 1), (Trial::SequentialEach, 3)] {
            for at in Side::BOTH {
                let seen = parameters(trial).captured(at);
                let syns = seen
                    .iter()
                    .filter(|it| it.frame.segment.flags.has(Flags::SYN));
                let mss: Vec<_> = syns.map(|it| it.frame.segment.mss).collect();
                assert_eq!(mss, vec![4312; 2 * connections], "{trial:?} {at:?}");
                assert!(seen[0].frame.segment.flags.has(Flags::SYN));
                assert!(seen.is_sorted_by_key(|it| it.frame.at));
            }
        }
    }

    #[test]
    fn the_trial_itself_is_seen_as_it_ran() {
        let parameters = parameters(Trial::SequentialOne);
        let (_, tap) = parameters.watched(Tap::at(Side::Server));
        let of_trial: Vec<_> = tap.into_seen();
        let seen = parameters.captured(Side::Server);
        assert_eq!(seen.len(), 3 + of_trial.len());
        let moved = seen[3].frame.at.since(of_trial[0].frame.at);
        for (captured, ran) in seen[3..].iter().zip(&of_trial) {
            assert_eq!(captured.frame.segment, ran.frame.segment);
            assert_eq!(captured.frame.at.since(ran.frame.at), moved);
        }
    }
}
