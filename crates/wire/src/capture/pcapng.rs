//! pcapng (draft-ietf-opsawg-pcapng): sections of blocks, interfaces with their own link type
//! and clock.

use super::pcap::{u16_at, u32_at};
use super::{CaptureError, FRAME_LIMIT, LinkType, Record, window::Window};

/// The section being read.
#[derive(Default)]
pub(super) struct Section {
    big_endian: bool,
    interfaces: Vec<Interface>,
}

#[derive(Clone, Copy)]
struct Interface {
    link: LinkType,
    snap_len: u32,
    clock: Clock,
}

/// The unit in which an interface counts time.
#[derive(Clone, Copy)]
enum Clock {
    /// Ticks of this many nanoseconds (1000 by default), plus an offset in nanoseconds.
    Nanoseconds { per_tick: i64, offset_ns: i64 },
    /// This many ticks in a second, a number that is not a power of ten between 1 and 10^9.
    PerSecond { ticks: u64, offset_ns: i64 },
}

/// A whole block: its type and the place of its bytes, framing included.
pub(super) struct Block {
    pub(super) kind: u32,
    pub(super) len: usize,
}

pub(super) fn recognises(first: &[u8]) -> bool {
    first.starts_with(&SECTION_HEADER.to_le_bytes())
}

impl Section {
    pub(super) fn big_endian(&self) -> bool {
        self.big_endian
    }

    #[inline]
    pub(super) fn next_record(
        &mut self,
        window: &mut Window,
    ) -> Result<Option<Record>, CaptureError> {
        loop {
            let Some(block) = self.next_block(window)? else {
                return Ok(None);
            };
            let at = window.offset();
            let body = &window.available()[..block.len];
            let record = self.interpret(&block, body, at)?;
            let taken = window.advance(block.len);
            if let Some(mut record) = record {
                record.data = taken.start + record.data.start..taken.start + record.data.end;
                return Ok(Some(record));
            }
        }
    }

    /// Makes the whole next block available, without stepping over it.
    #[inline]
    pub(super) fn next_block(
        &mut self,
        window: &mut Window,
    ) -> Result<Option<Block>, CaptureError> {
        let at = window.offset();
        let cut_off = || CaptureError::CutOff { at };
        let damaged = |what| CaptureError::Damaged { at, what };
        if !window.need(12)? {
            return match window.at_end()? {
                true => Ok(None),
                false => Err(cut_off()),
            };
        }
        let header = window.available();
        if recognises(header) {
            // The block type reads the same in both byte orders; the magic number after the length
            // does not.
            self.big_endian = match header[8..12] {
                [0x1a, 0x2b, 0x3c, 0x4d] => true,
                [0x4d, 0x3c, 0x2b, 0x1a] => false,
                _ => return Err(damaged("a section header without its byte-order magic")),
            };
            self.interfaces.clear();
        }
        let kind = u32_at(header, 0, self.big_endian);
        let len = u32_at(header, 4, self.big_endian) as usize;
        if len < 12 || !len.is_multiple_of(4) {
            return Err(damaged("a block length below 12 or no multiple of 4"));
        }
        if len > BLOCK_LIMIT {
            return Err(damaged("a block longer than 16 MiB"));
        }
        if !window.need(len)? {
            return Err(cut_off());
        }
        if u32_at(window.available(), len - 4, self.big_endian) as usize != len {
            return Err(damaged("a block whose two lengths differ"));
        }
        Ok(Some(Block { kind, len }))
    }

    /// Interprets a block: updates the section, and returns the frame that the block holds, with
    /// its range in `block`.
    #[inline]
    pub(super) fn interpret(
        &mut self,
        block: &Block,
        bytes: &[u8],
        at: u64,
    ) -> Result<Option<Record>, CaptureError> {
        match block.kind {
            ENHANCED_PACKET => self.enhanced_packet(bytes, at).map(Some),
            INTERFACE => self.interface(bytes, at).map(|()| None),
            SIMPLE_PACKET => self.simple_packet(bytes, at).map(Some),
            OBSOLETE_PACKET => self.obsolete_packet(bytes, at).map(Some),
            // Statistics, names, secrets and custom blocks say nothing about segments.
            _ => Ok(None),
        }
    }

    #[inline]
    fn enhanced_packet(&self, block: &[u8], at: u64) -> Result<Record, CaptureError> {
        if block.len() < 32 {
            return Err(SHORT_BLOCK.at(at));
        }
        let be = self.big_endian;
        let interface = u32_at(block, 8, be) as usize;
        let lengths = [u32_at(block, 20, be), u32_at(block, 24, be)];
        self.packet(interface, block, [12, 16], lengths, 28, at)
    }

    fn obsolete_packet(&self, block: &[u8], at: u64) -> Result<Record, CaptureError> {
        if block.len() < 32 {
            return Err(SHORT_BLOCK.at(at));
        }
        let be = self.big_endian;
        let interface = usize::from(u16_at(block, 8, be));
        let lengths = [u32_at(block, 20, be), u32_at(block, 24, be)];
        self.packet(interface, block, [12, 16], lengths, 28, at)
    }

