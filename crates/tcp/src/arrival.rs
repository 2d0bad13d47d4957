//! Handles arriving packets: finds the connection of each, and stores its octets.

use std::net::IpAddr;

use tinygram_engine::{Flags, Instant, Offset, Segment, Span, State};
use tinygram_wire::encode::{Checksum, Path};
use tinygram_wire::options::Options;
use tinygram_wire::packet::{self, Header, Packet, Refused, Verify};
use tinygram_wire::sequence::Sequence;

use super::listener::Admission;
use super::socket::Owner;
use super::{Core, Pair, addresses, icmp, icmp_error};

/// Segments of one connection that arrived back to back and count as one: the engine is asked once,
/// and one acknowledgment goes back (as Linux's GRO does below TCP).
#[derive(Clone, Copy, Debug)]
pub(super) struct Gathered {
    key: usize,
    segment: Segment,
    /// The header that the next segment must have, apart from flags and length.
    next: Header,
}

/// The most octets that are gathered.
const MOST_GATHERED: u32 = 512 * 1024;

impl Core {
    /// Handles a packet that arrived.
    #[inline]
    pub fn on_packet(&mut self, now: Instant, octets: &[u8], verify: Verify) {
        self.counters.packets_in += 1;
        match packet::read(octets, verify) {
            Ok(packet) if self.addresses.contains(&packet.destination.address()) => {
                self.on_tcp(now, &packet);
            }
            Ok(_) => self.counters.strange += 1,
            Err(Refused::Protocol(icmp::ICMP | icmp::ICMP_V6)) => self.on_icmp(now, octets),
            Err(Refused::Fragment) => self.on_fragment(now, octets),
            Err(_) => self.counters.refused += 1,
        }
    }

    #[cold]
    fn on_fragment(&mut self, now: Instant, octets: &[u8]) {
        self.counters.fragments += 1;
        self.give_up_fragments(now);
        let ours = icmp::destination(octets).is_some_and(|to| self.addresses.contains(&to));
        if ours && icmp::source(octets).is_some_and(|from| self.is_martian(from)) {
            return;
        }
        match &mut self.fragments {
            Some(fragments) if ours => {
                if let Some(packet) = fragments.add(now, octets) {
                    self.counters.reassembled += 1;
                    // Fragments of fragments are an attack on the reader.
                    if packet::read(&packet, Verify::Nothing) == Err(Refused::Fragment) {
                        self.counters.refused += 1;
                        return;
                    }
                    // No device has verified the whole.
                    self.on_packet(now, &packet, Verify::Checksum);
                }
            }
            _ => self.counters.refused += 1,
        }
    }

    /// Forgets packets of which fragments were missing for too long, and tells their senders.
    pub(super) fn give_up_fragments(&mut self, now: Instant) {
        let Some(fragments) = &mut self.fragments else {
            return;
        };
        for first in fragments.expire(now) {
            if let Some(error) = icmp::time_exceeded(&first)
                && self.allowance.take(now)
            {
                self.counters.time_exceeded += u64::from(self.queue.push_whole(error));
            }
        }
    }

    /// Handles what was gathered, because no more packets are at hand.
    #[inline]
    pub fn on_batch_end(&mut self, now: Instant) {
        if let Some(gathered) = self.gathered.take() {
            let socket = &mut self.sockets[gathered.key];
            let had_urgent = socket.has_urgent();
            socket
                .connection
                .on_segment(now, &gathered.segment, &mut self.outbox);
            if !had_urgent && socket.has_urgent() {
                socket.wake_reader(&mut self.wakers);
            }
            self.settle(gathered.key);
        }
        self.relieve(now);
    }

    fn on_tcp(&mut self, now: Instant, packet: &Packet<'_>) {
        let pair = Pair {
            local: packet.destination,
            remote: packet.source,
        };
        let known = self.pairs.get(&pair).copied();
        if let Some(key) = known
            && self.gather(now, key, packet)
        {
            return;
        }
        self.on_batch_end(now);
        // What was gathered may have ended the connection.
        match known.filter(|key| self.sockets.contains(*key)) {
            Some(key) if self.reopens(key, &packet.header) => {
                self.sockets[key].connection.abort(&mut self.outbox);
                self.outbox.segments.clear();
                self.settle(key);
                self.on_stranger(now, pair, packet);
            }
            Some(key) => self.on_segment(now, key, packet),
            None => self.on_stranger(now, pair, packet),
        }
    }

