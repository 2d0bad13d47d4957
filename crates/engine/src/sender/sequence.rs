//! The send sequence variables (RFC 9293, section 3.3.1), with BSD's `snd_max` and `max_sndwnd`.

use crate::offset::Offset;

/// What was written, sent and acknowledged, and what the peer's window allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequence {
    /// SND.UNA.
    pub(super) una: Offset,
    /// SND.NXT.
    pub(super) nxt: Offset,
    /// The highest SND.NXT so far; above `nxt` while data is being resent.
    pub(super) max: Offset,
    /// One past the last octet that the application handed over.
    pub(super) written: Offset,
    /// Whether nothing will follow what was written, so that a FIN is sent after it.
    pub(super) finishing: bool,
    /// SND.WND, in octets.
    pub(super) wnd: u64,
    /// The largest SND.WND so far, in octets.
    pub(super) max_wnd: u64,
    /// The sequence number of the segment of the last window update: SND.WL1.
    wl1: Offset,
    /// Its acknowledgment number: SND.WL2.
    wl2: Offset,
}

impl Sequence {
    /// Returns the variables before the SYN is sent.
    pub(super) fn new() -> Self {
        Self {
            una: Offset::SYN,
            nxt: Offset::SYN,
            max: Offset::SYN,
            written: Offset::FIRST,
            finishing: false,
            wnd: 0,
            max_wnd: 0,
            wl1: Offset::SYN,
            wl2: Offset::SYN,
        }
    }

    /// Goes straight to an established connection whose peer offers `window` octets.
    pub(super) fn establish(&mut self, window: u64) {
        self.una = Offset::FIRST;
        self.nxt = Offset::FIRST;
        self.max = Offset::FIRST;
        self.wnd = window;
        self.max_wnd = window;
    }

    /// Forgets what was sent; what was written stays.
    pub(super) fn forget_peer(&mut self) {
        self.una = Offset::SYN;
        self.nxt = Offset::SYN;
        self.max = Offset::SYN;
    }

    /// Takes in the first window, from the peer's SYN with the sequence number `seq`.
    pub(super) fn learn_window(&mut self, seq: Offset, window: u64) {
        self.wnd = window;
        self.max_wnd = window;
        self.wl1 = seq;
        self.wl2 = self.una;
    }

    /// Updates SND.WND from the newest segment (RFC 9293, section 3.10.7.4, fifth check).
    #[inline]
    pub(super) fn update_window(&mut self, seq: Offset, ack: Offset, window: u64) {
        let newer = self.wl1 < seq || (self.wl1 == seq && self.wl2 <= ack);
        if newer && ack >= self.una {
            self.wnd = window;
            self.max_wnd = self.max_wnd.max(window);
            self.wl1 = seq;
            self.wl2 = ack;
        }
    }

    /// Removes what is acknowledged up to `ack`; returns the octets of data among it.
    #[inline]
    pub(super) fn release(&mut self, ack: Offset) -> u64 {
        // SYN and FIN are not data.
        let data_end = ack.min(self.written);
        let data_start = self.una.max(Offset::FIRST);
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        data_end.since(data_start)
    }

    /// Returns whether nothing sent is unacknowledged.
    #[inline]
    pub(super) fn idle(&self) -> bool {
        self.max == self.una
    }

    /// Returns whether nothing but the SYN was sent yet.
    #[inline]
    pub(super) fn nothing_sent_yet(&self) -> bool {
        self.max <= Offset::FIRST
    }

    /// Returns whether everything sent is acknowledged, so that what leaves next begins a burst.
    #[inline]
    pub(super) fn idle_again(&self) -> bool {
        self.idle() && !self.nothing_sent_yet()
    }

    /// Returns the octets that were sent and are not acknowledged.
    #[inline]
    pub(super) fn outstanding(&self) -> u64 {
        self.max.since(self.una)
    }

    /// Returns the octets in the send buffer, unacknowledged ones included, without SYN and FIN.
    #[inline]
    pub(super) fn buffered(&self) -> u64 {
        self.written.since(self.una.max(Offset::FIRST))
    }

    /// Returns the octets that were written and have not left.
    #[inline]
    pub(super) fn unsent(&self) -> u64 {
        self.written.since(self.nxt)
    }

    /// Returns whether data or the FIN has not left.
    #[inline]
    pub(super) fn has_unsent(&self) -> bool {
        self.nxt < self.written + u64::from(self.finishing)
    }

    /// Returns one past the last octet that the peer's window admits.
    #[inline]
    pub(super) fn window_end(&self) -> Offset {
        self.una + self.wnd
    }

    /// Returns whether the peer's window has room for the FIN, which takes a sequence number;
    /// outside the window it would be dropped (RFC 9293, section 3.10.7.4, first check). `cwnd`
    /// does not count it.
    pub(super) fn fin_fits(&self) -> bool {
        self.written < self.window_end()
    }

    /// Returns whether everything, the FIN included, is acknowledged.
    #[inline]
    pub(super) fn fin_acked(&self) -> bool {
        self.finishing && self.una > self.written
    }
}
