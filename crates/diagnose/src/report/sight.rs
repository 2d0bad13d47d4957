//! Tells whether the capture could have shown a stall. Only then does "no stalls" mean something.

use crate::conversation::Conversation;
use crate::verdict::lookalikes::Lookalike;
use tinygram_stalls::thresholds::{
    DOMINANT_IN, DOMINANT_LEAST_NS, EQUAL_GAPS_PERCENT, FEW_GAPS, GAPPY_IN, LONG_GAP_NS,
    LONG_GAPS_PARTS, LONG_GAPS_WHOLE, MANY_GAPS, STILL_FRAMES,
};

/// What could be seen, and what took the time, over all connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    /// Data segments.
    pub data: u64,
    /// Data segments that were the only one of their connection, whose end was not seen: nothing tells whether
    /// more was held behind them.
    pub alone: u64,
    /// Data segments of connections of which only one direction was seen.
    pub one_direction: u64,
    /// Data segments of connections of which more than a tenth of the segments is missing.
    pub gappy: u64,
    /// Data segments of connections whose clock stepped back.
    pub clock_steps: u64,
    /// Whether a time was seen that is not a multiple of 10 ms.
    pub fine_clock: bool,
    /// The sum of the lifetimes of the connections, in nanoseconds.
    pub lifetime_ns: i64,
    /// The part of `lifetime_ns` spent until lost data was sent again.
    pub loss_ns: i64,
    /// The part of `lifetime_ns` spent with a closed window.
    pub zero_window_ns: i64,
    /// The part of `lifetime_ns` spent waiting for the server's answers, without the path's part where a handshake tells it.
    pub server_ns: i64,
    /// The part of `server_ns` of connections whose handshake was not seen: the path may have taken a part of it.
    pub server_or_path_ns: i64,
    /// Segments that were held although nobody was seen to wait for them. A reader elsewhere may
    /// have waited: behind a tunnel, or for a report.
    pub unwatched: u64,
    /// How long the unwatched segments were held, in nanoseconds.
    pub unwatched_ns: i64,
    /// Segments that were held, and for which nobody is accused only because a relay may stand between the ends.
    pub relayed: u64,
    /// Messages that began as late as a sender's timer releases corked ones, of senders whose messages do so time after
    /// time.
    pub timed: u64,
}

/// Whether the frames were stamped by a clock. A program that writes or rewrites a capture often counts
/// instead: each frame gets the time of the one before, or that and a constant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// The time of the last frame, in nanoseconds since the epoch.
    last_ns: i64,
    /// The time between the last two frames, in nanoseconds.
    gap_ns: i64,
    /// How often no time passed twice in a row.
    still: u64,
    /// How often a short time passed twice in a row, equal to the nanosecond.
    short: u64,
    /// How often a long one did.
    long: u64,
}

impl Stamps {
    /// Takes note of the first frame's time.
    pub(crate) fn begin(&mut self, time_ns: i64) {
        (self.last_ns, self.gap_ns) = (time_ns, i64::MIN);
    }

    /// Takes note of the next frame's time.
    #[inline]
    pub(crate) fn note(&mut self, time_ns: i64) {
        let gap_ns = time_ns.wrapping_sub(self.last_ns);
        if gap_ns == self.gap_ns {
            self.repeat(gap_ns);
        }
        (self.last_ns, self.gap_ns) = (time_ns, gap_ns);
    }

    #[cold]
    fn repeat(&mut self, gap_ns: i64) {
        *match gap_ns {
            0 => &mut self.still,
            LONG_GAP_NS.. => &mut self.long,
            _ => &mut self.short,
        } += 1;
    }

    /// Returns whether so many frames were counted and not stamped by a clock: no time passed at all, or
    /// nearly all gaps are equal. Real frames in a burst are a microsecond apart time and again, and a real
    /// clock of milliseconds stands still in a burst; but a clock of microseconds hardly shows a long gap twice.
    #[must_use]
    pub fn count(&self, frames: u64) -> bool {
        // Two gaps can be equal from the third frame on.
        let pairs = frames.saturating_sub(2);
        // Ten frames of one connection within a millisecond are not rare.
        let of_ms = self.last_ns % 1_000_000 == 0 && self.last_ns % 1_000_000_000 != 0;
        let still = self.still >= pairs && (!of_ms || frames > STILL_FRAMES);
        frames > MANY_GAPS && (still || self.are_equal(pairs))
    }

