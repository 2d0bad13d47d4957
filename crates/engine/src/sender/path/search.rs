//! The search for a larger path MTU (RFC 4821, section 7; RFC 8899, section 5.3.1). Now and then a
//! segment above the MSS leaves among the others. If it arrives, the path takes segments of its size
//! from now on; if it alone is lost, the path does not.
//!
//! The conditions and numbers are Linux's (`tcp_mtu_probe`), which counts segments where this sender
//! counts octets.

use super::{LEAST_MSS, Path};
use crate::extensions::PathMtuSearch;
use crate::offset::{Offset, Span};
use crate::sender::context::Context;
use crate::time::{Duration, Instant};

/// A range that is smaller than this, in octets, is not searched any further (Linux:
/// `tcp_probe_threshold`).
const CLOSE_ENOUGH: u32 = 8;
/// How long after a search began the whole range is searched again, because the path may have
/// changed (RFC 8899, section 5.1.1, PMTU_RAISE_TIMER; Linux: `tcp_probe_interval`).
const AGAIN_AFTER: Duration = Duration::from_secs(600);
/// The least congestion window with which a probe is sent, in segments (Linux).
const LEAST_WINDOW: u64 = 11;
/// The segments that must be able to follow a probe, so that a loss is noticed without a timeout (RFC
/// 4821, section 7.4; Linux: `tcp_reordering` and one).
const FOLLOWERS: u64 = 4;

/// The state of a search. Sizes are those of segments, in octets, options included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathSearch {
    rule: PathMtuSearch,
    /// The largest segment of this side.
    own: u32,
    /// The largest segment that both sides take.
    ceiling: u32,
    /// Whether a router's report or the caller told the MTU of the path before the first segment.
    known: bool,
    /// Whether probes are sent.
    active: bool,
    /// Segments of this size are believed to arrive ("search_low": RFC 4821, section 7.1).
    low: u32,
    /// Larger segments are believed not to arrive ("search_high").
    high: u32,
    /// The data of the probe that is on its way.
    probe: Option<Span>,
    /// When the present search of the whole range began, once its first probe was considered, or a
    /// router's report put off the next one.
    since: Option<Instant>,
}

impl PathSearch {
    pub(crate) fn new(rule: PathMtuSearch, mss: u32) -> Self {
        Self {
            rule,
            own: mss,
            ceiling: mss,
            known: false,
            active: false,
            low: mss,
            high: mss,
            probe: None,
            since: None,
        }
    }

    /// Records that the path is known to take less than this side's largest segment, before anything
    /// is sent.
    pub(crate) fn path_is_known(&mut self) {
        self.known = true;
    }

    /// Begins once it is known what the peer takes. `base` is the rule's size with options. Returns
    /// the largest segment to begin with, if the rule bounds it: what is known of the path counts
    /// more (RFC 4821, section 7.2).
    fn begin(&mut self, theirs: u32, base: u32) -> Option<u32> {
        self.ceiling = self.own.min(theirs);
        self.active = self.rule.from_the_start;
        (self.low, self.high) = (base.min(self.ceiling), self.ceiling);
        (self.probe, self.since) = (None, None);
        (self.active && !self.known).then_some(self.low)
    }

    /// Returns whether probes are sent.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.active
    }

    /// Returns the size of segments without options that is tried when larger ones are lost, in octets.
    pub(crate) fn base_mss(&self) -> u32 {
        self.rule.base_mss.max(LEAST_MSS)
    }

    /// Takes note of a black hole, because of which segments of `size` octets are tried.
    pub(crate) fn fell_to(&mut self, size: u32) {
        self.active = true;
        self.low = self.low.min(size);
        self.probe = None;
    }

    /// Takes note of a router's report that the path takes at most `size` octets. Larger ones are not
    /// tried soon: not within five minutes (RFC 1191, section 6.3; RFC 8201, section 4).
    pub(crate) fn reported(&mut self, now: Instant, size: u32) {
        if size < self.high {
            self.high = size;
            self.since = Some(now);
        }
        self.low = self.low.min(size);
    }

    /// Takes note that the time of a limit is over, without which segments were `size` octets large.
    pub(crate) fn limit_is_over(&mut self, size: u32) {
        self.high = self.high.max(size.min(self.ceiling));
    }

    /// Returns the size of the next probe, if one is wanted beside segments of `current` octets, which
    /// arrive: the middle of the range (RFC 4821, section 7.3, leaves the choice), or of what is left of
    /// it above `current`.
    fn next_size(&mut self, now: Instant, current: u32) -> Option<u32> {
        let since = *self.since.get_or_insert(now);
        if u32::midpoint(self.low, self.high) <= current {
            self.low = self.low.max(current);
        }
        if self.high.saturating_sub(self.low) >= CLOSE_ENOUGH {
            return Some(u32::midpoint(self.low, self.high));
        }
        if now >= since + AGAIN_AFTER {
            self.since = Some(now);
            (self.low, self.high) = (current, self.ceiling);
        }
        None
    }
}