    #[inline]
    fn packet(
        &self,
        interface: usize,
        block: &[u8],
        [high_at, low_at]: [usize; 2],
        [captured, wire_len]: [u32; 2],
        data_at: usize,
        at: u64,
    ) -> Result<Record, CaptureError> {
        let interface = self
            .interfaces
            .get(interface)
            .ok_or(UNKNOWN_INTERFACE.at(at))?;
        let captured = captured as usize;
        if captured > FRAME_LIMIT || data_at + captured > block.len() - 4 {
            return Err(LONG_FRAME.at(at));
        }
        let be = self.big_endian;
        let ticks =
            u64::from(u32_at(block, high_at, be)) << 32 | u64::from(u32_at(block, low_at, be));
        Ok(Record {
            time_ns: interface.clock.nanoseconds(ticks),
            link: interface.link,
            wire_len,
            data: data_at..data_at + captured,
        })
    }

    fn simple_packet(&self, block: &[u8], at: u64) -> Result<Record, CaptureError> {
        if block.len() < 16 {
            return Err(SHORT_BLOCK.at(at));
        }
        let interface = self.interfaces.first().ok_or(UNKNOWN_INTERFACE.at(at))?;
        let wire_len = u32_at(block, 8, self.big_endian);
        let snapped = match interface.snap_len {
            0 => wire_len,
            limit => wire_len.min(limit),
        } as usize;
        let captured = snapped.min(block.len() - 16);
        Ok(Record {
            // Simple packets have no time, so they say nothing about waiting.
            time_ns: 0,
            link: interface.link,
            wire_len,
            data: 12..12 + captured,
        })
    }

    fn interface(&mut self, block: &[u8], at: u64) -> Result<(), CaptureError> {
        if block.len() < 20 {
            return Err(SHORT_BLOCK.at(at));
        }
        if self.interfaces.len() >= INTERFACE_LIMIT {
            return Err(MANY_INTERFACES.at(at));
        }
        let be = self.big_endian;
        let mut resolution = 6_u8;
        let mut offset_s = 0_i64;
        let mut options = &block[16..block.len() - 4];
        while options.len() >= 4 {
            let (code, len) = (u16_at(options, 0, be), usize::from(u16_at(options, 2, be)));
            let Some(value) = options.get(4..4 + len) else {
                break;
            };
            match code {
                0 => break,
                9 if len == 1 => resolution = value[0],
                14 if len == 8 => {
                    let halves = [u32_at(value, 0, be), u32_at(value, 4, be)];
                    let [high, low] = if be { halves } else { [halves[1], halves[0]] };
                    offset_s = (u64::from(high) << 32 | u64::from(low)) as i64;
                }
                _ => {}
            }
            options = options
                .get(4 + len.next_multiple_of(4)..)
                .unwrap_or_default();
        }
        self.interfaces.push(Interface {
            link: LinkType(u16_at(block, 8, be)),
            snap_len: u32_at(block, 12, be),
            clock: Clock::new(resolution, offset_s).ok_or(FINE_CLOCK.at(at))?,
        });
        Ok(())
    }
}

impl Clock {
    /// `if_tsresol`: a negative power of ten, or of two if the top bit is set.
    fn new(resolution: u8, offset_s: i64) -> Option<Self> {
        let offset_ns = offset_s.saturating_mul(1_000_000_000);
        let exponent = u32::from(resolution & 0x7f);
        if resolution & 0x80 != 0 {
            let ticks = 1_u64.checked_shl(exponent)?;
            return Some(Self::PerSecond { ticks, offset_ns });
        }
        Some(match exponent {
            0..=9 => Self::Nanoseconds {
                per_tick: 10_i64.pow(9 - exponent),
                offset_ns,
            },
            _ => Self::PerSecond {
                ticks: 10_u64.checked_pow(exponent)?,
                offset_ns,
            },
        })
    }

    #[inline]
    fn nanoseconds(self, ticks: u64) -> i64 {
        match self {
            Self::Nanoseconds {
                per_tick,
                offset_ns,
            } => (ticks as i64)
                .saturating_mul(per_tick)
                .saturating_add(offset_ns),
            Self::PerSecond {
                ticks: rate,
                offset_ns,
            } => {
                let ns = u128::from(ticks) * 1_000_000_000 / u128::from(rate);
                i64::try_from(ns)
                    .unwrap_or(i64::MAX)
                    .saturating_add(offset_ns)
            }
        }
    }
}

struct Damage(&'static str);

impl Damage {
    fn at(self, at: u64) -> CaptureError {
        CaptureError::Damaged { at, what: self.0 }
    }
}

const SHORT_BLOCK: Damage = Damage("a block too short for its type");
const UNKNOWN_INTERFACE: Damage = Damage("a packet of an interface that was not described");
const LONG_FRAME: Damage = Damage("a frame longer than its block");
const FINE_CLOCK: Damage = Damage("a clock finer than 64 bits can count");
const MANY_INTERFACES: Damage = Damage("more than 65536 interfaces");

/// A real section has only a few interfaces; each interface costs memory.
const INTERFACE_LIMIT: usize = 1 << 16;
/// Metadata blocks (names, secrets, process lists) may be larger than frames.
const BLOCK_LIMIT: usize = 1 << 24;

pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
pub(super) const ENHANCED_PACKET: u32 = 6;
