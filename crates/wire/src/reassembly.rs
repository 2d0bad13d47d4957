//! Puts the fragments of IP packets together (RFC 791, section 3.2; RFC 8200, section 4.5).
//!
//! Memory and time are bounded. A fragment all of whose places are taken is a copy and is ignored;
//! any other overlap is an attack: the whole packet is dropped (RFC 5722, section 4). Linux
//! does both, for IPv4 as well.

use std::collections::BTreeMap;

use tinygram_engine::{Duration, Instant};

use crate::checksum::Sum;

/// How long the rest of a packet is waited for: Linux's time for IPv4 (`ipfrag_time`; RFC 1122,
/// section 3.3.2, recommends 60 to 120 seconds, in which the identification may come again) ...
const LIFE_V4: Duration = Duration::from_secs(30);
/// ... and RFC 8200's for IPv6 (section 4.5).
const LIFE_V6: Duration = Duration::from_secs(60);
/// The most memory that all packets together take, in octets (Linux: `ipfrag_high_thresh`).
const MOST: usize = 4 << 20;
/// What a fragment costs in memory besides its octets: its place in a tree and the allocation.
const OVERHEAD: usize = 128;
/// What a packet costs besides its fragments: its places in three trees, whose nodes may be less than
/// half full, and the first node of its own tree. A flood of packets with one small fragment each was
/// measured to take about 800 octets for each.
const PACKET: usize = 1024;
/// The most octets that an ICMP error quotes: of IPv6, whose errors may be longer than IPv4's, what
/// fits beside the headers into the least MTU (RFC 4443, section 3.3).
const MOST_QUOTED: usize = 1280 - 40 - 8;
/// The longest packet, in octets.
const LONGEST: usize = u16::MAX as usize;
/// CE among the codepoints of ECN, and the one that says that ECN is not in use.
const CE: u8 = 0b11;
const NOT_ECT: u8 = 0b00;

const FRAGMENT: u8 = 44;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const DESTINATION: u8 = 60;
const AUTHENTICATION: u8 = 51;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Packets of which some fragments have come.
#[derive(Debug, Default)]
pub struct Reassembler {
    packets: BTreeMap<Key, Partial>,
    /// The packets of IPv4, the oldest first, and those of IPv6. All of one version have the same time.
    order: [BTreeMap<u64, Key>; 2],
    next_serial: u64,
    held: usize,
}

/// What the fragments of a packet have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    v6: bool,
    /// IPv4's protocol; 0 for IPv6, whose identification is enough.
    protocol: u8,
    id: u32,
    source: [u8; 16],
    destination: [u8; 16],
}

/// A fragment, as its headers describe it.
#[derive(Debug)]
struct Fragment<'a> {
    key: Key,
    /// Where its payload belongs, in octets.
    start: usize,
    payload: &'a [u8],
    /// Whether more follow behind it.
    more: bool,
    /// The headers that every fragment has.
    header: &'a [u8],
    /// The place in `header` of the number of the next header, and that number (IPv6).
    next: (usize, u8),
    ecn: u8,
}

/// A packet of which some fragments have come.
#[derive(Debug)]
struct Partial {
    serial: u64,
    until: Instant,
    /// The headers of the first fragment, once it has come.
    header: Option<(Vec<u8>, (usize, u8))>,
    pieces: BTreeMap<usize, Vec<u8>>,
    /// The length of the whole payload, once the last fragment has come.
    len: Option<usize>,
    /// The octets of all pieces.
    octets: usize,
    /// What it counts for in memory.
    held: usize,
    /// The codepoints of ECN that were seen, a bit for each.
    ecn: u8,
    /// Whether it must not be put together any more.
    spoilt: bool,
}

impl Reassembler {
    /// Takes a fragment in. Returns the whole packet if it was the last one that was missing. What is
    /// late must have [expired](Self::expire) before.
    pub fn add(&mut self, now: Instant, packet: &[u8]) -> Option<Vec<u8>> {
        let fragment = parse(packet)?;
        // A fragment that is the whole packet has nothing to do with others (RFC 6946, section 4).
        if fragment.key.v6 && fragment.start == 0 && !fragment.more {
            return Some(whole(
                fragment.header,
                fragment.next,
                fragment.ecn,
                fragment.payload,
            ));
        }
        let key = fragment.key;
        let partial = self.begin(now, key);
        let before = partial.held;
        partial.take(&fragment);
        let after = partial.held;
        let done = partial.is_complete();
        self.held = self.held + after - before;
        if done {
            return self.forget(&key).and_then(Partial::join);
        }
        while self.held > MOST {
            self.drop_the_oldest();
        }
        None
    }

    /// Forgets the packets whose time is over. Returns, of each whose first fragment has come, as much
    /// of that fragment as an ICMP error may quote.
    pub fn expire(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let mut late = Vec::new();
        for version in 0..self.order.len() {
            while let Some((_, key)) = self.order[version].first_key_value()
                && self.packets[key].until <= now
            {
                let key = *key;
                late.extend(self.forget(&key).and_then(|partial| partial.quote(&key)));
            }
        }
        late
    }

