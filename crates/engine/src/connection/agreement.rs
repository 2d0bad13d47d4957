//! What both SYNs offered becomes an agreement, which the options of every later segment follow.

use alloc::boxed::Box;

use super::reports::Reports;
use super::{Connection, State};
use crate::options::{Options, SackBlocks};
use crate::sender::Stamp;
use crate::time::Instant;

/// Returns the MSS that a SYN's options offer, in octets. An offer of 0 counts as no offer.
pub(super) fn offered_mss(options: &Options) -> Option<u16> {
    options.mss.filter(|mss| *mss > 0)
}

/// What both SYNs agreed on, for callers that show the state of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Windows beyond 65,535 octets (RFC 7323, section 2).
    pub window_scaling: bool,
    /// Timestamps (RFC 7323, section 3).
    pub timestamps: bool,
    /// SACK blocks (RFC 2018).
    pub sack: bool,
    /// Congestion marks in place of losses (RFC 3168).
    pub ecn: bool,
    /// The peer's queue counters on its pure ACKs (an experimental option).
    pub queue_counters: bool,
}

/// What both SYNs offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Agreed {
    pub(super) window_scaling: bool,
    /// Snd.Wind.Shift (RFC 7323, section 2.3).
    pub(super) send_window_shift: u8,
    pub(super) timestamps: bool,
    pub(super) sack: bool,
    /// RFC 3168.
    pub(super) ecn: bool,
    /// Whether segments other than SYNs may carry options.
    pub(super) every_segment: bool,
}

/// "If a Window Scale option is received with a shift.cnt value larger than 14, the TCP SHOULD log
/// the error but MUST use 14" (RFC 7323, section 2.3).
const GREATEST_SHIFT: u8 = 14;
/// The octets that timestamps take in every segment, padding included (RFC 7323, appendix A).
const TIMESTAMPS_OCTETS: u32 = 12;
/// The octets that SACK blocks take besides the blocks, padding included (RFC 2018, section 3; two
/// NOPs before it).
const SACK_OCTETS: u32 = 4;
const SACK_OCTETS_PER_BLOCK: u32 = 8;
/// One SACK block per this many octets of MSS, so that at least three quarters of a small segment
/// are left for data.
const MSS_PER_BLOCK: usize = 48;

impl Connection {
    /// Returns the options of a SYN. A SYN that answers another repeats only what that one offered
    /// (RFC 7323, section 1.3; RFC 2018, section 2).
    pub(super) fn syn_options(&self, now: Instant) -> Options {
        let answering = self.state == State::SynReceived;
        let wanted = |switch: bool, agreed: bool| switch && (!answering || agreed);
        let (own, both) = (&self.extensions, &self.agreed);
        Options {
            mss: Some(self.receiver.mss()),
            window_scale: wanted(own.window_scaling, both.window_scaling)
                .then(|| self.receiver.wanted_window_shift()),
            sack_permitted: wanted(own.sack.is_some(), both.sack),
            timestamps: wanted(own.timestamps, both.timestamps).then(|| self.timestamps(now)),
            counters_permitted: wanted(own.queue_counters, self.reports.is_some()),
            ..Options::default()
        }
    }

    /// Takes in the `options` that the peer's SYN offers.
    pub(super) fn agree(&mut self, now: Instant, options: &Options) {
        let own = self.extensions;
        if own.window_scaling {
            let shift = options.window_scale;
            self.agreed.window_scaling = shift.is_some();
            self.agreed.send_window_shift = shift.unwrap_or(0).min(GREATEST_SHIFT);
            self.receiver.agree_on_scaling(shift.is_some());
        }
        self.agreed.timestamps = own.timestamps && options.timestamps.is_some();
        if let Some(timestamps) = options.timestamps {
            self.clock.learn(now, timestamps.value);
        }
        let sack = own.sack.filter(|_| options.sack_permitted);
        self.agreed.sack = sack.is_some();
        let both_count = own.queue_counters && options.counters_permitted;
        self.reports = both_count.then(|| Box::new(Reports::new(now)));
        self.stamp = Stamp::default();
        self.agreed.every_segment = self.agreed.timestamps || self.agreed.sack;
        let reports_duplicates = sack.is_some_and(|sack| sack.duplicates);
        self.receiver
            .permit_sack(sack.is_some(), reports_duplicates);
        self.sender.permit_sack(sack.as_ref(), &own);
        let octets = if self.agreed.timestamps {
            TIMESTAMPS_OCTETS
        } else {
            0
        };
        self.sender.set_option_octets(octets);
        self.receiver.expect_segments(offered_mss(options), octets);
    }

    /// Sets the options of segments that leave now.
    #[inline(never)] // most connections of a simulation never come here
    pub(super) fn set_options(&mut self, now: Instant) {
        let timestamps = self.agreed.timestamps.then(|| self.timestamps(now));
        let stamp = &mut self.stamp;
        stamp.options.timestamps = timestamps;
        stamp.options.sack = SackBlocks::NONE;
        stamp.sack_octets = 0;
        if self.receiver.has_sack_news() {
            // Forty octets of options have room for four blocks, or three beside timestamps.
            let room = SackBlocks::MAX - usize::from(self.agreed.timestamps);
            let most = room.min((usize::from(self.receiver.mss()) / MSS_PER_BLOCK).max(1));
            stamp.options.sack = self.receiver.sack_blocks(most);
            stamp.sack_octets =
                SACK_OCTETS + SACK_OCTETS_PER_BLOCK * stamp.options.sack.len() as u32;
        }
    }
}
