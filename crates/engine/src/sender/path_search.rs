//! The search for a larger path MTU (RFC 4821, section 7; RFC 8899, section 5.3.1). Now and then a
//! segment above the MSS leaves among the others. If it arrives, the path takes segments of its size
//! from now on; if it alone is lost, the path does not.
//!
//! The conditions and numbers are Linux's (`tcp_mtu_probe`), which counts segments where this sender
//! counts octets.

use super::send_policy::Because;
use super::{LEAST_MSS, Sender, Stamp};
use crate::extensions::PathMtuSearch;
use crate::offset::{Offset, Span};
use crate::outbox::Outbox;
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
pub(super) struct PathSearch {
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
    pub(super) fn new(rule: PathMtuSearch, mss: u32) -> Self {
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
    pub(super) fn path_is_known(&mut self) {
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
    pub(super) fn is_on(&self) -> bool {
        self.active
    }

    /// Returns the size of segments without options that is tried when larger ones are lost, in octets.
    pub(super) fn base_mss(&self) -> u32 {
        self.rule.base_mss.max(LEAST_MSS)
    }

    /// Takes note of a black hole, because of which segments of `size` octets are tried.
    pub(super) fn fell_to(&mut self, size: u32) {
        self.active = true;
        self.low = self.low.min(size);
        self.probe = None;
    }

    /// Takes note of a router's report that the path takes at most `size` octets. Larger ones are not
    /// tried soon: not within five minutes (RFC 1191, section 6.3; RFC 8201, section 4).
    pub(super) fn reported(&mut self, now: Instant, size: u32) {
        if size < self.high {
            self.high = size;
            self.since = Some(now);
        }
        self.low = self.low.min(size);
    }

    /// Takes note that the time of a limit is over, without which segments were `size` octets large.
    pub(super) fn limit_is_over(&mut self, size: u32) {
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

impl Sender {
    /// Begins to search, if the rules say so, once it is known what the peer takes.
    pub(super) fn begin_path_search(&mut self, theirs: u32) {
        let options = self.option_octets;
        let Some(search) = &mut self.path_search else {
            return;
        };
        let base = search.base_mss() + options;
        if let Some(first) = search.begin(theirs, base)
            && first < self.vars.mss + options
        {
            self.set_mss(first);
        }
    }

    /// Sends a probe if the search is on, and one is due and possible. Returns whether the pass goes on:
    /// nothing leaves while the window drains so that a probe fits ("Protocols MAY delay sending
    /// non-probes", RFC 4821, section 7.4).
    #[cold]
    pub(super) fn search_the_path(&mut self, stamp: &Stamp, out: &mut Outbox) -> bool {
        let in_order = self.arrives_in_order();
        let in_network = self.in_network();
        let (vars, options) = (&self.vars, self.option_octets);
        let Some(search) = &mut self.path_search else {
            return true;
        };
        let mss = u64::from(vars.mss);
        // Section 7.4: "no outstanding probes or losses". SACK blocks would make a segment shorter.
        let quiet =
            search.probe.is_none() && in_order && vars.nxt == vars.max && stamp.sack_octets == 0;
        if !quiet || vars.cwnd < LEAST_WINDOW * mss {
            return true;
        }
        let Some(size) = search.next_size(vars.now, vars.mss + options) else {
            return true;
        };
        let len = size - options;
        let needed = u64::from(len) + FOLLOWERS * mss;
        if vars.written.since(vars.nxt) < needed || vars.wnd < needed {
            return true;
        }
        let fits =
            vars.nxt + needed <= vars.una + vars.wnd && in_network + u64::from(len) <= vars.cwnd;
        if !fits {
            // Two full segments are acknowledged at once; less might be waited for until the peer's
            // delayed ACK.
            return in_network < 2 * mss;
        }
        let start = vars.nxt;
        let Some((len, because)) = self.in_its_turn(len, Because::Full) else {
            return false;
        };
        self.send_one(len, because, stamp, out);
        if let Some(search) = &mut self.path_search {
            search.probe = Some(Span::new(start, start + u64::from(len)));
        }
        true
    }

    /// Handles the acknowledgment of everything before `ack`: a probe among it has arrived, so
    /// segments become as large (RFC 4821, section 7.6.1). The window has octets and stays.
    pub(super) fn judge_path_probe(&mut self, ack: Offset) {
        if let Some(search) = &mut self.path_search
            && let Some(probe) = search.probe.filter(|probe| probe.end <= ack)
        {
            search.probe = None;
            let len = probe.len() as u32;
            search.low = len + self.option_octets;
            self.vars.mss = len;
            self.initial_cwnd = self.initial_cwnd.max(probe.len());
        }
    }

    /// Returns the probe if it was lost and nothing else, and notes that the path does not take its
    /// size. Such a loss is no sign of congestion, so the window stays (RFC 4821, section 7.6.2).
    /// Without a scoreboard a loss behind the probe is not seen.
    pub(super) fn path_probe_failed(&mut self) -> Option<Span> {
        let lost = self.only_loss();
        let options = self.option_octets;
        let search = self.path_search.as_mut()?;
        let probe = search.probe.filter(|probe| Some(probe.start) == lost)?;
        search.probe = None;
        search.high = search.high.min(probe.len() as u32 + options - 1);
        Some(probe)
    }

    /// Takes note of a retransmission. If a probe is on its way, it will tell nothing: what was lost
    /// beside it, or instead of it, may be lost to congestion (RFC 4821, section 7.6.4), and its data
    /// may arrive in another segment.
    pub(super) fn path_probe_is_inconclusive(&mut self) {
        if let Some(search) = &mut self.path_search {
            search.probe = None;
        }
    }

    /// Returns whether everything in flight is believed to arrive in order.
    fn arrives_in_order(&self) -> bool {
        match &self.selective {
            Some(selective) => selective.is_open() && selective.board.sacked_segments() == 0,
            None => self.recovery.is_quiet(),
        }
    }

    /// Returns the octets that the network is believed to carry.
    fn in_network(&self) -> u64 {
        match &self.selective {
            Some(selective) => selective.board.pipe(),
            None => self.vars.outstanding(),
        }
    }

    /// Returns the start of the only segment that is deemed lost, if no other loss is being repaired.
    fn only_loss(&self) -> Option<Offset> {
        let Some(selective) = &self.selective else {
            return Some(self.vars.una);
        };
        let alone = selective.is_open() && selective.board.lost_segments() == 1;
        let lost = selective.board.first_lost().filter(|_| alone);
        lost.map(|span| span.start)
    }
}
