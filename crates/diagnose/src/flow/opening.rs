//! How a connection opens, and when its ports are used again.

use std::num::NonZeroU16;

use tinygram_engine::Flags;
use tinygram_stalls::thresholds::{CLOCK_STEP_NS, DEFAULT_MSS, OTHER_NUMBERS};
use tinygram_wire::decode::Gist;
use tinygram_wire::options::Options;

use super::connection::Connection;
use super::mark::Mark;

impl Connection {
    /// Returns true if the segment opens another connection on the same four-tuple.
    #[inline]
    pub(crate) fn is_reuse(&self, segment: &Gist, from: usize, time_ns: i64) -> bool {
        segment.flags().any(Flags::SYN) && self.opens_another(segment, from, time_ns)
    }

    #[cold]
    fn opens_another(&self, segment: &Gist, from: usize, time_ns: i64) -> bool {
        // A capture that was joined to itself, or to one of an earlier time.
        let had_data = self.halves.iter().any(|half| half.tally.segments > 0);
        if had_data && self.last_ns - time_ns > CLOCK_STEP_NS {
            return true;
        }
        let half = &self.halves[from];
        let ahead = segment.seq.wrapping_add(1).wrapping_sub(half.next) as i32;
        match segment.flags().any(Flags::ACK) {
            false => self.closed || (half.seen && ahead != 0),
            // The SYN before it was not captured; an old one has old numbers.
            true => half.tally.segments > 0 && !(OTHER_NUMBERS..=0).contains(&ahead),
        }
    }

    pub(super) fn on_syn(
        &mut self,
        segment: &Gist,
        options: Option<&Options>,
        from: usize,
        mark: Mark,
    ) {
        // One that comes behind data is an old one.
        if self.halves[from].tally.segments > 0 {
            return;
        }
        let answer = segment.flags().any(Flags::ACK);
        self.client = Some(if answer { 1 - from } else { from } as u8);
        let stamp = segment.timestamps().map_or(0, |stamps| stamps.value);
        self.halves[1 - from].data_stamp = stamp;
        self.syn_stamps[from] = stamp;
        let half = &mut self.halves[from];
        half.rounds.opened_again |= half.seen && half.next == segment.seq.wrapping_add(1);
        half.seen = true;
        half.next = segment.seq.wrapping_add(1);
        half.acked = half.next;
        half.short_end = half.next;
        half.sent = Mark { frame: 0, ..mark };
        // An option of 0 means nothing, and is not taken for a SYN that was not seen.
        let offered = options.and_then(|it| it.mss).and_then(NonZeroU16::new);
        half.path.mss_option = offered.or(NonZeroU16::new(DEFAULT_MSS));
        half.window_scale = options.and_then(|it| it.window_scale);
        half.timestamps = segment.timestamps().is_some();
        half.window = u32::from(segment.window);
        if !answer {
            self.first = if self.frames <= 1 { mark } else { self.first };
            return;
        }
        self.handshake = true;
        // Timestamps and scaling count only if both offer them (RFC 7323, sections 2.2 and 3.2).
        if self.halves.iter().any(|h| !h.timestamps) {
            for half in &mut self.halves {
                half.timestamps = false;
            }
        }
        if self.halves.iter().any(|h| h.window_scale.is_none()) {
            for half in &mut self.halves {
                half.window_scale = Some(0);
            }
        }
        let opener = &mut self.halves[1 - from];
        if opener.seen && opener.sent.frame == 0 {
            opener.path.measured(mark.time_ns - opener.sent.time_ns);
        }
    }
}