    /// Returns whether of so many pairs of gaps nearly all are equal, or most of them as long ones.
    fn are_equal(&self, pairs: u64) -> bool {
        let all = self.short + self.long;
        all * 100 >= pairs * EQUAL_GAPS_PERCENT
            || self.long * LONG_GAPS_WHOLE >= pairs * LONG_GAPS_PARTS
    }
}

/// What took most of the time if nothing stalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dominant {
    /// Data was lost and sent again.
    Loss,
    /// A receiver did not read.
    ZeroWindow,
    /// The server took its time to answer.
    SlowServer,
    /// The server or the path to it took the time: without a handshake nothing tells the path's part.
    ServerOrPath,
}

impl Dominant {
    /// Returns the name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::ZeroWindow => "zero-window",
            Self::SlowServer => "slow-server",
            Self::ServerOrPath => "server-or-path",
        }
    }

    /// Returns what took the time, as the end of a sentence.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Loss => "passed before lost data was sent again",
            Self::ZeroWindow => "passed with a closed window: a receiver did not read",
            Self::SlowServer => "passed before the servers answered",
            Self::ServerOrPath => {
                "passed before the servers answered, or on the path to them: without a handshake nothing tells which"
            }
        }
    }
}

impl Sight {
    pub(crate) fn add(&mut self, conversation: &Conversation) {
        let connection = &conversation.flow;
        let [a, b] = &connection.halves;
        let data = u64::from(a.tally.segments) + u64::from(b.tally.segments);
        self.data += data;
        self.alone += u64::from(data == 1 && !a.finished && !b.finished);
        self.lifetime_ns += (connection.last_ns - connection.first.time_ns).max(0);
        if connection.clock_steps > 0 {
            self.clock_steps += data;
        }
        let missed = u64::from(a.tally.missed) + u64::from(b.tally.missed);
        if a.spoke != b.spoke {
            self.one_direction += data;
        } else if missed >= FEW_GAPS && missed * GAPPY_IN > data {
            self.gappy += data;
        }
        let server = &connection.halves[1 - connection.client()];
        self.server_ns += server.tally.answer_ns;
        if !connection.is_rtt_measured() {
            self.server_or_path_ns += server.tally.answer_ns;
        }
        self.timed += u64::from(a.timed() + b.timed());
        let Some(story) = &conversation.story else {
            return;
        };
        self.loss_ns += story.ruled_out.of(Lookalike::Loss).time_ns;
        self.zero_window_ns += story.ruled_out.of(Lookalike::ZeroWindow).time_ns;
        self.relayed += u64::from(story.ruled_out.of(Lookalike::Relay).count);
        for from in 0..2 {
            let held = conversation.unwatched(from);
            self.unwatched += u64::from(held.count);
            self.unwatched_ns += held.time_ns;
        }
    }

    /// Returns what took the most time, with that time in nanoseconds, if it is at least 10 ms and
    /// a third of the connections' lifetimes.
    #[must_use]
    pub fn dominant(&self) -> Option<(Dominant, i64)> {
        let server = match self.server_or_path_ns * 2 > self.server_ns {
            true => Dominant::ServerOrPath,
            false => Dominant::SlowServer,
        };
        let shares = [
            (Dominant::Loss, self.loss_ns),
            (Dominant::ZeroWindow, self.zero_window_ns),
            (server, self.server_ns),
        ];
        let most = shares.into_iter().max_by_key(|(_, ns)| *ns)?;
        (most.1 >= DOMINANT_LEAST_NS && most.1 >= self.lifetime_ns / DOMINANT_IN).then_some(most)
    }
}

impl std::ops::AddAssign<&Sight> for Sight {
    fn add_assign(&mut self, other: &Self) {
        self.data += other.data;
        self.alone += other.alone;
        self.one_direction += other.one_direction;
        self.gappy += other.gappy;
        self.clock_steps += other.clock_steps;
        self.fine_clock |= other.fine_clock;
        self.lifetime_ns += other.lifetime_ns;
        self.loss_ns += other.loss_ns;
        self.zero_window_ns += other.zero_window_ns;
        self.server_ns += other.server_ns;
        self.server_or_path_ns += other.server_or_path_ns;
        self.unwatched += other.unwatched;
        self.unwatched_ns += other.unwatched_ns;
        self.relayed += other.relayed;
        self.timed += other.timed;
    }
}
