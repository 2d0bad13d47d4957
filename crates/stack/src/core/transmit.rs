//! From the engine's segments to packets in a buffer, for a device to send.

use std::collections::VecDeque;

use tinygram_engine::{Flags, Segment};
use tinygram_wire::encode::{Checksum, Path, Version};
use tinygram_wire::packet::Header;

use super::Core;
use super::socket::Socket;
use crate::device::{Abilities, Offload};

/// What waits to be sent.
#[derive(Debug, Default)]
pub(super) struct Queue {
    entries: VecDeque<Entry>,
}

#[derive(Debug)]
enum Entry {
    /// A segment of a socket; its payload is still in the socket's ring.
    Segment { key: usize, segment: Segment },
    /// A packet that stands as it is: an answer to nobody's segment, or an echo.
    Whole(Vec<u8>),
}

/// Packets that stand one after the other in one buffer.
#[derive(Debug, Default)]
pub struct Batch {
    octets: Vec<u8>,
    packets: Vec<Staged>,
    /// The packet under way, whose headers are written when it is whole.
    open: Option<Open>,
}

#[derive(Clone, Copy, Debug)]
struct Staged {
    start: usize,
    end: usize,
    offload: Option<Offload>,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    key: usize,
    path: Path,
    header: Header,
    start: usize,
    headers_len: usize,
    /// The first segment's payload; those that follow in the same packet are as long, the last one
    /// perhaps shorter.
    segment_len: usize,
    /// The last segment was shorter than the first, or carried what ends a packet.
    complete: bool,
}

/// A batch is full when it has so many octets: what a cache near the processor holds.
const BATCH: usize = 64 * 1024;

impl Queue {
    pub(super) fn push(&mut self, key: usize, segment: Segment) {
        self.entries.push_back(Entry::Segment { key, segment });
    }

    pub(super) fn push_whole(&mut self, packet: Vec<u8>) {
        // What answers a flood must not use up memory; answers may be lost.
        if self.entries.len() < MOST_ANSWERS {
            self.entries.push_back(Entry::Whole(packet));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// No answer to a stranger is queued behind more entries than this.
const MOST_ANSWERS: usize = 4096;

impl Core {
    /// Whether packets wait to be sent.
    #[must_use]
    #[inline]
    pub fn has_packets(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Fills `batch` with packets that are due, as many as it holds; what it held is forgotten.
    pub fn fill(&mut self, batch: &mut Batch) {
        batch.clear();
        while batch.octets.len() < BATCH {
            let Some(entry) = self.queue.entries.pop_front() else {
                break;
            };
            match entry {
                Entry::Segment { key, segment } => {
                    batch.add(&self.abilities, key, &self.sockets[key], &segment);
                    self.sockets[key].queued -= 1;
                    self.bury(key);
                }
                Entry::Whole(packet) => batch.add_whole(&self.abilities, &packet),
            }
        }
        batch.close();
    }
}

impl Batch {
    /// Gives each packet to `send`, with the device's headroom in front of it.
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
        self.open = None;
    }

    #[inline]
    fn add(&mut self, abilities: &Abilities, key: usize, socket: &Socket, segment: &Segment) {
        let header = socket.outgoing().header(segment);
        // What was acknowledged since is in the ring no longer, and needs no sending.
        if segment.len > 0 && segment.seq < socket.connection.sender().vars().una {
            return;
        }
        let (first, second) = socket.send.slices(segment.data());
        let appended = abilities.offload && self.append(key, &header, first, second);
        if appended {
            return;
        }
        self.close();
        let headers_len = socket.path.headers_len(&header.options);
        let start = self.octets.len() + abilities.headroom;
        self.octets.resize(start + headers_len, 0);
        self.octets.extend_from_slice(first);
        self.octets.extend_from_slice(second);
        let open = Open {
            key,
            path: socket.path,
            header,
            start,
            headers_len,
            segment_len: segment.len as usize,
            complete: segment.len == 0 || header.flags != Flags::ACK,
        };
        if abilities.offload {
            self.open = Some(open);
        } else {
            let packet = &mut self.octets[start..];
            socket.path.write_headers(&header, Checksum::Full, packet);
            let end = self.octets.len();
            self.packets.push(Staged {
                start,
                end,
                offload: None,
            });
        }
    }

    /// Lets the segment be part of the packet under way, if it continues that.
    #[inline]
    fn append(&mut self, key: usize, header: &Header, first: &[u8], second: &[u8]) -> bool {
        let Some(open) = &mut self.open else {
            return false;
        };
        let len = first.len() + second.len();
        let so_far = self.octets.len() - open.start;
        let payload = so_far - open.headers_len;
        let expected = Header {
            seq: open.header.seq.wrapping_add(payload as u32),
            flags: header.flags,
            ..open.header
        };
        // The last one may carry PSH or FIN: the device sets them on the last piece only.
        let ends = Flags::PSH.with(Flags::FIN);
        let fits = open.key == key
            && !open.complete
            && len > 0
            && len <= open.segment_len
            && so_far + len <= usize::from(u16::MAX)
            && header.flags.without(ends) == Flags::ACK
            && *header == expected;
        if fits {
            open.header.flags = header.flags;
            open.complete = len < open.segment_len || header.flags != Flags::ACK;
            self.octets.extend_from_slice(first);
            self.octets.extend_from_slice(second);
        }
        fits
    }

    /// Writes the headers of the packet under way.
    #[inline]
    fn close(&mut self) {
        let Some(open) = self.open.take() else {
            return;
        };
        let end = self.octets.len();
        let packet = &mut self.octets[open.start..end];
        open.path
            .write_headers(&open.header, Checksum::PseudoHeader, packet);
        let payload = end - open.start - open.headers_len;
        let several = payload > open.segment_len;
        self.packets.push(Staged {
            start: open.start,
            end,
            offload: Some(Offload {
                ip_header: open.path.version().header_len() as u16,
                headers: open.headers_len as u16,
                segment: if several { open.segment_len as u16 } else { 0 },
                ipv6: open.path.version() == Version::V6,
            }),
        });
    }

    fn add_whole(&mut self, abilities: &Abilities, packet: &[u8]) {
        self.close();
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
