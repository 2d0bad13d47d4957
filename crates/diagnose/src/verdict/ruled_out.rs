//! What the checks have ruled out.
//!
//! It is counted per connection, with the time it took, because whoever looks into a slow service wants to know it. Each pause
//! is counted by the check that ruled it out.

use super::check::{Check, Effect};
use super::lookalikes::Lookalike;

/// How often each lookalike occurred, the time it took, and the frames of the first ones.
#[derive(Clone, Debug, Default)]
pub struct RuledOut {
    tallies: [Tally; 11],
    events: Vec<Event>,
}

/// One pause that turned out to be a lookalike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The kind of lookalike.
    pub kind: Lookalike,
    /// The frame that ended the pause.
    pub frame: u64,
    /// The length of the pause, in nanoseconds.
    pub time_ns: i64,
}

/// The count of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// How many occurred.
    pub count: u32,
    /// The time they took in all, in nanoseconds.
    pub time_ns: i64,
    /// The frame of the first one.
    pub first_frame: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, frame: u64, time_ns: i64) {
        if self.count == 0 {
            self.first_frame = frame;
        }
        self.count += 1;
        self.time_ns += time_ns;
    }
}

impl RuledOut {
    /// Counts a pause that a check has ruled out.
    pub(crate) fn add(&mut self, by: &'static Check, frame: u64, time_ns: i64) {
        let kind = by.lookalike();
        self.tallies[kind as usize].add(frame, time_ns);
        if self.events.len() < EVENTS {
            self.events.push(Event {
                kind,
                frame,
                time_ns,
            });
        }
    }

    /// Counts what was found before if a check has ruled it out. Of what is unsaid, nothing is counted.
    pub(crate) fn add_if_ruled_out(&mut self, by: &'static Check, frame: u64, time_ns: i64) {
        if matches!(by.effect, Effect::RulesOut(_)) {
            self.add(by, frame, time_ns);
        }
    }

    pub(crate) fn add_all(&mut self, by: &'static Check, events: &Tally) {
        let tally = &mut self.tallies[by.lookalike() as usize];
        if events.count > 0 && (tally.count == 0 || events.first_frame < tally.first_frame) {
            tally.first_frame = events.first_frame;
        }
        tally.count += events.count;
        tally.time_ns += events.time_ns;
    }

    /// Returns one kind's tally.
    #[must_use]
    pub fn of(&self, kind: Lookalike) -> Tally {
        self.tallies[kind as usize]
    }

    /// Returns the first events, in the order in which they were judged.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Returns the kinds that occurred, each with its tally.
    pub fn iter(&self) -> impl Iterator<Item = (Lookalike, Tally)> + '_ {
        Lookalike::ALL
            .into_iter()
            .zip(self.tallies)
            .filter(|(_, tally)| tally.count > 0)
    }
}

/// Events of one connection that are kept with their frames.
const EVENTS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::checks::{follows_ack, loss};

    #[test]
    fn a_tally_adds_up_and_keeps_the_first_frame() {
        let mut out = RuledOut::default();
        out.add(&loss::CHECK, 7, 100);
        out.add(&loss::CHECK, 9, 20);
        let loss = out.of(Lookalike::Loss);
        assert_eq!((loss.count, loss.time_ns, loss.first_frame), (2, 120, 7));
        assert_eq!(out.of(Lookalike::Relay).count, 0);
        assert_eq!(out.iter().count(), 1);
    }

    /// A join of several tallies keeps the earliest frame; joining an empty one changes nothing.
    #[test]
    fn tallies_join() {
        let several = |count, time_ns, first_frame| Tally {
            count,
            time_ns,
            first_frame,
        };
        let mut out = RuledOut::default();
        let now = |out: &RuledOut| {
            let tally = out.of(Lookalike::ThinkTime);
            (tally.count, tally.time_ns, tally.first_frame)
        };
        out.add_all(&follows_ack::CHECK, &several(0, 0, 0));
        assert_eq!(now(&out), (0, 0, 0));
        out.add_all(&follows_ack::CHECK, &several(3, 30, 50));
        assert_eq!(now(&out), (3, 30, 50));
        out.add_all(&follows_ack::CHECK, &several(2, 4, 60));
        assert_eq!(now(&out), (5, 34, 50));
        out.add_all(&follows_ack::CHECK, &several(1, 1, 40));
        assert_eq!(now(&out), (6, 35, 40));
        out.add_all(&follows_ack::CHECK, &several(0, 0, 1));
        assert_eq!(now(&out), (6, 35, 40));
    }

    #[test]
    fn the_first_sixty_four_events_are_kept() {
        let mut out = RuledOut::default();
        for frame in 1..=70 {
            out.add(&loss::CHECK, frame, 5);
        }
        let frames: Vec<u64> = out.events().iter().map(|event| event.frame).collect();
        assert_eq!(frames, (1..=64).collect::<Vec<_>>());
        assert_eq!(out.of(Lookalike::Loss).count, 70);
    }
}
