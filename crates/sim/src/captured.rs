//! A run as a capture at one of its hosts shows it.
//!
//! In most experiments the connections are open from the start, and opening them is not measured.
//! But a capture that begins in the middle of a connection does not show the MSS, without which
//! neither people nor programs can tell which segments are short. So the opening is simulated once,
//! separately, between the same hosts over the same medium, and put into the capture before each
//! connection's first segment.

use std::collections::BTreeSet;

use tinygram_engine::connection::Config;
use tinygram_engine::{Duration, Instant};

use crate::medium::{ImpairmentRules, MediumFrame, Side};
use crate::observer::Tap;
use crate::workload::opening::Opening as Opener;
use crate::{Opening, World, WorldConfig};

/// Returns the three segments that open a connection in such a world, as seen at the host `at`.
#[must_use]
pub fn opening(of: WorldConfig, ends: [Config; 2], at: Side) -> Vec<(Side, MediumFrame)> {
    let config = WorldConfig {
        impairment: ImpairmentRules {
            delay: of.impairment.delay,
            ..ImpairmentRules::NONE
        },
        ..of
    };
    let programs = [vec![Opener::Client], vec![Opener::Server]];
    let mut world = World::watched(config, programs, Tap::at(at));
    world.connect(Opening::Handshake, ends);
    world.run(Instant::ZERO + LONGEST_OPENING);
    world.observer().passed()
}

/// Returns what passed in a run, with each connection's opening added. The run starts after one
/// opening and the `pause` that follows it.
#[must_use]
pub fn opened(
    opening: &[(Side, MediumFrame)],
    passed: Vec<(Side, MediumFrame)>,
    pause: Duration,
) -> Vec<(Side, MediumFrame)> {
    let (Some((_, first)), Some((_, last))) = (opening.first(), opening.last()) else {
        return passed;
    };
    let lasts = last.at.since(first.at) + pause;
    let mut seen = Vec::new();
    let mut opened = BTreeSet::new();
    for (from, mut frame) in passed {
        let begins = frame.at;
        frame.at += lasts;
        if opened.insert(frame.generation) {
            seen.extend(opening.iter().map(|(from, of_opening)| {
                let renewed = MediumFrame {
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

/// Longer than the three segments of an opening take over any path of a run.
const LONGEST_OPENING: Duration = Duration::from_secs(1000);