    /// Returns when the next packet's time is over, if none is completed before.
    #[must_use]
    pub fn next_expiry(&self) -> Option<Instant> {
        let of_each = self.order.iter().filter_map(BTreeMap::first_key_value);
        of_each.map(|(_, key)| self.packets[key].until).min()
    }

    /// Returns the octets of memory that it takes.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held
    }

    fn begin(&mut self, now: Instant, key: Key) -> &mut Partial {
        let Self {
            packets,
            order,
            next_serial,
            held,
            ..
        } = self;
        packets.entry(key).or_insert_with(|| {
            *next_serial += 1;
            order[usize::from(key.v6)].insert(*next_serial, key);
            *held += PACKET;
            let life = if key.v6 { LIFE_V6 } else { LIFE_V4 };
            Partial {
                serial: *next_serial,
                until: now + life,
                header: None,
                pieces: BTreeMap::new(),
                len: None,
                octets: 0,
                held: PACKET,
                ecn: 0,
                spoilt: false,
            }
        })
    }

    fn drop_the_oldest(&mut self) {
        let of_each = self.order.iter().filter_map(BTreeMap::first_key_value);
        let oldest = of_each.min_by_key(|(serial, _)| **serial);
        if let Some((_, key)) = oldest {
            let key = *key;
            self.forget(&key);
        }
    }

    fn forget(&mut self, key: &Key) -> Option<Partial> {
        let partial = self.packets.remove(key)?;
        self.order[usize::from(key.v6)].remove(&partial.serial);
        self.held -= partial.held;
        Some(partial)
    }
}

impl Partial {
    fn take(&mut self, fragment: &Fragment<'_>) {
        let agrees = self.ends_where_it_must(fragment);
        if self.spoilt || agrees && self.covers(fragment) {
            return;
        }
        if !agrees || self.overlaps(fragment) {
            // The fragments that are still to come are dropped as well (RFC 5722, section 4).
            self.spoilt = true;
            self.pieces.clear();
            self.header = None;
            self.held = PACKET;
            return;
        }
        let len = fragment.payload.len();
        if !fragment.more {
            self.len = Some(fragment.start + len);
        }
        if fragment.start == 0 {
            self.header = Some((fragment.header.to_vec(), fragment.next));
            self.held += fragment.header.len();
        }
        self.ecn |= 1 << fragment.ecn;
        self.octets += len;
        self.held += len + OVERHEAD;
        self.pieces
            .insert(fragment.start, fragment.payload.to_vec());
    }

    /// Returns whether all places of the fragment are taken.
    fn covers(&self, fragment: &Fragment<'_>) -> bool {
        let mut missing = fragment.start;
        let end = fragment.start + fragment.payload.len();
        while missing < end {
            match self.pieces.range(..=missing).next_back() {
                Some((at, piece)) if at + piece.len() > missing => missing = at + piece.len(),
                _ => return false,
            }
        }
        true
    }

    /// Returns whether any place of the fragment is taken.
    fn overlaps(&self, fragment: &Fragment<'_>) -> bool {
        let end = fragment.start + fragment.payload.len();
        let before = self.pieces.range(..end).next_back();
        before.is_some_and(|(at, piece)| at + piece.len() > fragment.start)
    }

    /// Returns whether the fragment agrees with the others on the end of the packet.
    fn ends_where_it_must(&self, fragment: &Fragment<'_>) -> bool {
        let end = fragment.start + fragment.payload.len();
        let last = self.pieces.last_key_value();
        match self.len {
            Some(len) if fragment.more => end <= len,
            Some(len) => end == len,
            None => fragment.more || last.is_none_or(|(at, piece)| at + piece.len() <= end),
        }
    }

    fn is_complete(&self) -> bool {
        !self.spoilt && self.header.is_some() && self.len == Some(self.octets)
    }

    /// Returns the beginning of the first fragment as it came, if it has come.
    fn quote(self, key: &Key) -> Option<Vec<u8>> {
        let (mut quote, (_, next)) = self.header?;
        if key.v6 {
            quote.extend([next, 0, 0, 1]);
            quote.extend(key.id.to_be_bytes());
        }
        quote.extend(self.pieces.get(&0)?);
        quote.truncate(MOST_QUOTED);
        Some(quote)
    }

    /// Returns the packet, of which everything has come.
    fn join(self) -> Option<Vec<u8>> {
        let (header, next) = self.header?;
        let payload: Vec<u8> = self.pieces.into_values().flatten().collect();
        let marked = self.ecn & 1 << CE != 0;
        // A mark on a packet that does not take part in ECN is damage (RFC 3168, section 5.3).
        if marked && self.ecn & 1 << NOT_ECT != 0 || header.len() + payload.len() > LONGEST {
            return None;
        }
        let own = if header[0] >> 4 == 4 {
            header[1]
        } else {
            header[1] >> 4
        };
        let ecn = if marked { CE } else { own & CE };
        Some(whole(&header, next, ecn, &payload))
    }
}

