//! A receiver whose host is short of memory: it offers less than its buffer's size, and gives up what
//! it need not keep (Linux: `tcp_under_memory_pressure`, `tcp_prune_ofo_queue`).

use super::assembler::Assembler;
use super::sack::SackMemory;
use super::{Receiver, UNSCALED};
use crate::offset::Offset;

impl Receiver {
    /// Bounds the buffer to `octets` until [`Receiver::unlimit_buffer`]. What was announced is still
    /// accepted: the window closes as data comes, and its right edge does not move back (RFC 9293,
    /// section 3.8.6).
    pub(crate) fn limit_buffer(&mut self, octets: u64) {
        let (capacity, _) = *self.unlimited.get_or_insert((self.capacity, self.most));
        self.capacity = capacity.min(octets);
        self.most = 0;
    }

    /// Does the same for a connection of which nothing has been sent yet, so that nothing is announced.
    pub(crate) fn limit_buffer_before_the_syn(&mut self, octets: u64) {
        self.limit_buffer(octets);
        self.advertised = Offset::SYN + self.largest_window();
    }

    /// Ends the bound. A peer that was left without a window for a segment is told of the new one.
    pub(crate) fn unlimit_buffer(&mut self) {
        let Some(unlimited) = self.unlimited.take() else {
            return;
        };
        (self.capacity, self.most) = unlimited;
        let promised = self.advertised.since(self.nxt);
        let closed = promised < self.least_growth && u64::from(self.window()) > promised;
        self.ack_now |= closed && self.fin.is_none();
    }

    /// Returns the sizes that the buffer has without the bound, and may grow to.
    pub(super) fn unlimited(&self) -> (u64, u64) {
        self.unlimited.unwrap_or((self.capacity, self.most))
    }

    /// Returns the window of this side's SYN that is still promised after a bound. The field of a SYN
    /// is not scaled.
    pub(super) fn promised_by_the_syn(&self) -> u64 {
        self.advertised.since(Offset::SYN).min(UNSCALED)
    }

    /// Forgets all data that waits beyond a hole, although SACK blocks may have reported it: RFC 2018,
    /// section 8, allows that, and the peer sends it again. Where the stream ends is not forgotten.
    pub(crate) fn discard_out_of_order(&mut self) {
        self.assembler = Assembler::default();
        if let Some(memory) = &mut self.sack {
            *memory = SackMemory::default();
        }
    }

    /// Returns the right edge that was last announced: what lies beyond it is not accepted.
    #[must_use]
    #[inline]
    pub fn right_edge(&self) -> Offset {
        self.advertised
    }
}
