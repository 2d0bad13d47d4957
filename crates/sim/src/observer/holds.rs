//! What the rules of a run held back, for which reasons and for how long.

use std::fmt;

use tinygram_engine::sender::send_policy::Why;
use tinygram_engine::{Duration, Instant, Offset};

use super::Observer;
use crate::host::Socket;
use crate::medium::Side;

/// Keeps every hold, with the names that its policy has for itself and for its reasons. It is the trace of a
/// rule at work, a hold a line; [`by_reason`](Self::by_reason) is the table.
#[derive(Clone, Debug, Default)]
pub struct Holds {
    ended: Vec<Held>,
    /// What each socket of each side holds now.
    now: [Vec<Option<Open>>; 2],
}

/// A hold. It ends when its start or its reason changes; one that the next piece of the same write ends lasts 0 ns. Its line in a trace is `0.002500 Client nagle holds 101, 40 octets: unacknowledged, for 12 ms`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The side.
    pub by: Side,
    /// The number of its socket.
    pub socket: usize,
    /// The name of the policy; a rule of your own has the name that it [gives
    /// itself](tinygram_engine::sender::send_policy::Rule::name).
    pub policy: String,
    /// The reason, by the name that the policy [gives it](tinygram_engine::sender::send_policy::Rule::reason).
    pub reason: String,
    /// The first octet that was held.
    pub start: Offset,
    /// The most octets that waited from there on.
    pub octets: u64,
    /// When it began.
    pub from: Instant,
    /// When it ended; `None` if it went on at the end of the run.
    pub until: Option<Instant>,
}

/// All holds of a policy for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfReason {
    /// The name of the policy.
    pub policy: String,
    /// The name of the reason.
    pub reason: String,
    /// How many holds there were.
    pub holds: u64,
    /// How long those that ended lasted together.
    pub held: Duration,
}

/// A hold that goes on.
#[derive(Clone, Debug)]
struct Open {
    why: Why,
    held: Held,
}

impl Holds {
    /// Returns the holds of both sides: those that have ended in the order of their ends, then those that go on.
    pub fn all(&self) -> impl Iterator<Item = &Held> {
        let open = self.now.iter().flatten().flatten();
        self.ended.iter().chain(open.map(|open| &open.held))
    }

    /// Returns the sums for each policy and reason, in the order in which they first came.
    #[must_use]
    pub fn by_reason(&self) -> Vec<OfReason> {
        let mut rows: Vec<OfReason> = Vec::new();
        for held in self.all() {
            let is_its =
                |row: &&mut OfReason| (&row.policy, &row.reason) == (&held.policy, &held.reason);
            let length = held
                .until
                .map_or(Duration::ZERO, |until| until.since(held.from));
            match rows.iter_mut().find(is_its) {
                Some(row) => {
                    row.holds += 1;
                    row.held += length;
                }
                None => rows.push(OfReason {
                    policy: held.policy.clone(),
                    reason: held.reason.clone(),
                    holds: 1,
                    held: length,
                }),
            }
        }
        rows
    }

    /// Looks at what a socket holds now.
    fn look(&mut self, at: Instant, by: Side, number: usize, socket: &Socket) {
        let sockets = &mut self.now[by.index()];
        if sockets.len() <= number {
            sockets.resize(number + 1, None);
        }
        let open = &mut sockets[number];
        let sender = socket.connection().sender();
        let hold = sender.hold();
        let octets = |start| sender.vars().written.since(start);
        if let (Some(open), Some(hold)) = (open.as_mut(), hold)
            && (open.held.start, open.why) == (hold.start, hold.why)
        {
            open.held.octets = open.held.octets.max(octets(hold.start));
            return;
        }
        let before = open.take();
        self.ended.extend(before.map(|open| Held {
            until: Some(at),
            ..open.held
        }));
        *open = hold.map(|hold| Open {
            why: hold.why,
            held: Held {
                by,
                socket: number,
                policy: socket.config.sender.policy.to_string(),
                reason: sender.name_of(hold.why).to_owned(),
                start: hold.start,
                octets: octets(hold.start),
                from: at,
                until: None,
            },
        });
    }
}

impl Observer for Holds {
    fn ran(&mut self, at: Instant, side: Side, sockets: &[Socket]) {
        for (number, socket) in sockets.iter().enumerate() {
            self.look(at, side, number, socket);
        }
    }
}

impl fmt::Display for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.all().try_for_each(|held| writeln!(f, "{held}"))
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            by,
            policy,
            reason,
            start,
            octets,
            from,
            ..
        } = self;
        write!(
            f,
            "{from} {by:?} {policy} holds {start}, {octets} octets: {reason}"
        )?;
        match self.until {
            Some(until) => write!(f, ", for {}", until.since(*from)),
            None => f.write_str(", to the end"),
        }
    }
}
