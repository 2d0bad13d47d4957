//! One end of a conversation: its connection, its threads, and what is checked of it.

use std::collections::VecDeque;

use tinygram_engine::connection::Connection;
use tinygram_engine::{Duration, Events, Flags, Instant, Offset, Outbox, Segment};

use crate::world::Op;

pub(crate) struct End {
    pub(crate) connection: Connection,
    pub(crate) receive_buffer_most: u64,
    pub(crate) outbox: Outbox,
    pub(crate) threads: Vec<Thread>,
    pub(crate) written: u64,
    pub(crate) read: u64,
    /// The right edge of the window as last announced.
    pub(crate) edge: Offset,
    /// What arrived, as ranges; the first one begins at the first octet.
    pub(crate) arrived: Vec<(u64, u64)>,
    /// Timeouts since something new was acknowledged, and SND.UNA then.
    pub(crate) timeouts: u32,
    pub(crate) acknowledged: Offset,
}

pub(crate) struct Thread {
    pub(crate) ops: VecDeque<Op>,
    pub(crate) state: Awaits,
    pub(crate) wrote: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaits {
    Nothing,
    Time(Instant),
    Data,
    Space {
        more: bool,
    },
    /// Space may be available now: the write continues.
    Processor {
        more: bool,
    },
}

impl End {
    /// Returns the RTO with as many doublings as there were timeouts since something new was
    /// acknowledged.
    pub(crate) fn timeout(&self) -> Duration {
        let rtt = self.connection.sender().rtt();
        let once = rtt.rto().as_nanos() >> rtt.backoff();
        Duration::from_nanos(once << self.timeouts)
    }

    pub(crate) fn threads_done(&self) -> bool {
        self.threads
            .iter()
            .all(|thread| thread.ops.is_empty() && thread.state == Awaits::Nothing)
    }

    /// Wakes the threads that these events concern.
    pub(crate) fn wake(&mut self, news: Events) {
        let over =
            news.has(Events::RESET) || news.has(Events::CLOSED) || news.has(Events::TIMED_OUT);
        for thread in &mut self.threads {
            match thread.state {
                Awaits::Data
                    if over || news.has(Events::READABLE) || news.has(Events::PEER_CLOSED) =>
                {
                    self.connection.reader_resumes();
                    thread.state = Awaits::Nothing;
                }
                Awaits::Space { more } if over || news.has(Events::WRITABLE) => {
                    thread.state = Awaits::Processor { more };
                }
                _ => {}
            }
        }
    }

    /// Checks that the window's right edge never moves back and that only written octets are sent.
    pub(crate) fn check_sent(&mut self, segment: &Segment) {
        let flags = segment.flags;
        if flags.has(Flags::ACK) && !flags.has(Flags::RST) {
            let edge = segment.ack + u64::from(segment.window);
            // The low bits that scaling drops remain promised (RFC 7323, section 2.4).
            let unsaid = (1 << self.connection.receive_window_shift()) - 1;
            let kept = edge + unsaid >= self.edge;
            assert!(kept, "{segment} takes back {}", self.edge);
            self.edge = self.edge.max(edge);
        }
        let end = segment.data().end.get();
        let (written, empty) = (self.written, segment.len == 0);
        assert!(empty || end <= written + 1, "{segment} of {written}");
    }

    /// Checks that RCV.NXT is not beyond what arrived without a gap, except for the FIN.
    pub(crate) fn nothing_invented(&self) {
        let solid = match self.arrived.first() {
            Some(&(start, end)) if start <= 1 => end,
            _ => 1,
        };
        let receiver = self.connection.receiver();
        let data_end = receiver.nxt().get() - u64::from(receiver.fin_received());
        assert!(data_end <= solid, "read up to {data_end}, arrived {solid}");
    }
}

/// Adds a range to sorted, separate ranges.
pub(crate) fn note_range(ranges: &mut Vec<(u64, u64)>, new: (u64, u64)) {
    if new.0 == new.1 {
        return;
    }
    ranges.push(new);
    ranges.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for range in ranges.drain(..) {
        match merged.last_mut() {
            Some(last) if range.0 <= last.1 => last.1 = last.1.max(range.1),
            _ => merged.push(range),
        }
    }
    *ranges = merged;
}
