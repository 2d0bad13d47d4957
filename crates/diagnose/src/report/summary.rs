//! The result of an analysis, as data: the report, and its totals.

use tinygram_stalls::thresholds::MANY_TIMES;
use tinygram_stalls::{Cost, Kind, Obstacle, Obstacles, Tier, Verdict};
use tinygram_wire::decode::Unread;

use super::connections::ConnectionReport;
use super::sight::{Sight, Stamps};
use crate::findings::finding::Finding;

/// Everything found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Totals; exact even if details were dropped.
    pub summary: Summary,
    /// Connections in order of appearance; beyond the limit only those with findings.
    pub connections: Vec<ConnectionReport>,
    /// Findings in order of discovery.
    pub findings: Vec<Finding>,
    /// The story of the frame that was asked about, a line each; empty if none was.
    pub explanation: Vec<String>,
}

impl Report {
    /// Adds to the number of each connection, so that several captures in one report can count on.
    pub fn count_on(&mut self, first: u32) {
        for connection in &mut self.connections {
            connection.id += first;
        }
        for finding in &mut self.findings {
            finding.connection += first;
        }
    }
}

/// Totals over the capture.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Frames read.
    pub frames: u64,
    /// TCP segments read.
    pub segments: u64,
    /// Connections seen; a reused four-tuple counts as a new connection.
    pub connections: u32,
    /// Stalls, certain or likely.
    pub stalls: u64,
    /// The cost of the stalls, in nanoseconds.
    pub cost_ns: i64,
    /// Floods.
    pub floods: u64,
    /// Stalls that are merely possible.
    pub possible: u64,
    /// What the possible stalls would have cost, in nanoseconds.
    pub possible_ns: i64,
    /// What the capture could have shown.
    pub sight: Sight,
    /// Whether the frames were stamped by a clock.
    pub stamps: Stamps,
    /// Frames of which no segment was read, by reason.
    pub unseen: Unseen,
    /// Findings that were counted but not kept.
    pub dropped_findings: u64,
    /// Whether reading ended before the capture did: it is cut off or damaged.
    pub incomplete: bool,
    /// Whether only some kinds of findings were asked for.
    pub some_kinds: bool,
    /// Connections that were counted but not listed.
    pub unlisted_connections: u64,
    /// The time of the first frame of any sort, in nanoseconds since the epoch.
    pub first_frame_ns: i64,
    /// The time of the first segment, in nanoseconds since the epoch.
    pub first_ns: i64,
    /// The time of the last segment, in nanoseconds since the epoch.
    pub last_ns: i64,
}

