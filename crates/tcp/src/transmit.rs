//! Encodes the engine's segments as packets in a buffer, for a device to send.

use std::collections::VecDeque;

use tinygram_engine::{Flags, Offset, Segment};
use tinygram_wire::encode::{Checksum, Version};

use super::Core;
use super::socket::Socket;
use super::{Abilities, Offload};

/// What waits to be sent.
#[derive(Debug, Default)]
pub(super) struct Queue {
    entries: VecDeque<Entry>,
    /// The octets of all complete packets in it.
    whole: usize,
}

#[derive(Debug)]
enum Entry {
    /// Segments of a socket; their payload is still in the socket's ring.
    Run(Run),
    /// A complete packet: the answer to a segment without a connection, or an echo.
    Whole(Vec<u8>),
}

/// Consecutive segments that leave as one packet; only one without offload.
#[derive(Debug)]
struct Run {
    key: usize,
    /// The first segment. The others have its length, except that the last one may be shorter.
    first: Segment,
    /// The octets of all segments.
    len: u32,
    /// The last segment's flags.
    flags: Flags,
}

/// Packets, one after the other in one buffer.
#[derive(Debug, Default)]
pub struct Batch {
    octets: Vec<u8>,
    packets: Vec<Staged>,
}

#[derive(Clone, Copy, Debug)]
struct Staged {
    start: usize,
    end: usize,
    offload: Option<Offload>,
}

/// The octets that make a batch full: as much as a cache near the processor holds.
const BATCH: usize = 64 * 1024;

impl Queue {
    /// Queues a segment; `join` lets it become part of the previous packet if it continues it.
    /// Returns whether it is a packet of its own.
    #[inline]
    pub(super) fn push(&mut self, key: usize, segment: Segment, join: bool) -> bool {
        if join
            && let Some(Entry::Run(run)) = self.entries.back_mut()
            && run.takes(key, &segment)
        {
            run.len += segment.len;
            run.flags = segment.flags;
            return false;
        }
        self.entries.push_back(Entry::Run(Run {
            key,
            len: segment.len,
            flags: segment.flags,
            first: segment,
        }));
        true
    }

    /// Queues a complete packet, if there is room. Returns whether there was: answers to a flood must
    /// not use up memory, and they may be lost.
    pub(super) fn push_whole(&mut self, packet: Vec<u8>) -> bool {
        let octets = self.whole + packet.len();
        let fits = self.entries.len() < MOST_ANSWERS && octets <= MOST_ANSWERED;
        if fits {
            self.whole = octets;
            self.entries.push_back(Entry::Whole(packet));
        }
        fits
    }

