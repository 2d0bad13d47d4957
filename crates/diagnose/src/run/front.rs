//! Counts and filters every frame, on the caller's thread, before it goes to its share.

use tinygram_stalls::thresholds::COARSE_CLOCK_NS;
use tinygram_wire::decode::Look;

use crate::flow::mark::Mark;
use crate::parameters::Filter;
use crate::report::sight::Stamps;
use crate::report::summary::{Summary, Unseen};

/// Counts the frames in the order of the capture.
#[derive(Default)]
pub(crate) struct Front {
    filter: Option<Filter>,
    pub(crate) frames: u64,
    segments: u64,
    stamps: Stamps,
    unseen: Unseen,
    fine_clock: bool,
    first_frame_ns: i64,
    first_ns: i64,
    last_ns: i64,
}

impl Front {
    /// Returns one that has seen no frame.
    pub(crate) fn new(filter: Option<Filter>) -> Self {
        Self {
            filter,
            ..Self::default()
        }
    }

    /// Returns whether every segment is looked at, whatever it says.
    #[inline]
    pub(crate) fn takes_all(&self) -> bool {
        self.filter.is_none()
    }

    /// Counts the next frame; returns its place in the capture if it has a segment that is looked at.
    #[inline]
    pub(crate) fn note(&mut self, time_ns: i64, look: &Look) -> Option<Mark> {
        match look {
            Ok(_) if self.takes_all() => Some(self.note_segment(time_ns)),
            _ => self.note_any(time_ns, look),
        }
    }

    #[inline(never)]
    fn note_any(&mut self, time_ns: i64, look: &Look) -> Option<Mark> {
        let time_ns = self.stamp(time_ns);
        let segment = match look {
            Ok((segment, _)) => segment,
            Err(unread) => {
                self.unseen.note(*unread);
                return None;
            }
        };
        if let Some(filter) = &self.filter
            && !filter.takes(segment, time_ns, self.first_frame_ns)
        {
            self.unseen.filtered += 1;
            return None;
        }
        Some(self.count(time_ns))
    }

    /// Counts the next frame, which has a segment that is looked at; returns its place in the capture.
    #[inline]
    pub(crate) fn note_segment(&mut self, time_ns: i64) -> Mark {
        let time_ns = self.stamp(time_ns);
        self.count(time_ns)
    }

    /// Takes the time of the next frame into account; returns it within its bounds.
    #[inline]
    fn stamp(&mut self, time_ns: i64) -> i64 {
        let time_ns = time_ns.clamp(0, LAST_TIME_NS);
        if self.frames == 0 {
            self.first_frame_ns = time_ns;
            self.stamps.begin(time_ns);
        } else {
            self.stamps.note(time_ns);
        }
        self.frames += 1;
        time_ns
    }

    /// Counts a segment that is looked at.
    #[inline]
    fn count(&mut self, time_ns: i64) -> Mark {
        self.fine_clock = self.fine_clock || time_ns % COARSE_CLOCK_NS != 0;
        if self.segments == 0 {
            self.first_ns = time_ns;
        }
        self.segments += 1;
        self.last_ns = self.last_ns.max(time_ns);
        Mark {
            frame: self.frames,
            time_ns,
        }
    }

    /// Enters what was counted.
    pub(crate) fn enter(&self, summary: &mut Summary) {
        summary.frames = self.frames;
        summary.segments = self.segments;
        summary.stamps = self.stamps;
        summary.unseen = self.unseen;
        summary.sight.fine_clock = self.fine_clock;
        summary.first_frame_ns = self.first_frame_ns;
        summary.first_ns = self.first_ns;
        summary.last_ns = self.last_ns;
    }
}

/// The year 2116: the difference of any two times fits, whatever a capture says.
pub(crate) const LAST_TIME_NS: i64 = 1 << 62;
