//! Encodes one of the engine's segments as the IP packet that carries it.
//!
//! We do not use `etherparse`, because a stack runs this once per packet. This encoder uses one
//! buffer and does not allocate; the caller copies the payload, once. The tests compare it with
//! `etherparse`.

use std::net::SocketAddr;

use tinygram_engine::{Flags, Segment, Span};

use crate::checksum::{Sum, pseudo_header};
use crate::endpoint::Endpoint;
use crate::options::{self, Options};
use crate::packet::Header;
use crate::sequence::Numbering;

/// Source and destination of the packets of one direction, and the header fields that follow from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    source: Endpoint,
    destination: Endpoint,
    version: Version,
    class: u8,
    ttl: u8,
}

/// A version of the Internet Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// RFC 791.
    V4,
    /// RFC 8200.
    V6,
}

/// The party that computes the TCP checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// This encoder computes it.
    Full,
    /// The device computes it. The encoder writes the pseudo-header's sum into the checksum field,
    /// as `CHECKSUM_PARTIAL` of Linux and `VIRTIO_NET_HDR_F_NEEDS_CSUM` require.
    PseudoHeader,
}

/// The error that the addresses are of different families.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("one address is of IPv4 and the other of IPv6")]
pub struct FamiliesDiffer;

impl Path {
    /// Returns the path from `source` to `destination`.
    ///
    /// # Errors
    ///
    /// Fails if one address is an IPv4 address and the other an IPv6 address.
    pub fn new(
        source: impl Into<Endpoint>,
        destination: impl Into<Endpoint>,
    ) -> Result<Self, FamiliesDiffer> {
        let (source, destination) = (source.into(), destination.into());
        if source.is_ipv4() != destination.is_ipv4() {
            return Err(FamiliesDiffer);
        }
        let version = match source.is_ipv4() {
            true => Version::V4,
            false => Version::V6,
        };
        Ok(Self {
            source,
            destination,
            version,
            class: 0,
            ttl: TTL,
        })
    }

    /// Sets the class of service, the octet that holds DSCP and ECN (IP_TOS, IPV6_TCLASS; RFC
    /// 2474), from 0 (the initial value) to 255. The ECN bits are ignored.
    pub fn set_class(&mut self, class: u8) {
        self.class = class & !ECN;
    }

    /// Returns the class of service, whose ECN bits are zero.
    #[must_use]
    pub fn class(&self) -> u8 {
        self.class
    }

    /// Sets the time to live or hop limit, from 1 to 255 (IP_TTL, IPV6_UNICAST_HOPS); the initial
    /// value is 64.
    pub fn set_ttl(&mut self, ttl: u8) {
        self.ttl = ttl.max(1);
    }

    /// Returns the time to live or hop limit.
    #[must_use]
    pub fn ttl(&self) -> u8 {
        self.ttl
    }

    /// Returns where packets come from.
    #[must_use]
    pub fn source(&self) -> SocketAddr {
        self.source.into()
    }

    /// Returns where packets go.
    #[must_use]
    pub fn destination(&self) -> SocketAddr {
        self.destination.into()
    }

    /// Returns the Internet Protocol's version.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns how many octets the headers before the payload take.
    #[must_use]
    #[inline]
    pub fn headers_len(&self, options: &Options) -> usize {
        self.version.header_len() + TCP_HEADER + options::len(options)
    }

    /// Writes the headers in front of a payload. `packet` begins with [`Path::headers_len`] octets
    /// that are overwritten, and all that follows is payload.
    ///
    /// # Panics
    ///
    /// If `packet` is shorter than its headers.
    #[inline]
    pub fn write_headers(&self, header: &Header, checksum: Checksum, packet: &mut [u8]) {
        let ip = self.version.header_len();
        let ecn = if header.flags.has(Flags::ECT) {
            ECT_0
        } else {
            0
        };
        self.write_ip(packet, self.class | ecn);
        let tcp = &mut packet[ip..];
        let header_len = TCP_HEADER + options::len(&header.options);
        tcp[0..2].copy_from_slice(&self.source.port.to_be_bytes());
        tcp[2..4].copy_from_slice(&self.destination.port.to_be_bytes());
        tcp[4..8].copy_from_slice(&header.seq.to_be_bytes());
        tcp[8..12].copy_from_slice(&header.ack.to_be_bytes());
        tcp[12] = (header_len as u8 / 4) << 4;
        tcp[13] = header.flags.bits();
        tcp[14..16].copy_from_slice(&header.window.to_be_bytes());
        // Checksum and urgent pointer.
        tcp[16..20].fill(0);
        options::write(&header.options, &mut tcp[TCP_HEADER..header_len]);
        let pseudo = self.pseudo_header(tcp.len());
        let sum = match checksum {
            Checksum::Full => pseudo.with(tcp).checksum(),
            Checksum::PseudoHeader => pseudo.folded(),
        };
        tcp[16..18].copy_from_slice(&sum);
    }

