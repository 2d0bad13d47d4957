use core::array::IntoIter;
use core::fmt;
use core::iter::Take;
use core::ops::Deref;

use crate::cost::Cost;

/// The verdict on a capture, a host or a run as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Stalls were found, certain or likely.
    Stalls {
        /// How many.
        count: u64,
        /// Their total cost.
        cost: Cost,
    },
    /// No stall was found, and the capture could have shown one.
    None,
    /// No stall was found, and what was seen could not have shown one.
    CannotTell(Obstacles),
}

impl Verdict {
    /// Returns the name in JSON: `stalls`, `none` or `cannot-tell`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Stalls { .. } => "stalls",
            Self::None => "none",
            Self::CannotTell(_) => "cannot-tell",
        }
    }
}

/// A reason why "no stalls" cannot be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Obstacle {
    /// There was no frame, or none with TCP in it.
    NoTcp,
    /// There was TCP, but the filter let none of it through.
    Filtered,
    /// Data was seen in one direction only, without its ACKs; or only ACKs were seen.
    OneDirection,
    /// Frames were cut off before the end of the TCP header.
    HeadersCut,
    /// The traffic is in tunnels, encrypted or of a sort that is not read.
    Tunnels,
    /// The clock that stamped the frames jumps.
    ClockJumps,
    /// The frames were not stamped by a clock: no time passes, or the same for each frame.
    NoClock,
    /// The clock that stamped the frames is too coarse to tell a delayed ACK.
    CoarseClock,
    /// The capture is cut off or damaged, and could not be read to its end.
    Incomplete,
    /// Too many frames are missing from the capture.
    FramesMissing,
    /// IP fragments hide the TCP headers.
    Fragments,
    /// A link type that is not read.
    LinkType,
    /// A relay may stand between the ends, and what it held cannot be told from what they held.
    Relay,
    /// Messages leave as late as a sender's timer releases what is corked, and as a program does that waits as long.
    Timed,
    /// Connections were seen, but no data, or no more than a segment of each: none lasted long enough to
    /// contain a message and its answer.
    TooShort,
}

/// Obstacles in the order in which they were found, each once.
#[derive(Clone, Copy, Debug)]
pub struct Obstacles {
    all: [Obstacle; Obstacle::ALL.len()],
    count: usize,
}

impl Default for Obstacles {
    fn default() -> Self {
        Self {
            all: Obstacle::ALL,
            count: 0,
        }
    }
}

impl Deref for Obstacles {
    type Target = [Obstacle];

    fn deref(&self) -> &[Obstacle] {
        &self.all[..self.count]
    }
}

impl IntoIterator for Obstacles {
    type Item = Obstacle;
    type IntoIter = Take<IntoIter<Obstacle, { Obstacle::ALL.len() }>>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.into_iter().take(self.count)
    }
}

impl PartialEq for Obstacles {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Obstacles {}

impl FromIterator<Obstacle> for Obstacles {
    fn from_iter<I: IntoIterator<Item = Obstacle>>(obstacles: I) -> Self {
        let mut found = Self::default();
        for obstacle in obstacles {
            if !found.contains(&obstacle) {
                found.all[found.count] = obstacle;
                found.count += 1;
            }
        }
        found
    }
}

impl Obstacle {
    /// All obstacles.
    pub const ALL: [Self; 15] = [
        Self::NoTcp,
        Self::Filtered,
        Self::OneDirection,
        Self::HeadersCut,
        Self::Tunnels,
        Self::ClockJumps,
        Self::NoClock,
        Self::CoarseClock,
        Self::Incomplete,
        Self::FramesMissing,
        Self::Fragments,
        Self::LinkType,
        Self::Relay,
        Self::Timed,
        Self::TooShort,
    ];

    /// Returns the name in JSON, for example `one-direction`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.texts().0
    }

    /// Returns the reason as the end of a sentence: "cannot tell, because ...".
    #[must_use]
    pub fn reason(self) -> &'static str {
        self.texts().1
    }

    /// Returns what to do about it.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        self.texts().2
    }

    fn texts(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::NoTcp => (
                "no-tcp",
                "no frame holds a TCP segment",
                "capture where the connection passes, with the filter `tcp`",
            ),
            Self::Filtered => (
                "filtered",
                "no TCP segment passes the filter",
                "look at another host, port or time, or at all of the capture",
            ),
            Self::OneDirection => (
                "one-direction",
                "the capture shows only one direction of the connections that carry most of the data",
                "mirror both directions of the port, or capture on one of the hosts",
            ),
            Self::HeadersCut => (
                "headers-cut",
                "frames are cut off before the end of the TCP header",
                "capture at least 96 bytes of each frame: tcpdump -s 96",
            ),
            Self::Tunnels => (
                "tunnels",
                "the traffic is in tunnels that are not read",
                "capture inside the tunnel, or at its ends",
            ),
            Self::ClockJumps => (
                "clock-jumps",
                "the clock that stamped the frames jumps",
                "capture on one host, on one interface, without changing its clock",
            ),
            Self::NoClock => (
                "no-clock",
                "the time stamps are no clock's: all are equal, or each is the same step after the one before",
                "capture the traffic itself, or rewrite captures with a program that keeps the time stamps",
            ),
            Self::CoarseClock => (
                "coarse-clock",
                "the frames are stamped too coarsely to tell a delayed ACK",
                "capture with microseconds: tcpdump's default",
            ),
            Self::Incomplete => (
                "incomplete",
                "the capture is cut off or damaged, and what follows could not be read",
                "copy or download it again after its capture has ended (SIGINT, not SIGKILL, ends tcpdump whole)",
            ),
            Self::FramesMissing => (
                "frames-missing",
                "too many frames are missing from the capture",
                "capture less (a filter, -s 96) or with a larger buffer: tcpdump -B 65536",
            ),
            Self::Fragments => (
                "fragments",
                "IP fragments hide the TCP headers",
                "capture on one of the hosts, where segments are whole",
            ),
            Self::LinkType => (
                "link-type",
                "the link type is not read",
                "capture on an Ethernet, cooked (`-i any`) or IP interface",
            ),
            Self::Relay => (
                "relay",
                "a relay may stand between the ends: what it held looks the same as what they held",
                "capture on the host at the far end, or beyond the relay",
            ),
            Self::Timed => (
                "timed",
                "messages leave 200 ms after what they answer, time after time: a program may pause as long, or a cork (TCP_CORK, MSG_MORE) may hold them until its timer ends",
                "run tinygram watch on the sending host, where the kernel tells the two apart",
            ),
            Self::TooShort => (
                "too-short",
                "no connection is long enough to hold a message and its answer",
                "capture for longer, from the beginning of the connections",
            ),
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}
