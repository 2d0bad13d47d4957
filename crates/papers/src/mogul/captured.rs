//! A trial as a capture at one of its hosts sees it.
//!
//! The benchmark's connections are open when they are used, and the time that this takes is not
//! measured ([`super::naglemark`]). A capture that begins in the middle of a connection tells nobody
//! the MSS, though, without which neither people nor programs can say what is a short segment. So the
//! opening is simulated once, apart, between the same hosts over the same medium, and stands in the
//! capture before each connection's first segment.

use std::collections::BTreeSet;

use tinygram_engine::{Duration, Instant};
use tinygram_sim::medium::{Frame, ImpairmentRules, Side};
use tinygram_sim::observer::Tap;
use tinygram_sim::workload::opening::Opening as Opener;
use tinygram_sim::{Opening, World, WorldConfig};

use super::naglemark::Parameters;

impl Parameters {
    /// Runs the trial and gives what a tap at this host saw: who sent what, in the order of time. The
    /// trial begins when the first connection's opening is done.
    #[must_use]
    pub fn captured(&self, at: Side) -> Vec<(Side, Frame)> {
        let (_, tap) = self.watched(Tap::at(at));
        let opening = self.opening(at);
        let (Some((_, first)), Some((_, last))) = (opening.first(), opening.last()) else {
            return tap.passed();
        };
        // The first request follows as any request follows an answer.
        let lasts = last.at.since(first.at) + self.model.think();
        let mut seen = Vec::new();
        let mut opened = BTreeSet::new();
        for (from, mut frame) in tap.passed() {
            // All of the trial is later by one opening, so that what opens a connection begins then.
            let begins = frame.at;
            frame.at += lasts;
            if opened.insert(frame.generation) {
                seen.extend(opening.iter().map(|(from, of_opening)| {
                    let renewed = Frame {
                        at: begins + of_opening.at.since(first.at),
                        generation: frame.generation,
                        ..*of_opening
                    };
                    (*from, renewed)
                }));
            }
            seen.push((from, frame));
        }
        seen.sort_by_key(|(_, frame)| frame.at);
        seen
    }

    /// The three segments of an opening, as seen at this host.
    fn opening(&self, at: Side) -> Vec<(Side, Frame)> {
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
        world.observer().passed()
    }
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
                let segments = seen.iter().map(|(_, frame)| frame.segment);
                let syns = segments.filter(|segment| segment.flags.has(Flags::SYN));
                let mss: Vec<_> = syns.map(|segment| segment.mss).collect();
                assert_eq!(mss, vec![4312; 2 * connections], "{trial:?} {at:?}");
                assert!(seen[0].1.segment.flags.has(Flags::SYN));
                assert!(seen.is_sorted_by_key(|(_, frame)| frame.at));
            }
        }
    }

    #[test]
    fn the_trial_itself_is_seen_as_it_ran() {
        let parameters = parameters(Trial::SequentialOne);
        let (_, tap) = parameters.watched(Tap::at(Side::Server));
        let of_trial = tap.passed();
        let seen = parameters.captured(Side::Server);
        assert_eq!(seen.len(), 3 + of_trial.len());
        let moved = seen[3].1.at.since(of_trial[0].1.at);
        for ((_, captured), (_, ran)) in seen[3..].iter().zip(&of_trial) {
            assert_eq!(captured.segment, ran.segment);
            assert_eq!(captured.at.since(ran.at), moved);
        }
    }
}