    /// Sets URG and the urgent pointer of a whole packet whose headers are written: urgent data ends
    /// `pointer` octets after its sequence number (RFC 9293, section 3.8.5).
    ///
    /// # Panics
    ///
    /// If `packet` is shorter than its headers.
    pub fn mark_urgent(&self, pointer: u16, checksum: Checksum, packet: &mut [u8]) {
        let tcp = &mut packet[self.version.header_len()..];
        tcp[13] |= Flags::URG.bits();
        tcp[18..20].copy_from_slice(&pointer.to_be_bytes());
        if checksum == Checksum::Full {
            tcp[16..18].fill(0);
            let sum = self.pseudo_header(tcp.len()).with(tcp).checksum();
            tcp[16..18].copy_from_slice(&sum);
        }
    }

    #[inline]
    fn write_ip(&self, packet: &mut [u8], class: u8) {
        let len = packet.len();
        match self.version {
            Version::V4 => {
                let [high, low] = (len as u16).to_be_bytes();
                // Version 4 and five words. DF is set, so the identification has no meaning (RFC
                // 6864, section 4.1).
                packet[..12]
                    .copy_from_slice(&[0x45, class, high, low, 0, 0, 0x40, 0, self.ttl, TCP, 0, 0]);
                packet[12..16].copy_from_slice(&self.source.v4_octets());
                packet[16..20].copy_from_slice(&self.destination.v4_octets());
                let sum = Sum::default().with(&packet[..20]).checksum();
                packet[10..12].copy_from_slice(&sum);
            }
            Version::V6 => {
                let [high, low] = ((len - 40) as u16).to_be_bytes();
                packet[..8].copy_from_slice(&[
                    0x60 | class >> 4,
                    class << 4,
                    0,
                    0,
                    high,
                    low,
                    TCP,
                    self.ttl,
                ]);
                packet[8..24].copy_from_slice(&self.source.v6_octets());
                packet[24..40].copy_from_slice(&self.destination.v6_octets());
            }
        }
    }

    /// RFC 9293, section 3.1; RFC 8200, section 8.1.
    #[inline]
    fn pseudo_header(&self, tcp_len: usize) -> Sum {
        pseudo_header(&self.source, &self.destination, tcp_len)
    }
}

impl Version {
    /// Returns how many octets the header takes, without options or extensions.
    #[must_use]
    #[inline]
    pub const fn header_len(self) -> usize {
        match self {
            Self::V4 => 20,
            Self::V6 => 40,
        }
    }
}

impl Numbering {
    /// Returns the header for one of the engine's segments.
    #[must_use]
    #[inline(always)] // every packet that leaves comes here
    pub fn header(&self, segment: &Segment) -> Header {
        // A SYN's window is never scaled (RFC 7323, section 2.2).
        let shift = match segment.flags.has(Flags::SYN) {
            true => 0,
            false => self.window_shift,
        };
        let ack = match segment.flags.has(Flags::ACK) {
            true => self.acks.number(segment.ack),
            false => 0,
        };
        Header {
            seq: self.data.number(segment.seq),
            ack,
            flags: segment.flags,
            window: (segment.window >> shift).min(u16::MAX.into()) as u16,
            options: self.options(segment),
        }
    }

    #[inline]
    fn options(&self, segment: &Segment) -> Options {
        let of_the_engine = &segment.options;
        // SACK blocks count the octets of the other direction.
        let number = |block: Span| (self.acks.number(block.start), self.acks.number(block.end));
        Options {
            mss: of_the_engine.mss,
            window_scale: of_the_engine.window_scale,
            sack_permitted: of_the_engine.sack_permitted,
            timestamps: of_the_engine.timestamps,
            sack: of_the_engine.sack.iter().map(number).collect(),
            counters_permitted: of_the_engine.counters_permitted,
            counters: of_the_engine.counters,
        }
    }
}

/// Clears `packet` and writes the whole packet to it. It is for callers for which the cost of
/// copying the payload does not matter.
///
/// # Panics
///
/// Panics if the payload's length differs from the segment's.
pub fn encode(
    path: &Path,
    numbering: &Numbering,
    segment: &Segment,
    payload: &[u8],
    packet: &mut Vec<u8>,
) {
    assert_eq!(payload.len(), segment.len as usize, "the segment's payload");
    let header = numbering.header(segment);
    packet.clear();
    packet.resize(path.headers_len(&header.options), 0);
    packet.extend_from_slice(payload);
    path.write_headers(&header, Checksum::Full, packet);
}

/// RFC 3168, section 5.
const ECT_0: u8 = 0b10;
/// The bits of ECN in the octet that they share with DSCP.
const ECN: u8 = 0b11;
const TCP_HEADER: usize = 20;
const TCP: u8 = 6;
/// Time to live, or hop limit (RFC 9293, section 3.9.2: "should be configurable"; the value is
/// the one that the Internet's number registry recommends).
pub const TTL: u8 = 64;
