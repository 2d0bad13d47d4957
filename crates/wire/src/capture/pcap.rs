//! Classic pcap: one header, then records of the same link type.

use super::{CaptureError, FRAME_LIMIT, LinkType, Record, window::Window};

/// The file header, reduced to what reading the records needs.
pub(super) struct Header {
    big_endian: bool,
    /// Nanoseconds per unit of the sub-second field: 1 or 1000.
    unit_ns: i64,
    link: LinkType,
    record_header: usize,
}

impl Header {
    pub(super) fn read(window: &mut Window) -> Result<Self, CaptureError> {
        let b = window.available();
        let magic = [b[0], b[1], b[2], b[3]];
        let (big_endian, unit_ns, record_header) = match magic {
            [0xd4, 0xc3, 0xb2, 0xa1] => (false, 1_000, 16),
            [0xa1, 0xb2, 0xc3, 0xd4] => (true, 1_000, 16),
            [0x4d, 0x3c, 0xb2, 0xa1] => (false, 1, 16),
            [0xa1, 0xb2, 0x3c, 0x4d] => (true, 1, 16),
            // Kuznetzov's variant of 1999 adds eight bytes to every record header.
            [0x34, 0xcd, 0xb2, 0xa1] => (false, 1_000, 24),
            [0xa1, 0xb2, 0xcd, 0x34] => (true, 1_000, 24),
            _ => return Err(CaptureError::NotACapture { magic }),
        };
        if !window.need(FILE_HEADER)? {
            return Err(CaptureError::CutOff { at: 0 });
        }
        let network = u32_at(window.available(), 20, big_endian);
        window.advance(FILE_HEADER);
        Ok(Self {
            big_endian,
            unit_ns,
            // The upper half may hold the length of a frame check sequence.
            link: LinkType(network as u16),
            record_header,
        })
    }

    #[inline]
    pub(super) fn next_record(
        &mut self,
        window: &mut Window,
    ) -> Result<Option<Record>, CaptureError> {
        if !window.need(self.record_header)? {
            return match window.at_end()? {
                true => Ok(None),
                false => Err(CaptureError::CutOff {
                    at: window.offset(),
                }),
            };
        }
        let [seconds, fraction, captured, wire_len] = self.words(window.available());
        let captured = captured as usize;
        if captured > FRAME_LIMIT {
            return Err(CaptureError::Damaged {
                at: window.offset(),
                what: "a frame longer than 1 MiB",
            });
        }
        if !window.need(self.record_header + captured)? {
            return Err(CaptureError::CutOff {
                at: window.offset(),
            });
        }
        let record = window.advance(self.record_header + captured);
        Ok(Some(Record {
            time_ns: i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * self.unit_ns,
            link: self.link,
            wire_len,
            data: record.end - captured..record.end,
        }))
    }

    /// Returns the four numbers that a record begins with.
    #[inline]
    fn words(&self, record: &[u8]) -> [u32; 4] {
        let (words, _) = record.as_chunks::<4>();
        let words = words.first_chunk().copied().unwrap_or_default();
        match self.big_endian {
            true => words.map(u32::from_be_bytes),
            false => words.map(u32::from_le_bytes),
        }
    }
}

const FILE_HEADER: usize = 24;

#[inline]
pub(super) fn u32_at(bytes: &[u8], at: usize, big_endian: bool) -> u32 {
    let word = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    match big_endian {
        true => u32::from_be_bytes(word),
        false => u32::from_le_bytes(word),
    }
}

#[inline]
pub(super) fn u16_at(bytes: &[u8], at: usize, big_endian: bool) -> u16 {
    let word = [bytes[at], bytes[at + 1]];
    match big_endian {
        true => u16::from_be_bytes(word),
        false => u16::from_le_bytes(word),
    }
}
