//! One direction of a connection: the data one host sends, and how the other acknowledges it.

use crate::odds::Odds;
use tinygram_wire::decode::{Flags, Segment};

/// A moment in the capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Frame number, counted over all files of the run.
    pub frame: u64,
    /// Nanoseconds since the epoch.
    pub time_ns: i64,
}

/// The sender's side of one direction, as far as the capture shows it. Kept small: a capture may
/// hold hundreds of thousands of connections open at once.
#[derive(Clone, Debug)]
pub(crate) struct Half {
    /// Sequence number after the last byte sent.
    pub(crate) next: u32,
    /// Sequence number after the last byte acknowledged.
    pub(crate) acked: u32,
    /// End of the last segment below the MSS: Minshall's variable.
    pub(crate) short_end: u32,
    /// Receive window this sender advertises to its peer, in bytes.
    pub(crate) window: u32,
    /// Length of the last data segment, in bytes.
    pub(crate) last_len: u32,
    /// Bytes and MSS-sized units sent since everything was last acknowledged.
    pub(crate) flight: u32,
    pub(crate) flight_segments: u32,
    /// The flight that the last acknowledgement completed, in bytes.
    pub(crate) released_flight: u32,
    /// The largest flight and the largest segment so far, in bytes.
    pub(crate) peak_flight: u32,
    pub(crate) max_len: u32,
    /// The last new data sent.
    pub(crate) sent: Mark,
    /// The acknowledgement that last moved `acked`.
    pub(crate) release: Release,
    /// The shortest time from data to its acknowledgement; the handshake's; and a typical one of
    /// acknowledgements that RFC 1122 does not let wait (two full segments and more).
    pub(crate) ack_min_ns: u32,
    pub(crate) handshake_ns: u32,
    pub(crate) prompt_ns: u32,
    /// Typical wait of pure acknowledgements that came late.
    pub(crate) delayed_ns: u32,
    pub(crate) tally: Tally,
    pub(crate) odds: Odds,
    pub(crate) mss_option: u16,
    pub(crate) window_scale: Option<u8>,
    /// What the sender's run of data began with.
    pub(crate) turn: Turn,
    /// Any segment of this sender was seen, so `next` is known.
    pub(crate) seen: bool,
    /// The peer sent data after this sender's last data.
    pub(crate) peer_spoke: bool,
    /// Loss, reordering or a gap in the capture since the last new data.
    pub(crate) disturbed: bool,
    pub(crate) timestamps: bool,
    pub(crate) pushed: bool,
    pub(crate) finished: bool,
    /// The first flight after an idle period is under way (RFC 5681, section 4.1).
    pub(crate) restarted: bool,
    /// A short segment of the last flight left while small data was unacknowledged.
    pub(crate) flight_defied: bool,
}

/// What kind of acknowledgement last arrived, seen from the data sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Release {
    pub(crate) mark: Mark,
    /// From the last data sent to this acknowledgement.
    pub(crate) wait_ns: i64,
    /// Bytes the receiver's window still allowed before this acknowledgement.
    pub(crate) room: u32,
    /// The acknowledgement's own timestamp value.
    pub(crate) stamp: Option<u32>,
    /// It acknowledged all that was sent, and carried nothing else.
    pub(crate) pure: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) bytes: u64,
    pub(crate) segments: u32,
    pub(crate) short: u32,
    pub(crate) retransmitted: u32,
    /// Short segments sent while a short one was unacknowledged: neither Nagle nor Minshall.
    pub(crate) defied: u32,
    /// Short segments sent while only full ones were: Minshall, or BSD's idle per pass.
    pub(crate) past_full: u32,
    /// Short segments that could have shared one with the previous; and runs of them.
    pub(crate) mergeable: u32,
    pub(crate) mergeable_bytes: u64,
    pub(crate) runs: u32,
    /// Pure acknowledgements of this data and the MSS-sized units they covered.
    pub(crate) acks: u32,
    pub(crate) acked_segments: u32,
    pub(crate) delayed_acks: u32,
    /// Turns begun after the peer spoke, and on the sender's own clock.
    pub(crate) answers: u32,
    pub(crate) self_clocked: u32,
    /// Late acknowledgements after which the sender took its own time, and that time.
    pub(crate) thoughts: u32,
    pub(crate) thought_ns: i64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing sent yet.
    #[default]
    None,
    /// First data, or data after the peer's.
    Answer,
    /// Data after a pause of the sender's own.
    SelfClocked,
}

