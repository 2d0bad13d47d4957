//! What the handshake and the acknowledgments tell of the path to the receiver, and of its timer.

use std::num::NonZeroU16;

use tinygram_stalls::thresholds::{LATE_ACK_NS, ONE_MEASURE_BLURS_IN, TWO_MEASURES_BLUR_IN};

use super::numeric::{saturate, smooth};

/// The way from the capture point to the receiver, and what the receiver said of itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// The shortest time from data to its acknowledgment, and the handshake's, in nanoseconds; the largest number if
    /// there was none.
    pub(crate) ack_min_ns: u32,
    pub(crate) handshake_ns: u32,
    /// A typical time of acknowledgments that RFC 1122 does not let wait (two full segments and more).
    pub(crate) prompt_ns: u32,
    /// Typical wait of pure acknowledgments that came late.
    pub(crate) delayed_ns: u32,
    /// Time that the receiver's link takes for a byte, in 1/16 ns, by the ACKs within flights.
    pub(crate) pace: u32,
    /// The MSS of the sender's SYN, in bytes; `None` if none was seen.
    pub(crate) mss_option: Option<NonZeroU16>,
    /// Time to live of its SYN; 0 if none was seen.
    pub(crate) ttl: u8,
    /// What the receiver's times to live tell of who answered the handshake.
    pub(crate) answered_by: AnsweredBy,
}

/// Who answered the handshake, by the times to live: each router takes one off (RFC 791, section 3.2), so two hosts
/// on a path seldom send the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AnsweredBy {
    /// No SYN of the receiver was seen, or no ACK.
    #[default]
    Unknown,
    /// All of the receiver's ACKs came from as far away as its SYN.
    Receiver,
    /// An ACK came from another distance than the SYN.
    Another,
}

impl Default for Path {
    fn default() -> Self {
        Self {
            ack_min_ns: u32::MAX,
            handshake_ns: u32::MAX,
            prompt_ns: 0,
            delayed_ns: 0,
            pace: 0,
            mss_option: None,
            ttl: 0,
            answered_by: AnsweredBy::Unknown,
        }
    }
}

impl Path {
    /// Notes how long the handshake took between the capture point and the receiver.
    pub(crate) fn measured(&mut self, ns: i64) {
        self.handshake_ns = saturate(ns);
    }

    /// Notes the times to live of the receiver's SYN, 0 if none was seen, and of an ACK of its.
    #[inline]
    pub(crate) fn came_from(&mut self, syn_ttl: u8, ack_ttl: u8) {
        self.answered_by = match self.answered_by {
            AnsweredBy::Another => return,
            _ if syn_ttl == 0 => return,
            _ if syn_ttl == ack_ttl => AnsweredBy::Receiver,
            _ => AnsweredBy::Another,
        };
    }

    /// Returns the MSS of the sender's SYN, in bytes; 0 if none was seen.
    pub(crate) fn offered_mss(&self) -> u16 {
        self.mss_option.map_or(0, NonZeroU16::get)
    }

    /// Returns whether a handshake has measured the way.
    pub(crate) fn is_measured(&self) -> bool {
        self.handshake_ns != u32::MAX
    }

    /// Notes the time between two ACKs of one flight, which both came behind its last segment: the link carried so many
    /// bytes in it. The shortest time for a byte counts, because what came slower waited for something else.
    pub(super) fn carried(&mut self, bytes: i64, ns: i64) {
        let per_byte = ns.saturating_mul(16) / bytes;
        self.pace = match self.pace {
            0 => saturate(per_byte),
            fastest => fastest.min(saturate(per_byte)),
        };
    }

    /// Returns how long the link takes for so many bytes, in nanoseconds; 0 if nothing tells.
    pub(crate) fn carries_ns(&self, bytes: i64) -> i64 {
        bytes * i64::from(self.pace) / 16
    }

    /// Notes that everything in flight was acknowledged after this time. If it `may_not_wait`, no receiver delays such
    /// an ACK.
    pub(super) fn acknowledged(&mut self, wait_ns: i64, may_not_wait: bool) {
        self.ack_min_ns = self.ack_min_ns.min(saturate(wait_ns));
        if may_not_wait {
            self.prompt_ns = smooth(self.prompt_ns, wait_ns);
        }
    }

    /// Notes an ACK without data that came late.
    pub(super) fn delayed(&mut self, wait_ns: i64) {
        self.delayed_ns = smooth(self.delayed_ns, wait_ns);
    }

    /// Returns the way from the capture point to the receiver and back, in nanoseconds, if anything tells.
    pub(crate) fn receiver_distance_ns(&self) -> Option<i64> {
        match self.ack_min_ns.min(self.handshake_ns) {
            // Unknown, or more than the field holds: no way is that long.
            0xffff_fffe.. => None,
            ns => Some(i64::from(ns)),
        }
    }

    /// Returns whether an ACK that took this long came as soon as the path allows, which only a handshake tells.
    pub(super) fn is_prompt(&self, wait_ns: i64) -> bool {
        self.is_measured() && wait_ns - self.receiver_distance_ns().unwrap_or(0) < LATE_ACK_NS
    }

    /// Returns how far queues on the way blur the round trip to the receiver: as far as its two measures
    /// differ and a little more, or by a quarter where there is only one.
    pub(crate) fn blur_ns(&self) -> i64 {
        let distance_ns = self.receiver_distance_ns().unwrap_or(0);
        match (self.handshake_ns, self.ack_min_ns) {
            (u32::MAX, _) | (_, u32::MAX) => distance_ns / ONE_MEASURE_BLURS_IN,
            (a, b) => (i64::from(a.abs_diff(b)) + distance_ns / TWO_MEASURES_BLUR_IN)
                .min(distance_ns / ONE_MEASURE_BLURS_IN),
        }
    }
}
