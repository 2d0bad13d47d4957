//! The calls of the application: it writes, reads, and is about to sleep.

use super::{Connection, State, Wrote};
use crate::offset::Offset;
use crate::outbox::Outbox;
use crate::sender::PieceOfWrite;
use crate::sender::send_policy::{BlockedOn, Moment};
use crate::socket::copy_rule::Rule;
use crate::socket::{Piece, WriteCall};
use crate::time::Instant;

impl Connection {
    /// Begins a write of `len` octets (at least one). [`Connection::write_step`] does the work.
    ///
    /// # Panics
    ///
    /// If a write is already under way: the caller keeps writers apart, as `sblock` does in BSD.
    pub fn write_begin(&mut self, now: Instant, len: u64) {
        assert!(self.write.is_none(), "a write is under way");
        assert!(len > 0, "a write of nothing");
        self.write = Some(WriteCall::new(len, self.sender.space()));
        self.sender
            .observe(Moment::WriteBegan { resumed: false }, now);
    }

    /// Says that the writer that slept looks at the buffer again.
    pub fn write_resume(&mut self, now: Instant) {
        if let Some(write) = &mut self.write {
            write.begin_round(self.sender.space());
            self.sender.set_writer_blocked(false);
            self.sender
                .observe(Moment::WriteBegan { resumed: true }, now);
        }
    }

    /// Returns the octets of the write under way that are still to be copied.
    #[must_use]
    pub fn write_remaining(&self) -> u64 {
        self.write.map_or(0, |write| write.remaining())
    }

    /// Decides the next piece of the write under way and returns its octets, or `None` if the
    /// writer must sleep. [`Connection::write_step`] copies just that piece, however the free space
    /// changes meanwhile.
    pub fn next_piece(&mut self) -> Option<u64> {
        let (buffered, capacity) = self.sender.fill();
        match self
            .write
            .as_mut()?
            .next(&self.copy_rule, buffered, capacity)
        {
            Piece::Copy(octets) => Some(octets),
            Piece::Sleep => None,
        }
    }

    /// Copies the next piece of the write and lets the sender decide, or returns that the writer
    /// must sleep. `more` is the caller's own MORE (MSG_MORE): another write follows.
    pub fn write_step(&mut self, now: Instant, more: bool, out: &mut Outbox) -> Wrote {
        let opening = matches!(self.state, State::SynSent | State::SynReceived);
        if !(self.state.sends() || opening) || self.sender.is_finishing() {
            self.write = None;
            return Wrote::Refused;
        }
        let Some(write) = &mut self.write else {
            return Wrote::Refused;
        };
        let (buffered, capacity) = self.sender.fill();
        let octets = match write.next(&self.copy_rule, buffered, capacity) {
            Piece::Copy(octets) => octets,
            Piece::Sleep => {
                self.sender.push_what_is_written();
                return Wrote::Sleeps;
            }
        };
        let pieces_before = write.pieces();
        write.copied(octets);
        let last = write.remaining() == 0;
        let more_to_come = !last || more;
        let more_on_entry = self.sender.vars().more_to_come;
        self.sender.append(&PieceOfWrite {
            octets,
            goes_on: pieces_before > 0,
            more: more_to_come,
        });
        self.sender.set_more_to_come(more_to_come);
        self.sender.observe(
            Moment::ChunkCopied {
                more_to_come,
                pieces_before,
                more_on_entry,
            },
            now,
        );
        if last {
            self.write = None;
        }
        self.output(now, out);
        if last {
            Wrote::Last(octets)
        } else {
            Wrote::Piece(octets)
        }
    }