/// How a data segment continues what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    InOrder,
    /// The capture begins with it, or misses what came before.
    Hole,
    Retransmission,
    /// The same frame again, captured twice.
    Copy,
    KeepAlive,
}

impl Default for Half {
    fn default() -> Self {
        Self {
            next: 0,
            acked: 0,
            short_end: 0,
            window: u32::MAX,
            last_len: 0,
            flight: 0,
            flight_segments: 0,
            released_flight: 0,
            peak_flight: 0,
            max_len: 0,
            sent: Mark::default(),
            release: Release::default(),
            ack_min_ns: u32::MAX,
            handshake_ns: u32::MAX,
            prompt_ns: 0,
            delayed_ns: 0,
            tally: Tally::default(),
            odds: Odds::default(),
            mss_option: 0,
            window_scale: None,
            turn: Turn::None,
            seen: false,
            peer_spoke: false,
            disturbed: false,
            timestamps: false,
            pushed: false,
            finished: false,
            restarted: false,
            flight_defied: false,
        }
    }
}

impl Half {
    /// Everything sent is acknowledged.
    #[inline]
    pub(crate) fn idle(&self) -> bool {
        self.acked == self.next
    }

    /// From the capture point to the receiver and back, in nanoseconds, if anything tells.
    pub(crate) fn receiver_distance_ns(&self) -> Option<i64> {
        match self.ack_min_ns.min(self.handshake_ns) {
            u32::MAX => None,
            ns => Some(i64::from(ns)),
        }
    }

    #[inline]
    pub(crate) fn arrival(&self, segment: &Segment, time_ns: i64) -> Arrival {
        if !self.seen {
            return Arrival::Hole;
        }
        let ahead = segment.seq.wrapping_sub(self.next) as i32;
        match ahead {
            0 => Arrival::InOrder,
            1.. => Arrival::Hole,
            // RFC 1122, section 4.2.3.6: a keep-alive repeats the last byte, or none.
            -1 if segment.payload <= 1 => Arrival::KeepAlive,
            // A sender does not go back by sixteen megabytes: these are other numbers.
            ..-0x0100_0000 => Arrival::Hole,
            _ if i64::from(ahead) + i64::from(segment.payload) <= 0 => {
                // No sender repeats itself so soon: mirrored ports and `-i any` show frames twice.
                let last =
                    ahead.unsigned_abs() == segment.payload && segment.payload == self.last_len;
                match last && time_ns - self.sent.time_ns < COPY_NS {
                    true => Arrival::Copy,
                    false => Arrival::Retransmission,
                }
            }
            _ => Arrival::Hole,
        }
    }

    /// The peer acknowledged up to `ack`.
    #[inline]
    pub(crate) fn on_ack(&mut self, segment: &Segment, mark: Mark, peer_window: u32, mss: u32) {
        let ack = segment.ack;
        if !self.seen {
            // The capture begins here: what is acknowledged was sent before.
            (self.next, self.acked, self.seen) = (ack, ack, true);
            self.short_end = ack;
            return;
        }
        let advance = ack.wrapping_sub(self.acked) as i32;
        self.disturbed |= !segment.options.sack.is_empty();
        if advance <= 0 {
            return;
        }
        if (ack.wrapping_sub(self.next) as i32) > 0 {
            // The capture missed what is acknowledged.
            self.next = ack;
            self.disturbed = true;
        }
        let room = self
            .acked
            .wrapping_add(peer_window)
            .wrapping_sub(self.next)
            .min(peer_window);
        self.acked = ack;
        let wait_ns = mark.time_ns - self.sent.time_ns;
        let whole = ack == self.next && self.sent.frame != 0;
        let pure = whole && segment.payload == 0 && !segment.flags.any(Flags::SYN | Flags::FIN);
        self.release = Release {
            mark,
            wait_ns,
            room,
            stamp: segment.options.timestamps.map(|t| t.value),
            pure,
        };
        if whole && !self.disturbed {
            self.ack_min_ns = self.ack_min_ns.min(saturate(wait_ns));
            // The odd segment of a flight may wait, and a short one; what covers two full may not.
            if advance.unsigned_abs() >= 2 * mss && self.last_len.is_multiple_of(mss) {
                self.prompt_ns = smooth(self.prompt_ns, wait_ns);
            }
        }
        if pure {
            self.tally.acks += 1;
            self.tally.acked_segments += self.flight_segments;
            if (LATE_NS..LATEST_NS).contains(&wait_ns) && !self.finished {
                self.tally.delayed_acks += 1;
                self.delayed_ns = smooth(self.delayed_ns, wait_ns);
            }
        }
        if whole {
            self.released_flight = self.flight;
            (self.flight, self.flight_segments) = (0, 0);
        }
    }

