//! A run as a capture at one of its hosts sees it.
//!
//! The connections of most experiments are open when they are used, and the time that this takes is
//! not measured. A capture that begins in the middle of a connection tells nobody the MSS, though,
//! without which neither people nor programs can say what is a short segment. So the opening is
//! simulated once, apart, between the same hosts over the same medium, and stands in the capture
//! before each connection's first segment.

use std::collections::BTreeSet;

use tinygram_engine::connection::Config;
use tinygram_engine::{Duration, Instant};

use crate::medium::{Frame, ImpairmentRules, Side};
use crate::observer::Tap;
use crate::workload::opening::Opening as Opener;
use crate::{Opening, World, WorldConfig};

/// Returns the three segments that open a connection in such a world, as seen at this host.
#[must_use]
pub fn opening(of: WorldConfig, ends: [Config; 2], at: Side) -> Vec<(Side, Frame)> {
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

/// Returns what passed in a run, each of its connections opened first. The run is later by one opening and
/// the `pause` after it.
#[must_use]
pub fn opened(
    opening: &[(Side, Frame)],
    passed: Vec<(Side, Frame)>,
    pause: Duration,
) -> Vec<(Side, Frame)> {
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

/// Three segments take less over any path that carries a run.
const LONGEST_OPENING: Duration = Duration::from_secs(1000);
