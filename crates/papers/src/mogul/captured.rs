//! A trial as a capture at one of its hosts sees it.

use tinygram_sim::medium::{Frame, Side};
use tinygram_sim::observer::Tap;

use super::naglemark::Parameters;
use crate::captured::{opened, opening};

impl Parameters {
    /// Runs the trial and gives what a tap at this host saw: who sent what, in the order of time. The
    /// trial begins when the first connection's opening is done.
    #[must_use]
    pub fn captured(&self, at: Side) -> Vec<(Side, Frame)> {
        let (_, tap) = self.watched(Tap::at(at));
        let opening = opening(self.world_config(), self.ends(), at);
        // The first request follows as any request follows an answer.
        opened(&opening, tap.passed(), self.model.think())
    }
}

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
                let mss: Vec<_> = syns.map(|segment| segment.options.mss).collect();
                assert_eq!(mss, vec![Some(4312); 2 * connections], "{trial:?} {at:?}");
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