impl Summary {
    /// Returns the verdict on the capture as a whole.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        if self.stalls > 0 {
            return Verdict::Stalls {
                count: self.stalls,
                cost: Cost::time(self.cost_ns),
            };
        }
        let obstacles = self.obstacles();
        match obstacles.is_empty() {
            true => Verdict::None,
            false => Verdict::CannotTell(obstacles),
        }
    }

    /// Returns what prevented most of the capture from showing a stall.
    #[must_use]
    pub fn obstacles(&self) -> Obstacles {
        let (unseen, sight) = (&self.unseen, &self.sight);
        if self.segments == 0 && unseen.filtered > 0 {
            return [Obstacle::Filtered].into_iter().collect();
        }
        if self.segments == 0 {
            let reasons = [
                (Obstacle::LinkType, unseen.link_type),
                (Obstacle::HeadersCut, unseen.cut),
                (Obstacle::Fragments, unseen.fragments),
                (Obstacle::Tunnels, unseen.tunnels),
            ];
            let most = reasons
                .into_iter()
                .filter(|(_, n)| *n > 0)
                .max_by_key(|(_, n)| *n);
            let reason = most.map_or(Obstacle::NoTcp, |(obstacle, _)| obstacle);
            return [reason].into_iter().collect();
        }
        let hidden = unseen.link_type + unseen.cut + unseen.fragments + unseen.tunnels;
        let frames = self.segments + hidden;
        let clock = self.has_clock();
        let jumps = clock && sight.clock_steps * 2 > sight.data;
        let coarse = clock && !sight.fine_clock && self.segments >= MANY_TIMES;
        [
            (Obstacle::LinkType, unseen.link_type * 2 > frames),
            (Obstacle::HeadersCut, unseen.cut * 2 > frames),
            (Obstacle::Fragments, unseen.fragments * 2 > frames),
            (Obstacle::Tunnels, unseen.tunnels * 2 > frames),
            (Obstacle::TooShort, sight.data == sight.alone),
            (Obstacle::OneDirection, sight.one_direction * 2 > sight.data),
            (Obstacle::Incomplete, self.incomplete),
            (Obstacle::FramesMissing, sight.gappy * 2 > sight.data),
            (Obstacle::NoClock, !clock),
            (Obstacle::ClockJumps, jumps),
            (Obstacle::CoarseClock, coarse),
            (Obstacle::Relay, clock && sight.relayed > 0),
            (Obstacle::Timed, clock && sight.timed > 0),
        ]
        .into_iter()
        .filter(|(_, holds)| *holds)
        .map(|(obstacle, _)| obstacle)
        .collect()
    }

    /// Returns whether the frames so far were stamped by a clock. Otherwise no finding means anything.
    #[must_use]
    pub fn has_clock(&self) -> bool {
        !self.stamps.count(self.frames)
    }

    /// Forgets what was concluded from times that no clock has told.
    pub(crate) fn forget_times(&mut self) {
        (self.stalls, self.cost_ns, self.floods) = (0, 0, 0);
        (self.possible, self.possible_ns, self.dropped_findings) = (0, 0, 0);
        let sight = &mut self.sight;
        (sight.loss_ns, sight.zero_window_ns) = (0, 0);
        (sight.server_ns, sight.server_or_path_ns) = (0, 0);
        (sight.unwatched, sight.unwatched_ns, sight.relayed) = (0, 0, 0);
    }

    pub(crate) fn count(&mut self, finding: &Finding) {
        match (finding.kind, finding.tier()) {
            // Twice the packets is a remark.
            (Kind::TinygramFlood, tier) => self.floods += u64::from(tier.accuses()),
            (_, Tier::Possible) => {
                self.possible += 1;
                self.possible_ns += finding.cost_ns;
            }
            (_, Tier::Likely | Tier::Certain) => {
                self.stalls += 1;
                self.cost_ns += finding.cost_ns;
            }
        }
    }

    /// Takes back a stall that was counted and accuses.
    pub(crate) fn take_back(&mut self, finding: &Finding) {
        self.stalls -= 1;
        self.cost_ns -= finding.cost_ns;
    }

    /// Takes back a stall that was counted, whatever its tier.
    pub(crate) fn forget(&mut self, finding: &Finding) {
        match finding.tier().accuses() {
            true => self.take_back(finding),
            false => {
                self.possible -= 1;
                self.possible_ns -= finding.cost_ns;
            }
        }
    }
}

/// Frames of which no segment was read, counted by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    /// Frames of a link type that is not supported.
    pub link_type: u64,
    /// Frames cut off before the end of the TCP header.
    pub cut: u64,
    /// IP fragments.
    pub fragments: u64,
    /// Frames in tunnels that are not supported.
    pub tunnels: u64,
    /// QUIC packets.
    pub quic: u64,
    /// Frames without TCP.
    pub no_tcp: u64,
    /// TCP segments that the filter leaves out.
    pub filtered: u64,
}

impl Unseen {
    /// Counts a frame of which no segment was read.
    pub(crate) fn note(&mut self, unread: Unread) {
        *match unread {
            Unread::LinkType => &mut self.link_type,
            Unread::Cut => &mut self.cut,
            Unread::Fragment => &mut self.fragments,
            Unread::Tunnel => &mut self.tunnels,
            Unread::Quic => &mut self.quic,
            Unread::NoTcp => &mut self.no_tcp,
        } += 1;
    }
}

impl std::ops::AddAssign<&Unseen> for Unseen {
    fn add_assign(&mut self, other: &Self) {
        self.link_type += other.link_type;
        self.cut += other.cut;
        self.fragments += other.fragments;
        self.tunnels += other.tunnels;
        self.quic += other.quic;
        self.no_tcp += other.no_tcp;
        self.filtered += other.filtered;
    }
}

impl std::ops::AddAssign<&Summary> for Summary {
    fn add_assign(&mut self, other: &Self) {
        if other.segments > 0 {
            self.first_ns = match self.segments {
                0 => other.first_ns,
                _ => self.first_ns.min(other.first_ns),
            };
            self.last_ns = match self.segments {
                0 => other.last_ns,
                _ => self.last_ns.max(other.last_ns),
            };
        }
        self.frames += other.frames;
        self.segments += other.segments;
        self.connections += other.connections;
        self.stalls += other.stalls;
        self.cost_ns += other.cost_ns;
        self.floods += other.floods;
        self.possible += other.possible;
        self.possible_ns += other.possible_ns;
        self.unseen += &other.unseen;
        self.sight += &other.sight;
        self.incomplete |= other.incomplete;
        self.some_kinds |= other.some_kinds;
        self.dropped_findings += other.dropped_findings;
        self.unlisted_connections += other.unlisted_connections;
    }
}
