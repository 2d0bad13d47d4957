//! Pauses that look like a stall of small segments and are not.
//!
//! They are told apart so that nobody is falsely accused. They are counted per connection, with the
//! time they took, because whoever looks into a slow service wants to know it.

/// What a pause turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lookalike {
    /// Data written on a clock: segments are really held, but neither writer nor reader waits for them.
    PeriodicSender,
    /// One or two held segments after which the sender went on by itself.
    NobodyWaited,
    /// The application took its time, and a late ACK happened to come meanwhile.
    ThinkTime,
    /// The receiver's window was full: flow control, not a policy on small segments.
    ZeroWindow,
    /// A segment was sent again.
    Loss,
    /// Every ACK is late, also those that no receiver may delay: a middlebox, a VPN or a slow path.
    LateAck,
    /// The segment waited for an ACK that came as fast as the path allows.
    RoundTrip,
    /// A single event that fits, seen from a place on the path where an accident would fit as well.
    Uncorroborated,
    /// The bytes took that long to cross a slow link; nobody delayed their ACK.
    SlowLink,
    /// A relay in the capturing host, for example a VPN's, reads, sends and waits for itself.
    Relay,
    /// The sender does not hold: its last flight had small segments behind unacknowledged small ones.
    NotHolding,
}

impl Lookalike {
    /// All lookalikes, in the order of their tallies.
    pub const ALL: [Self; 11] = [
        Self::PeriodicSender,
        Self::NobodyWaited,
        Self::ThinkTime,
        Self::ZeroWindow,
        Self::Loss,
        Self::LateAck,
        Self::RoundTrip,
        Self::Uncorroborated,
        Self::SlowLink,
        Self::Relay,
        Self::NotHolding,
    ];

    fn text(self) -> (&'static str, &'static str) {
        match self {
            Self::PeriodicSender => (
                "periodic-sender",
                "the sender writes on its own clock and the peer never answers it, so nobody waits for a held segment",
            ),
            Self::NobodyWaited => (
                "nobody-waited",
                "the segment left upon a late ACK, but the sender went on by itself and the peer did not answer it",
            ),
            Self::ThinkTime => (
                "think-time",
                "the data left at a time of its own and not upon the late ACK: the application produced it later",
            ),
            Self::ZeroWindow => (
                "zero-window",
                "the receiver advertised too small a window; its application did not read",
            ),
            Self::Loss => ("loss", "data was lost or reordered and sent again"),
            Self::LateAck => (
                "late-ack",
                "ACKs that no receiver delays were as late: the path or a middlebox is slow, not a delayed-ACK timer",
            ),
            Self::RoundTrip => (
                "round-trip",
                "the ACK came as fast as the path allows: one round trip, no delayed-ACK timer",
            ),
            Self::Uncorroborated => (
                "uncorroborated",
                "fits a stall, but rests on round-trip arithmetic far from the sender and was not seen often enough to exclude chance",
            ),
            Self::SlowLink => (
                "slow-link",
                "the ACK came as soon as a link of that speed had carried the bytes: serialisation, no delayed-ACK timer",
            ),
            Self::Relay => (
                "relay",
                "a relay stands between: a public address answers from inside the capturing host, so the ends' own segments were not seen",
            ),
            Self::NotHolding => (
                "not-holding",
                "the sender had just sent small segments while small ones were unacknowledged, so it does not hold any: the data was not there yet",
            ),
        }
    }

    /// Returns the name in JSON and in tables, for example `think-time`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.text().0
    }

    /// Returns why it is not a stall of small segments, in plain words.
    #[must_use]
    pub fn reason(self) -> &'static str {
        self.text().1
    }
}

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
    pub(crate) fn add(&mut self, kind: Lookalike, frame: u64, time_ns: i64) {
        self.tallies[kind as usize].add(frame, time_ns);
        if self.events.len() < EVENTS {
            self.events.push(Event {
                kind,
                frame,
                time_ns,
            });
        }
    }

    pub(crate) fn add_all(&mut self, kind: Lookalike, events: &Tally) {
        let tally = &mut self.tallies[kind as usize];
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

    #[test]
    fn a_tally_adds_up_and_keeps_the_first_frame() {
        let mut out = RuledOut::default();
        out.add(Lookalike::Loss, 7, 100);
        out.add(Lookalike::Loss, 9, 20);
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
        out.add_all(Lookalike::ThinkTime, &several(0, 0, 0));
        assert_eq!(now(&out), (0, 0, 0));
        out.add_all(Lookalike::ThinkTime, &several(3, 30, 50));
        assert_eq!(now(&out), (3, 30, 50));
        out.add_all(Lookalike::ThinkTime, &several(2, 4, 60));
        assert_eq!(now(&out), (5, 34, 50));
        out.add_all(Lookalike::ThinkTime, &several(1, 1, 40));
        assert_eq!(now(&out), (6, 35, 40));
        out.add_all(Lookalike::ThinkTime, &several(0, 0, 1));
        assert_eq!(now(&out), (6, 35, 40));
    }

    #[test]
    fn the_first_sixty_four_events_are_kept() {
        let mut out = RuledOut::default();
        for frame in 1..=70 {
            out.add(Lookalike::Loss, frame, 5);
        }
        let frames: Vec<u64> = out.events().iter().map(|event| event.frame).collect();
        assert_eq!(frames, (1..=64).collect::<Vec<_>>());
        assert_eq!(out.of(Lookalike::Loss).count, 70);
    }

    #[test]
    fn every_lookalike_has_a_name_and_a_reason_of_its_own() {
        let names: std::collections::BTreeSet<_> = Lookalike::ALL.map(Lookalike::name).into();
        let reasons: std::collections::BTreeSet<_> = Lookalike::ALL.map(Lookalike::reason).into();
        assert_eq!((names.len(), reasons.len()), (11, 11));
        assert!(reasons.iter().all(|reason| reason.len() > 20));
    }
}