/// Returns a packet with these headers, of which the fields of fragments are cleared.
fn whole(header: &[u8], next: (usize, u8), ecn: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = header.to_vec();
    if header[0] >> 4 == 4 {
        let total = (header.len() + payload.len()) as u16;
        packet[1] = packet[1] & !CE | ecn;
        packet[2..4].copy_from_slice(&total.to_be_bytes());
        packet[6..8].fill(0);
        packet[10..12].fill(0);
        let sum = Sum::default().with(&packet).checksum();
        packet[10..12].copy_from_slice(&sum);
    } else {
        let len = (header.len() - 40 + payload.len()) as u16;
        packet[1] = packet[1] & !(CE << 4) | ecn << 4;
        packet[4..6].copy_from_slice(&len.to_be_bytes());
        packet[next.0] = next.1;
    }
    packet.extend_from_slice(payload);
    packet
}

/// Returns the fragment that the packet is; `None` if it is none, or damaged.
fn parse(packet: &[u8]) -> Option<Fragment<'_>> {
    let fragment = match packet.first()? >> 4 {
        4 => parse_v4(packet)?,
        6 => parse_v6(packet)?,
        _ => return None,
    };
    let len = fragment.payload.len();
    // Only the last fragment's length may be any number.
    let even = !fragment.more || len.is_multiple_of(8);
    let fits = fragment.header.len() + fragment.start + len <= LONGEST;
    (even && fits && len > 0).then_some(fragment)
}

fn parse_v4(packet: &[u8]) -> Option<Fragment<'_>> {
    let be16 = |at: usize| Some(u16::from_be_bytes([*packet.get(at)?, *packet.get(at + 1)?]));
    let header_len = usize::from(packet[0] & 0x0f) * 4;
    let place = be16(6)?;
    let header = packet
        .get(..header_len)
        .filter(|header| header.len() >= 20)?;
    let address = |at: usize| {
        let mut octets = [0; 16];
        octets[..4].copy_from_slice(&header[at..at + 4]);
        octets
    };
    let payload = packet.get(header_len..be16(2)?.into())?;
    (place & 0x3fff != 0).then_some(Fragment {
        key: Key {
            v6: false,
            protocol: header[9],
            id: be16(4)?.into(),
            source: address(12),
            destination: address(16),
        },
        start: usize::from(place & 0x1fff) * 8,
        payload,
        more: place & 0x2000 != 0,
        header,
        next: (9, header[9]),
        ecn: header[1] & CE,
    })
}

fn parse_v6(packet: &[u8]) -> Option<Fragment<'_>> {
    let len = u16::from_be_bytes([*packet.get(4)?, *packet.get(5)?]);
    let packet = packet.get(..40 + usize::from(len))?;
    let (mut next_at, mut at) = (6, 40);
    while packet[next_at] != FRAGMENT {
        if !matches!(packet[next_at], HOP_BY_HOP | ROUTING | DESTINATION) {
            return None;
        }
        next_at = at;
        at += 8 + usize::from(*packet.get(at + 1)?) * 8;
    }
    let fields: &[u8; 8] = packet.get(at..)?.first_chunk()?;
    let place = u16::from_be_bytes([fields[2], fields[3]]);
    let (start, more) = (usize::from(place & 0xfff8), place & 1 != 0);
    let payload = &packet[at + 8..];
    if start == 0 && more && !has_all_headers(fields[0], payload) {
        return None;
    }
    Some(Fragment {
        key: Key {
            v6: true,
            protocol: 0,
            id: u32::from_be_bytes([fields[4], fields[5], fields[6], fields[7]]),
            source: packet[8..24].try_into().ok()?,
            destination: packet[24..40].try_into().ok()?,
        },
        start,
        payload,
        more,
        header: &packet[..at],
        next: (next_at, fields[0]),
        ecn: packet[1] >> 4 & CE,
    })
}

/// Returns whether the payload of a first fragment, which begins with a header of kind `next`, has
/// all headers up to that of the upper layer; otherwise "that fragment should be discarded" (RFC
/// 8200, section 4.5; Linux: `ipv6frag_thdr_truncated`).
fn has_all_headers(mut next: u8, payload: &[u8]) -> bool {
    let mut at = 0;
    loop {
        let fields = (payload.get(at), payload.get(at + 1));
        let upper = match next {
            HOP_BY_HOP | ROUTING | DESTINATION | AUTHENTICATION => {
                let (Some(following), Some(len)) = fields else {
                    return false;
                };
                let len = usize::from(*len);
                at += match next {
                    AUTHENTICATION => (len + 2) * 4,
                    _ => (len + 1) * 8,
                };
                next = *following;
                continue;
            }
            TCP => 20,
            UDP => 8,
            _ => 1,
        };
        return at + upper <= payload.len();
    }
}

#[cfg(test)]
mod tests;
