//! The variables that policies see, collected from the parts that own them.

use super::buffer::SendBuffer;
use super::context::Context;
use super::hints::Hints;
use super::send_policy::Vars;
use super::window::CongestionWindow;

/// What a policy's variables are collected from, besides [`Hints`].
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) context: Context<'a>,
    pub(super) buffer: &'a SendBuffer,
    pub(super) window: &'a CongestionWindow,
}

impl View<'_> {
    /// Returns the variables. Inlined, so that a policy costs only what it reads.
    #[inline(always)]
    pub(super) fn vars(&self, cluster: u64, hints: &Hints) -> Vars {
        let seq = self.context.seq;
        Vars {
            now: self.context.now,
            una: seq.una,
            nxt: seq.nxt,
            max: seq.max,
            written: seq.written,
            mss: self.context.mss,
            wnd: seq.wnd,
            max_wnd: seq.max_wnd,
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh,
            rto: self.context.rtt.rto(),
            cluster,
            capacity: self.buffer.capacity(),
            more_to_come: hints.more_to_come,
            nodelay: hints.nodelay,
            corked: hints.corked,
            reader_blocked: hints.reader_blocked,
            writer_blocked: hints.writer_blocked,
            writer_lacks_space: hints.writer_lacks_space,
            device_busy: hints.device_busy,
        }
    }
}
