//! The variables that policies see, collected from the parts that own them.

use super::buffer::SendBuffer;
use super::hints::Hints;
use super::rtt::RttEstimator;
use super::send_policy::{Told, Vars};
use super::sequence::Sequence;
use super::window::CongestionWindow;
use crate::time::Instant;

/// What a policy's variables are collected from, besides what the small-segment state has: references alone, so that to
/// lend it reads nothing.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) now: &'a Instant,
    pub(super) seq: &'a Sequence,
    pub(super) mss: &'a u32,
    pub(super) rtt: &'a RttEstimator,
    pub(super) buffer: &'a SendBuffer,
    pub(super) window: &'a CongestionWindow,
}

/// All that a policy's variables are collected from.
pub(super) struct Whole<'a> {
    pub(super) view: View<'a>,
    pub(super) cluster: &'a u64,
    pub(super) hints: &'a Hints,
}

impl Told for Whole<'_> {
    /// Returns the variables. Inlined, so that a policy costs only what it reads.
    #[inline(always)]
    fn vars(&self) -> Vars {
        let (view, seq, hints) = (&self.view, self.view.seq, self.hints);
        Vars {
            now: *view.now,
            una: seq.una,
            nxt: seq.nxt,
            max: seq.max,
            written: seq.written,
            mss: *view.mss,
            wnd: seq.wnd,
            max_wnd: seq.max_wnd,
            cwnd: view.window.cwnd,
            ssthresh: view.window.ssthresh,
            rto: view.rtt.rto(),
            cluster: *self.cluster,
            capacity: view.buffer.capacity(),
            more_to_come: hints.more_to_come,
            nodelay: hints.nodelay,
            corked: hints.corked,
            reader_blocked: hints.reader_blocked,
            writer_blocked: hints.writer_blocked,
            writer_lacks_space: hints.writer_lacks_space,
            device_busy: hints.device_busy,
            received: hints.received,
            read: hints.read,
            own_counters: hints.own_counters,
            peer_counters: hints.peer_counters,
        }
    }
}