    #[inline]
    fn pop(&mut self) -> Option<Entry> {
        let entry = self.entries.pop_front();
        if let Some(Entry::Whole(packet)) = &entry {
            self.whole -= packet.len();
        }
        entry
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl Run {
    /// Returns whether the segment may be part of the same packet.
    #[inline]
    fn takes(&self, key: usize, segment: &Segment) -> bool {
        let first = &self.first;
        // The last one may carry PSH or FIN, which the device sets only on the last piece.
        let ends = Flags::PSH.with(Flags::FIN);
        let plain = Flags::ACK.with_if(first.flags.has(Flags::ECT), Flags::ECT);
        self.key == key
            && segment.seq == first.seq + u64::from(self.len)
            && self.flags == plain
            && self.len.is_multiple_of(first.len.max(1))
            && (1..=first.len).contains(&segment.len)
            && self.len + segment.len <= MOST_PAYLOAD
            && segment.flags.without(ends) == plain
            && (segment.ack, segment.window) == (first.ack, first.window)
            && segment.options == first.options
    }

    /// Returns the part that must still be sent, as one segment; `None` if there is none. The ring
    /// no longer holds what was acknowledged meanwhile.
    #[inline]
    fn left(&self, una: Offset) -> Option<Segment> {
        let mut whole = Segment {
            len: self.len,
            flags: self.flags,
            ..self.first
        };
        if whole.len > 0 && whole.seq < una {
            let acknowledged = una.since(whole.seq).div_ceil(u64::from(self.first.len));
            let octets = (acknowledged * u64::from(self.first.len)).min(u64::from(self.len));
            whole.seq += octets;
            whole.len -= octets as u32;
        }
        (whole.len > 0 || self.len == 0).then_some(whole)
    }
}

/// The largest payload of a packet, in octets: what IP's length field leaves beside the longest
/// headers.
const MOST_PAYLOAD: u32 = u16::MAX as u32 - 120;

/// No answer to a stranger is queued if there are this many entries.
const MOST_ANSWERS: usize = 4096;
/// The most octets of answers to strangers that wait in the queue.
const MOST_ANSWERED: usize = 1 << 20;

impl Core {
    /// Returns whether packets wait to be sent.
    #[must_use]
    #[inline]
    pub fn has_packets(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Fills `batch` with as many of the packets that are due as it holds; its previous contents
    /// are dropped.
    pub fn fill(&mut self, batch: &mut Batch) {
        batch.clear();
        while batch.octets.len() < BATCH {
            let Some(entry) = self.queue.pop() else {
                break;
            };
            match entry {
                Entry::Run(run) => {
                    let socket = &mut self.sockets[run.key];
                    socket.queued -= 1;
                    batch.add(&self.abilities, socket, &run);
                    self.bury(run.key);
                }
                Entry::Whole(packet) => batch.add_whole(&self.abilities, &packet),
            }
        }
    }
}

impl Batch {
    /// Passes each packet to `send`, with the device's headroom before it.
    pub fn drain(&mut self, headroom: usize, mut send: impl FnMut(&mut [u8], Option<Offload>)) {
        for packet in &self.packets {
            let octets = &mut self.octets[packet.start - headroom..packet.end];
            send(octets, packet.offload);
        }
        self.clear();
    }

    fn clear(&mut self) {
        self.octets.clear();
        self.packets.clear();
    }

    #[inline]
    fn add(&mut self, abilities: &Abilities, socket: &Socket, run: &Run) {
        let Some(whole) = run.left(socket.connection.sender().vars().una) else {
            return;
        };
        let header = socket.outgoing().header(&whole);
        let headers_len = socket.path.headers_len(&header.options);
        let start = self.octets.len() + abilities.headroom;
        self.octets.resize(start + headers_len, 0);
        for slice in socket.send.slices(whole.data()) {
            self.octets.extend_from_slice(slice);
        }
        let checksum = match abilities.offload {
            true => Checksum::PseudoHeader,
            false => Checksum::Full,
        };
        let packet = &mut self.octets[start..];
        socket.path.write_headers(&header, checksum, packet);
        let several = whole.len > run.first.len;
        // The device would copy the pointer into every piece.
        if !several && let Some(pointer) = socket.urgent_pointer(&whole) {
            socket.path.mark_urgent(pointer, checksum, packet);
        }
        self.packets.push(Staged {
            start,
            end: self.octets.len(),
            offload: abilities.offload.then(|| Offload {
                ip_header: socket.path.version().header_len() as u16,
                headers: headers_len as u16,
                segment: if several { run.first.len as u16 } else { 0 },
                ipv6: socket.path.version() == Version::V6,
            }),
        });
    }

    fn add_whole(&mut self, abilities: &Abilities, packet: &[u8]) {
        let start = self.octets.len() + abilities.headroom;
        self.octets.resize(start, 0);
        self.octets.extend_from_slice(packet);
        let end = self.octets.len();
        self.packets.push(Staged {
            start,
            end,
            offload: None,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinygram_engine::Options;

    fn segment(seq: u64, len: u32) -> Segment {
        Segment {
            seq: Offset::new(seq),
            ack: Offset::FIRST,
            len,
            window: 1000,
            flags: Flags::ACK,
            options: Options::default(),
        }
    }

    #[test]
    fn segments_that_continue_each_other_become_one_packet() {
        let mut queue = Queue::default();
        assert!(queue.push(7, segment(1, 100), true));
        assert!(!queue.push(7, segment(101, 100), true));
        assert!(!queue.push(7, segment(201, 40), true), "the last one");
        assert!(queue.push(7, segment(241, 40), true), "none follows it");
        assert!(
            queue.push(7, segment(281, 41), true),
            "longer than the first"
        );
        assert!(queue.push(8, segment(322, 41), true), "another's");
        let acks_more = Segment {
            ack: Offset::new(9),
            ..segment(363, 41)
        };
        assert!(queue.push(8, acks_more, true), "it says something else");
        assert!(queue.push(8, segment(405, 41), true), "a hole before it");
        assert!(queue.push(8, segment(446, 41), false), "no offload");
    }

    #[test]
    fn a_packet_has_room_for_64_kib() {
        let mut queue = Queue::default();
        let own = (0..100_u64).filter(|n| queue.push(1, segment(1 + n * 1448, 1448), true));
        assert_eq!(own.collect::<Vec<_>>(), [0, 45, 90]);
    }

    #[test]
    fn what_was_acknowledged_meanwhile_is_left_out() {
        let mut queue = Queue::default();
        queue.push(7, segment(1, 100), true);
        queue.push(7, segment(101, 40), true);
        let Some(Entry::Run(run)) = queue.pop() else {
            unreachable!("it was pushed");
        };
        let left = |una| {
            let whole = run.left(Offset::new(una))?;
            Some((whole.seq.get(), whole.len))
        };
        assert_eq!(left(1), Some((1, 140)));
        assert_eq!(left(101), Some((101, 40)));
        assert_eq!(
            left(102),
            None,
            "the peer has a part; the rest is sent again"
        );
        assert_eq!(left(141), None);
    }
}