    /// Writes as much of `len` octets as the copy rule takes without sleeping, and returns how
    /// much. For callers to whom the times of the single pieces do not matter.
    pub fn write(&mut self, now: Instant, len: u64, more: bool, out: &mut Outbox) -> u64 {
        if len == 0 {
            return 0;
        }
        self.write_begin(now, len);
        let mut copied = 0;
        loop {
            match self.write_step(now, more, out) {
                Wrote::Piece(octets) => copied += octets,
                Wrote::Last(octets) => return copied + octets,
                Wrote::Refused => return copied,
                Wrote::Sleeps => {
                    // The write is given up instead of slept on: what was announced as more does
                    // not come.
                    self.write = None;
                    self.sender.set_more_to_come(more);
                    self.output(now, out);
                    return copied;
                }
            }
        }
    }

    /// Returns whether poll would report room for a write.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.sender.space() > 0 && self.wakes_writer()
    }

    /// Returns whether enough space is free to wake a writer.
    pub(super) fn wakes_writer(&self) -> bool {
        let (free, capacity) = (self.sender.free(), self.sender.capacity());
        self.copy_rule.wakes(free, capacity)
    }

    /// Returns whether the thread that sleeps for space would sleep again if it were woken now.
    pub(super) fn writer_lacks_space(&self) -> bool {
        let (buffered, capacity) = self.sender.fill();
        let would_sleep = match self.write {
            Some(write) => write.would_sleep(&self.copy_rule, buffered, capacity),
            None => self.sender.space() == 0,
        };
        would_sleep || !self.wakes_writer()
    }

    /// Gives up the write of a writer that slept: what was announced as more does not come.
    pub fn write_abandon(&mut self, now: Instant, out: &mut Outbox) {
        if self.write.take().is_some() {
            self.sender.set_writer_blocked(false);
            self.sender.set_more_to_come(false);
            self.output(now, out);
        }
    }

    /// Copies up to `max` octets as a part of a read. The read ends with [`Connection::read`],
    /// which asks the ACK policy about all of its parts. BSD's `soreceive` empties the buffer mbuf
    /// by mbuf and tells the protocol once (PRU_RCVD); an ACK that a timer sends in between shows
    /// the window of that instant.
    pub fn read_part(&mut self, max: u64) -> u64 {
        self.receiver.read_part(max)
    }

    /// Lets the application take up to `max` octets; returns how many it got.
    pub fn read(&mut self, now: Instant, max: u64, out: &mut Outbox) -> u64 {
        let octets = self.receiver.read(max, now);
        if self.sender.heeds_receiving() {
            self.tell_received(now);
        }
        self.receiver
            .grow_with_reading(now, self.sender.rtt().srtt());
        if self.receiver.wants_ack() {
            self.output(now, out);
        }
        self.look_at_queues(now);
        octets
    }

    /// Tells the send policy what was received and read.
    #[cold]
    pub(super) fn tell_received(&mut self, now: Instant) {
        let read = self.receiver.read_up_to().since(Offset::FIRST);
        let received = read + self.receiver.readable();
        self.sender.set_received(received, read, now);
    }

    /// Says that a thread is about to sleep; `wrote` says whether it wrote to this socket since it
    /// last slept. Returns whether there was anything to decide: if not, nothing was sent and no
    /// timer moved.
    #[inline]
    pub fn app_blocks(
        &mut self,
        now: Instant,
        on: BlockedOn,
        wrote: bool,
        out: &mut Outbox,
    ) -> bool {
        match on {
            BlockedOn::Read => self.sender.set_reader_blocked(true),
            BlockedOn::Write => self.sender.set_writer_blocked(true),
            BlockedOn::Elsewhere => {}
        }
        self.sender.observe(Moment::AppBlocks { on, wrote }, now);
        self.sender.heeds_blocking() && self.output(now, out)
    }

    /// Says that the thread that slept in a read on this socket runs again.
    pub fn reader_resumes(&mut self) {
        self.sender.set_reader_blocked(false);
    }

    /// Says that the thread that slept for space runs again, if it did not sleep in a [write that
    /// is under way](Connection::write_resume).
    pub fn writer_resumes(&mut self) {
        self.sender.set_writer_blocked(false);
    }
}