    /// Adds the packet to those gathered, or begins a new group with it; returns whether that was
    /// possible.
    #[inline]
    fn gather(&mut self, now: Instant, key: usize, packet: &Packet<'_>) -> bool {
        let header = &packet.header;
        let plain = header.flags.without(Flags::PSH) == Flags::ACK
            && !packet.payload.is_empty()
            && packet.urgent.is_none();
        if !plain {
            return false;
        }
        let socket = &mut self.sockets[key];
        let len = packet.payload.len() as u32;
        let (start, so_far) = match &self.gathered {
            Some(gathered) => {
                let next = Header {
                    flags: header.flags,
                    ..gathered.next
                };
                let fits = gathered.key == key
                    && next == *header
                    && gathered.segment.len + len <= MOST_GATHERED;
                if !fits {
                    return false;
                }
                (gathered.segment.data().end, Some(gathered.segment))
            }
            None => {
                let receiver = socket.connection.receiver();
                let in_order = socket.connection.state() == State::Established
                    && receiver.out_of_order().is_empty()
                    && header.options.sack.is_empty()
                    && header.seq == socket.theirs.number(receiver.nxt());
                if !in_order {
                    return false;
                }
                (receiver.nxt(), None)
            }
        };
        // The engine will take all of it.
        let span = Span::new(start, start + u64::from(len));
        let right_edge = socket.connection.receiver().right_edge();
        if span.end > right_edge || !self.has_memory(len as usize) {
            return false;
        }
        let socket = &mut self.sockets[key];
        let segment = match so_far {
            Some(before) => Segment {
                len: before.len + len,
                flags: before.flags.with(header.flags),
                ..before
            },
            None => socket.incoming(header, packet.payload.len()),
        };
        socket.keep(span, start, packet.payload, &mut self.memory.pieces);
        socket.chronicle.arrived(now, len);
        self.gathered = Some(Gathered {
            key,
            segment,
            next: Header {
                seq: header.seq.wrapping_add(len),
                ..*header
            },
        });
        true
    }

    /// Handles a segment of a known connection.
    pub(super) fn on_segment(&mut self, now: Instant, key: usize, packet: &Packet<'_>) {
        let socket = &mut self.sockets[key];
        // The peer's numbers begin with its SYN.
        if socket.connection.state() == State::SynSent && packet.header.flags.has(Flags::SYN) {
            socket.theirs = Sequence::new(packet.header.seq);
        }
        if !socket.was_connected {
            socket.peer_ttl = packet.ttl;
        }
        let segment = socket.incoming(&packet.header, packet.payload.len());
        socket.chronicle.arrived(now, segment.len);
        let had_urgent = socket.has_urgent();
        let nxt = socket.connection.receiver().nxt();
        let news = packet
            .urgent
            .and_then(|at| socket.announces(now, &segment, at));
        if segment.len == 0 {
            socket
                .connection
                .on_segment(now, &segment, &mut self.outbox);
        } else if self.may_store(now, key, &segment) {
            self.on_data(now, key, &segment, packet.payload);
        } else {
            self.counters.not_stored += 1;
            let connection = &mut self.sockets[key].connection;
            connection.on_segment_without_memory(now, &segment, &mut self.outbox);
        }
        let socket = &mut self.sockets[key];
        if !had_urgent && socket.has_urgent() {
            socket.wake_reader(&mut self.wakers);
        }
        let open = self.sockets[key].connection.state() != State::Closed;
        if let Some(at) = news.filter(|_| open) {
            self.on_urgent(now, key, at, nxt);
        }
        self.settle(key);
    }

    /// Handles a segment with data, and stores what is new of it.
    fn on_data(&mut self, now: Instant, key: usize, segment: &Segment, payload: &[u8]) {
        let socket = &mut self.sockets[key];
        let receiver = socket.connection.receiver();
        let (before, had) = (receiver.nxt(), receiver.out_of_order().to_vec());
        socket.connection.on_segment(now, segment, &mut self.outbox);
        // This packet contains exactly what the engine has now and did not have before. A segment
        // that it refused must not touch the stored octets.
        let span = segment.data();
        let receiver = socket.connection.receiver();
        let mut has = vec![Span::new(before, receiver.nxt())];
        has.extend_from_slice(receiver.out_of_order());
        for range in has {
            for new in without(intersection(range, span), &had) {
                socket.keep(new, span.start, payload, &mut self.memory.pieces);
            }
        }
    }

    /// Answers a segment for which there is no connection.
    fn on_stranger(&mut self, now: Instant, pair: Pair, packet: &Packet<'_>) {
        // RFC 9293, MUST-63. No connection with such a peer exists, so that others need no check.
        if self.is_martian(pair.remote.address()) {
            return;
        }
        let flags = packet.header.flags;
        let syn_alone = flags.has(Flags::SYN) && !flags.any(Flags::ACK.with(Flags::RST));
        let listener = self.listeners.iter().find_map(|(key, listener)| {
            let address = listener.local.address();
            let here = address.is_unspecified() || address == pair.local.address();
            (listener.local.port == pair.local.port && here).then_some(key)
        });
        match listener {
            Some(listener) if syn_alone => self.on_syn(now, listener, pair, packet),
            // "Any other control or data-bearing segment (not containing SYN) must have an ACK" to
            // be answered; others are dropped (RFC 9293, section 3.10.7.2). A SYN with RST does not
            // count as a SYN.
            Some(_) if !flags.has(Flags::ACK) => {}
            Some(listener) if self.take_cookie(now, listener, pair, packet) => {}
            _ => self.reset(pair, packet),
        }
    }