    /// Takes a new data segment into the account; the verdicts on its timing come before.
    #[inline]
    pub(crate) fn on_data(&mut self, segment: &Segment, mark: Mark, mss: u32) {
        let len = segment.payload;
        let short = len < mss;
        let tally = &mut self.tally;
        tally.bytes += u64::from(len);
        tally.segments += 1;
        if self.acked == self.next {
            self.flight_defied = false;
        }
        if short {
            tally.short += 1;
            self.note_short(segment, mark, mss);
        }
        self.next = segment.seq.wrapping_add(len);
        if short || !len.is_multiple_of(mss) {
            self.short_end = self.next;
        }
        self.flight = self.flight.saturating_add(len);
        self.flight_segments += len.div_ceil(mss);
        self.max_len = self.max_len.max(len);
        self.peak_flight = self.peak_flight.max(self.next.wrapping_sub(self.acked));
        self.last_len = len;
        self.sent = mark;
        self.pushed = segment.flags.any(Flags::PSH);
        self.timestamps |= segment.options.timestamps.is_some();
        self.peer_spoke = false;
        self.disturbed = false;
    }

    /// What a short segment tells of the sender's policy and thrift.
    #[inline]
    fn note_short(&mut self, segment: &Segment, mark: Mark, mss: u32) {
        let tally = &mut self.tally;
        // Neither rule holds a FIN or urgent data back.
        let exempt = segment.flags.any(Flags::FIN | Flags::URG) || self.disturbed;
        if self.acked != self.next && !exempt {
            match (self.short_end.wrapping_sub(self.acked) as i32) > 0 {
                true => {
                    tally.defied += 1;
                    self.flight_defied = true;
                }
                false => tally.past_full += 1,
            }
        }
        let gap_ns = mark.time_ns - self.sent.time_ns;
        if !self.peer_spoke
            && gap_ns < MERGE_NS
            && self.last_len < mss
            && self.last_len + segment.payload <= mss
        {
            tally.mergeable += 1;
            tally.mergeable_bytes += u64::from(segment.payload);
        } else {
            tally.runs += 1;
        }
    }
}

/// Exponential average with a gain of 1/8, as RFC 6298 uses.
fn smooth(average_ns: u32, sample_ns: i64) -> u32 {
    let sample = saturate(sample_ns);
    match average_ns {
        0 => sample,
        average => average - average / 8 + sample / 8,
    }
}

pub(crate) fn saturate(ns: i64) -> u32 {
    u32::try_from(ns.max(0)).unwrap_or(u32::MAX - 1)
}

/// An acknowledgement that took this long is worth a question. The shortest delayed-ACK timers
/// in use are 10 ms (Windows Server); Linux has 40 ms, BSD 100 ms, Windows and Solaris up to 200.
pub(crate) const LATE_NS: i64 = 10_000_000;
/// A frame on its way through a host or a switch passes its two capture points within this time.
const COPY_NS: i64 = 500_000;
/// RFC 1122, section 4.2.3.2: an ACK must not be delayed by more than half a second.
const LATEST_NS: i64 = 500_000_000;
/// Writes closer than this would be merged by any policy that waits for the writer to block.
const MERGE_NS: i64 = 10_000_000;
