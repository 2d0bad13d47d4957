//! What the path to the peer takes: the largest segment.

mod black_hole;
mod limit;
mod search;

use alloc::boxed::Box;

use super::config::SenderConfig;
use crate::extensions::Extensions;
use crate::time::{Duration, Instant};
use limit::PathLimit;
use search::PathSearch;

pub(crate) use search::{Prospect, Wish};

/// The MSS of a peer that sends no MSS option, in octets (RFC 9293, section 3.7.1, for IPv4).
const MSS_WITHOUT_OPTION: u32 = 536;

/// The least MSS that is used, in octets, even if the peer offers less: an MSS of a few octets
/// would cut every write into as many segments (CVE-2019-11479; Linux: `tcp_min_snd_mss`).
pub(super) const LEAST_MSS: u32 = 48;

/// How long a router's report holds (RFC 1191, section 6.3; RFC 8201, section 4: ten minutes).
const LIFE: Duration = Duration::from_secs(600);

/// The largest segment and what changes it, in octets.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// The largest data in a segment.
    pub(super) mss: u32,
    /// The largest segment to send before the peer's SYN has lowered it.
    own_mss: u32,
    /// What options take in every segment.
    pub(super) option_octets: u32,
    pub(super) black_hole_detection: bool,
    /// Whether a router's report holds for a time only.
    mss_expires: bool,
    /// What a router's report ended, if it may return.
    pub(super) limit: Option<Box<PathLimit>>,
    /// The search for a larger path MTU.
    pub(super) search: Option<Box<PathSearch>>,
}

impl Path {
    pub(super) fn new(config: &SenderConfig, extensions: &Extensions) -> Self {
        Self {
            mss: config.mss,
            own_mss: config.mss,
            option_octets: 0,
            black_hole_detection: extensions.detects_black_holes(),
            mss_expires: extensions.path_mss_expires,
            limit: None,
            search: extensions
                .path_mtu_search
                .map(|rule| Box::new(PathSearch::new(rule, config.mss))),
        }
    }

    /// Returns the largest segment before the peer's SYN has lowered it.
    pub(super) fn own_mss(&self) -> u32 {
        self.own_mss
    }

    /// Returns the data that a segment with `sack_octets` of SACK blocks carries (RFC 6691, section
    /// 2).
    #[inline]
    pub(super) fn segment_size(&self, sack_octets: u32) -> u32 {
        self.mss.saturating_sub(sack_octets).max(1)
    }

    /// Sets the largest segment, options and data.
    pub(super) fn set_largest(&mut self, with_options: u32) {
        self.mss = with_options.saturating_sub(self.option_octets).max(1);
    }

    /// Takes in the peer's MSS option, if it sent one (RFC 9293, section 3.7.1). Returns the largest
    /// segment that the peer takes.
    pub(super) fn learn_theirs(&mut self, offered: Option<u16>) -> u32 {
        let theirs = offered.map_or(MSS_WITHOUT_OPTION, u32::from).max(LEAST_MSS);
        if let Some(limit) = &mut self.limit {
            limit.bound(theirs);
        }
        theirs
    }

    /// Limits segments to `mss` octets, options included, up to `until`. Called before the
    /// handshake. Returns the largest segment before, if it was larger.
    pub(super) fn limit_before_the_syn(&mut self, mss: u32, until: Instant) -> Option<u32> {
        let before = self.own_mss;
        if mss >= before {
            return None;
        }
        self.remember_the_limit(before, until);
        if let Some(search) = &mut self.search {
            search.path_is_known();
        }
        self.own_mss = mss.max(1);
        self.mss = self.own_mss;
        Some(before)
    }

    /// Takes in a router's report that the path takes segments of at most `mss` octets, options
    /// included. Returns whether segments became smaller.
    pub(super) fn learn_report(&mut self, mss: u32, now: Instant) -> bool {
        if let Some(search) = &mut self.search {
            search.reported(now, mss);
        }
        let before = self.mss;
        let mss = mss.saturating_sub(self.option_octets).max(1);
        if mss >= before {
            return false;
        }
        self.remember_the_limit(before + self.option_octets, now + LIFE);
        self.mss = mss;
        // The data of a probe may leave again in smaller segments, and its ACK would be theirs.
        self.probe_is_inconclusive();
        true
    }

    fn remember_the_limit(&mut self, before: u32, until: Instant) {
        if self.mss_expires && until < Instant::FAR_FUTURE {
            let mss = self.limit.as_ref().map_or(before, |old| old.mss());
            self.limit = Some(Box::new(PathLimit::new(until, mss)));
        }
    }

    /// Tries larger segments again, if the time of a router's report is over. If the path still
    /// does not take them, the next report says so. A search that is on tries them by probes alone.
    /// Returns the new size, if it grew, which the window must hold.
    #[inline]
    pub(super) fn mind_the_limit(&mut self, now: Instant) -> Option<u64> {
        match &self.limit {
            Some(limit) if limit.is_over(now) => self.lift_the_limit(),
            _ => None,
        }
    }

    #[cold]
    fn lift_the_limit(&mut self) -> Option<u64> {
        let limit = self.limit.take()?;
        if let Some(search) = self.search.as_mut().filter(|it| it.is_on()) {
            search.limit_is_over(limit.mss());
            return None;
        }
        let mss = limit.mss().saturating_sub(self.option_octets);
        self.mss = self.mss.max(mss);
        Some(self.mss.into())
    }
}