    fn on_syn(&mut self, now: Instant, key: usize, pair: Pair, packet: &Packet<'_>) {
        let listener = &mut self.listeners[key];
        let serial = match listener.admit() {
            Admission::Granted(serial) => serial,
            Admission::InsteadOf(serial, oldest) => {
                self.counters.evicted += 1;
                self.disown(oldest);
                let evicted = &mut self.sockets[oldest];
                evicted.connection.abort(&mut self.outbox);
                // It may be forged, so its supposed sender gets no answer.
                self.outbox.segments.clear();
                self.settle(oldest);
                serial
            }
            Admission::Cookie => {
                self.send_cookie(now, key, pair, packet);
                return;
            }
            Admission::NoRoom => {
                self.counters.no_room += 1;
                return;
            }
        };
        let options = self.listeners[key].options.clone();
        let owner = Owner::HalfOpen {
            listener: key,
            serial,
        };
        let socket = self
            .open(now, pair, &options, owner)
            .expect("addresses of one packet");
        self.listeners[key].opened(serial, socket);
        let connection = &mut self.sockets[socket];
        connection.connection.listen();
        connection.theirs = Sequence::new(packet.header.seq);
        self.on_segment(now, socket, packet);
    }

    /// Returns whether a SYN opens a new connection in place of an old one in TIME-WAIT.
    fn reopens(&self, key: usize, header: &Header) -> bool {
        let socket = &self.sockets[key];
        socket.connection.state() == State::TimeWait
            && header.flags.has(Flags::SYN)
            && socket.connection.gives_way_to(&socket.incoming(header, 0))
    }

    /// Answers with a RST (RFC 9293, section 3.10.7.1).
    fn reset(&mut self, pair: Pair, packet: &Packet<'_>) {
        let came = &packet.header;
        if came.flags.has(Flags::RST) {
            return;
        }
        let (seq, ack, flags) = match came.flags.has(Flags::ACK) {
            true => (came.ack, 0, Flags::RST),
            false => {
                let takes = [Flags::SYN, Flags::FIN].map(|flag| u32::from(came.flags.has(flag)));
                let len = packet.payload.len() as u32 + takes.iter().sum::<u32>();
                let ack = came.seq.wrapping_add(len);
                (0, ack, Flags::RST.with(Flags::ACK))
            }
        };
        let header = Header {
            seq,
            ack,
            flags,
            window: 0,
            options: Options::default(),
        };
        let path = Path::new(pair.local, pair.remote).expect("addresses of one packet");
        let mut answer = vec![0; path.headers_len(&header.options)];
        path.write_headers(&header, Checksum::Full, &mut answer);
        self.counters.resets += u64::from(self.queue.push_whole(answer));
    }

    /// Returns whether no other host can have sent a packet from this address, and counts it.
    fn is_martian(&mut self, source: IpAddr) -> bool {
        let martian = addresses::check_peer(source, &self.addresses).is_err();
        self.counters.martians += u64::from(martian);
        martian
    }

    fn on_icmp(&mut self, now: Instant, packet: &[u8]) {
        let ours = icmp::destination(packet).is_some_and(|to| self.addresses.contains(&to));
        if ours && icmp::source(packet).is_some_and(|from| self.is_martian(from)) {
            return;
        }
        if ours && let Some(error) = icmp_error::read(packet) {
            self.on_icmp_error(now, &error);
        } else if ours && let Some(reply) = icmp::echo_reply(packet) {
            self.answer_echo(reply);
        }
    }

    /// Queues the reply to an echo request. It does not leave in fragments, so a reassembled request
    /// may be too large to be answered.
    fn answer_echo(&mut self, reply: Vec<u8>) {
        if reply.len() <= self.abilities.mtu.into() {
            self.counters.echoes += u64::from(self.queue.push_whole(reply));
        }
    }
}

fn intersection(one: Span, other: Span) -> Span {
    Span::new(one.start.max(other.start), one.end.min(other.end))
}

/// Returns the parts of `span` that lie outside `ranges`, which are in order and disjoint.
fn without(span: Span, ranges: &[Span]) -> Vec<Span> {
    let mut parts = Vec::new();
    let mut start: Offset = span.start;
    for range in ranges {
        if range.end <= start || range.start >= span.end {
            continue;
        }
        if range.start > start {
            parts.push(Span::new(start, range.start));
        }
        start = start.max(range.end);
    }
    if start < span.end {
        parts.push(Span::new(start, span.end));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_without_some_ranges() {
        let span = |start, end| Span::new(Offset::new(start), Offset::new(end));
        let ranges = [span(1, 3), span(5, 7), span(9, 20)];
        assert_eq!(without(span(2, 10), &ranges), [span(3, 5), span(7, 9)]);
        assert_eq!(without(span(5, 7), &ranges), []);
        assert_eq!(without(span(20, 25), &ranges), [span(20, 25)]);
        assert_eq!(without(span(8, 3), &ranges), []);
    }
}
