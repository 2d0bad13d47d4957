//! What the wire shows of a sender's congestion window.

/// What the wire has shown of a sender's congestion window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shown {
    /// The most octets in flight since the window may have been cut, and the most in an opening
    /// flight: the first, or one after an idle period.
    pub(crate) most: u64,
    pub(crate) most_opening: u64,
    pub(crate) opening: bool,
    /// The start of the current flight, and its length.
    pub(crate) begins: u64,
    pub(crate) flight: u64,
    pub(crate) last_len: u32,
    /// The largest flight behind which a short segment has waited since then.
    pub(crate) waited: u64,
    pub(crate) sent_ns: u64,
    /// When a part of the data in flight was first acknowledged.
    pub(crate) part_ns: Option<u64>,
}

impl Shown {
    /// Notes octets that leave; `una` is what was acknowledged before.
    pub(crate) fn sends(&mut self, now: u64, una: u64, from: u64, to: u64) {
        if una >= from {
            let idle = now - self.sent_ns > IDLE_NS;
            if idle {
                (self.most, self.waited) = (0, 0);
            }
            self.opening = idle || self.sent_ns == 0;
            self.begins = from;
        }
        self.flight = to - self.begins;
        self.last_len = (to - from) as u32;
        self.most = self.most.max(to - una);
        if self.opening {
            self.most_opening = self.most_opening.max(to - una);
        }
        self.sent_ns = now;
        self.part_ns = None;
    }

    pub(crate) fn acknowledged(&mut self, now: u64, una: u64) {
        if una < self.begins + self.flight {
            self.part_ns.get_or_insert(now);
        }
    }

    /// Returns whether the window may have been exactly as large as this flight. It cannot if the
    /// flight is below two segments: no stack begins with less than one, and two are a whole window
    /// (RFC 2581, section 3.1). Nor if the flight ended in a short segment: the program had written
    /// no more, and the window would have ended there only by accident.
    pub(crate) fn is_unknown(&self, now: u64, len: u32, mss: u32) -> bool {
        let flight = self.flight;
        let part = self.part_ns.is_some_and(|at| now - at >= APART_NS);
        let most = if self.opening {
            self.most_opening
        } else {
            self.most
        };
        let small = flight < 2 * u64::from(mss);
        let full = self.last_len.is_multiple_of(mss);
        full && !small && !part && most < flight + u64::from(len) && self.waited < flight
    }
}

/// The shortest retransmission timeout; a longer silence may have cut the window.
const IDLE_NS: u64 = 200_000_000;
/// Many hosts and capture points see acknowledgments closer together than this as one.
const APART_NS: u64 = 200_000;