/// What decides about a probe besides the variables of the sender, in octets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prospect {
    /// Whether everything in flight is believed to arrive in order.
    pub(crate) in_order: bool,
    /// What the network is believed to carry.
    pub(crate) in_network: u64,
    pub(crate) cwnd: u64,
    /// What the SACK blocks take in a segment that leaves now.
    pub(crate) sack_octets: u32,
}

/// What the search asks of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Nothing.
    Nothing,
    /// That nothing leaves while the window drains so that a probe fits ("Protocols MAY delay sending
    /// non-probes", RFC 4821, section 7.4).
    Drain,
    /// A probe with this many octets of data.
    Probe(u32),
}

impl Path {
    /// Begins to search, if the rules say so, once it is known that the peer takes `theirs`. Returns
    /// the largest segment to begin with, if it is smaller than the present one.
    pub(crate) fn begin_search(&mut self, theirs: u32) -> Option<u32> {
        let search = self.search.as_mut()?;
        let base = search.base_mss() + self.option_octets;
        let first = search.begin(theirs, base)?;
        (first < self.mss + self.option_octets).then_some(first)
    }

    /// Returns whether the search may ask something of a pass. Most searches never begin.
    #[inline]
    pub(crate) fn is_searched(&self) -> bool {
        self.search.as_ref().is_some_and(|search| search.is_on())
    }

    /// Returns whether a probe is due, and possible now.
    #[cold]
    pub(crate) fn consider_a_probe(&mut self, prospect: &Prospect, context: &Context<'_>) -> Wish {
        let (seq, current) = (context.seq, self.mss + self.option_octets);
        let Some(search) = &mut self.search else {
            return Wish::Nothing;
        };
        let mss = u64::from(self.mss);
        // Section 7.4: "no outstanding probes or losses". SACK blocks would make a segment shorter.
        let quiet = search.probe.is_none()
            && prospect.in_order
            && seq.nxt == seq.max
            && prospect.sack_octets == 0;
        if !quiet || prospect.cwnd < LEAST_WINDOW * mss {
            return Wish::Nothing;
        }
        let Some(size) = search.next_size(context.now, current) else {
            return Wish::Nothing;
        };
        let len = size - self.option_octets;
        let needed = u64::from(len) + FOLLOWERS * mss;
        if seq.unsent() < needed || seq.wnd < needed {
            return Wish::Nothing;
        }
        let fits = seq.nxt + needed <= seq.window_end()
            && prospect.in_network + u64::from(len) <= prospect.cwnd;
        match fits {
            true => Wish::Probe(len),
            // Two full segments are acknowledged at once; less might be waited for until the peer's
            // delayed ACK.
            false if prospect.in_network < 2 * mss => Wish::Nothing,
            false => Wish::Drain,
        }
    }

    /// Records that a probe left with the data of `span`.
    pub(crate) fn probe_left(&mut self, span: Span) {
        if let Some(search) = &mut self.search {
            search.probe = Some(span);
        }
    }

    /// Handles the acknowledgment of everything before `ack`: a probe among it has arrived, so
    /// segments become as large (RFC 4821, section 7.6.1). Returns their new size, if so. The window
    /// has octets and stays.
    #[inline]
    pub(crate) fn judge_probe(&mut self, ack: Offset) -> Option<u64> {
        let search = self.search.as_mut()?;
        let probe = search.probe.filter(|probe| probe.end <= ack)?;
        search.probe = None;
        let len = probe.len() as u32;
        search.low = len + self.option_octets;
        self.mss = len;
        Some(probe.len())
    }

    /// Returns the probe if it was lost and nothing else, and notes that the path does not take its
    /// size. Such a loss is no sign of congestion, so the window stays (RFC 4821, section 7.6.2).
    /// `only_loss` is the start of the only lost segment. Without a scoreboard a loss behind the
    /// probe is not seen.
    pub(crate) fn probe_failed(&mut self, only_loss: Option<Offset>) -> Option<Span> {
        let search = self.search.as_mut()?;
        let probe = search
            .probe
            .filter(|probe| Some(probe.start) == only_loss)?;
        search.probe = None;
        let most = probe.len() as u32 + self.option_octets - 1;
        search.high = search.high.min(most);
        Some(probe)
    }

    /// Takes note of a retransmission. If a probe is on its way, it will tell nothing: what was lost
    /// beside it, or instead of it, may be lost to congestion (RFC 4821, section 7.6.4), and its data
    /// may arrive in another segment.
    pub(crate) fn probe_is_inconclusive(&mut self) {
        if let Some(search) = &mut self.search {
            search.probe = None;
        }
    }
}
