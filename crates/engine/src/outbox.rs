//! The results of one call into the engine: segments to send and news for the application.

use alloc::vec::Vec;

use crate::segment::Segment;

/// Collects the results of a call, in order. The caller drains it after every call and may reuse
/// it.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    /// Segments to hand to the network, in this order.
    pub segments: Vec<Segment>,
    /// News for the application.
    pub events: Events,
}

impl Outbox {
    /// Returns an empty outbox.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the news and clears them.
    #[inline]
    pub fn take_events(&mut self) -> Events {
        core::mem::take(&mut self.events)
    }
}

/// A set of news.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events(u8);

impl Events {
    /// Data or the end of the stream can be read.
    pub const READABLE: Self = Self(0x01);
    /// An acknowledgment released space in the send buffer.
    pub const WRITABLE: Self = Self(0x02);
    /// The handshake is complete.
    pub const CONNECTED: Self = Self(0x04);
    /// The peer will send nothing more.
    pub const PEER_CLOSED: Self = Self(0x08);
    /// The connection is gone: both FINs are acknowledged and any TIME-WAIT is over.
    pub const CLOSED: Self = Self(0x10);
    /// The peer reset the connection.
    pub const RESET: Self = Self(0x20);
    /// The peer did not answer for too long (RFC 9293, section 3.8.3).
    pub const TIMED_OUT: Self = Self(0x40);

    /// Returns whether all of `wanted` is in the set.
    #[must_use]
    pub const fn has(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }

    /// Returns whether any of `wanted` is in the set.
    #[must_use]
    pub const fn any(self, wanted: Self) -> bool {
        self.0 & wanted.0 != 0
    }

    /// Returns the union of both sets.
    #[must_use]
    pub const fn with(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    /// Returns whether there is no news.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Adds `news`.
    pub fn add(&mut self, news: Self) {
        self.0 |= news.0;
    }
}
