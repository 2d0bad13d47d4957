//! Writes captures: classic pcap with nanoseconds, and pcapng with packet comments.

use std::io::{self, Write};

use super::{Frame, LinkType};

/// A writer of classic pcap with the magic number for nanoseconds, little endian.
pub struct PcapWriter<W: Write> {
    into: W,
}

impl<W: Write> PcapWriter<W> {
    /// Writes the file header.
    ///
    /// # Errors
    /// Returns the error of the destination.
    pub fn new(mut into: W, link: LinkType, snap_len: u32) -> io::Result<Self> {
        into.write_all(&0xa1b2_3c4d_u32.to_le_bytes())?;
        into.write_all(&[2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0])?;
        into.write_all(&snap_len.to_le_bytes())?;
        into.write_all(&u32::from(link.0).to_le_bytes())?;
        Ok(Self { into })
    }

    /// Appends a frame. Its number is not written, because the format has no field for it.
    ///
    /// # Errors
    /// Returns the error of the destination.
    pub fn frame(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        let seconds = frame.time_ns.div_euclid(1_000_000_000) as u32;
        let fraction = frame.time_ns.rem_euclid(1_000_000_000) as u32;
        let captured = frame.data.len() as u32;
        for word in [seconds, fraction, captured, frame.wire_len] {
            self.into.write_all(&word.to_le_bytes())?;
        }
        self.into.write_all(frame.data)
    }
}

/// A writer of pcapng, little endian, with a nanosecond clock. It describes each interface when it
/// first appears.
pub struct PcapngWriter<W: Write> {
    into: W,
    interfaces: Vec<LinkType>,
}

impl<W: Write> PcapngWriter<W> {
    /// Writes the section header.
    ///
    /// # Errors
    /// Returns the error of the destination.
    pub fn new(mut into: W) -> io::Result<Self> {
        let mut body = Vec::new();
        body.extend_from_slice(&0x1a2b_3c4d_u32.to_le_bytes());
        body.extend_from_slice(&[1, 0, 0, 0]);
        body.extend_from_slice(&u64::MAX.to_le_bytes());
        block(&mut into, super::pcapng::SECTION_HEADER, &body)?;
        Ok(Self {
            into,
            interfaces: Vec::new(),
        })
    }

    /// Appends a frame with a comment, which may be empty.
    ///
    /// # Errors
    /// Returns the error of the destination.
    pub fn frame(&mut self, frame: &Frame<'_>, comment: &str) -> io::Result<()> {
        let interface = match self.interfaces.iter().position(|&l| l == frame.link) {
            Some(known) => known,
            None => self.describe(frame.link)?,
        };
        let ticks = frame.time_ns as u64;
        let mut body = Vec::with_capacity(32 + frame.data.len() + comment.len());
        for word in [
            interface as u32,
            (ticks >> 32) as u32,
            ticks as u32,
            frame.data.len() as u32,
            frame.wire_len,
        ] {
            body.extend_from_slice(&word.to_le_bytes());
        }
        padded(&mut body, frame.data);
        if !comment.is_empty() {
            comment_option(&mut body, comment, false);
            body.extend_from_slice(&[0; 4]);
        }
        block(&mut self.into, super::pcapng::ENHANCED_PACKET, &body)
    }

    fn describe(&mut self, link: LinkType) -> io::Result<usize> {
        let mut body = Vec::new();
        body.extend_from_slice(&link.0.to_le_bytes());
        body.extend_from_slice(&[0; 6]);
        // if_tsresol = 9: nanoseconds; then the end of the options.
        body.extend_from_slice(&[9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
        block(&mut self.into, 1, &body)?;
        self.interfaces.push(link);
        Ok(self.interfaces.len() - 1)
    }
}

fn block(into: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let len = body.len() as u32 + 12;
    into.write_all(&kind.to_le_bytes())?;
    into.write_all(&len.to_le_bytes())?;
    into.write_all(body)?;
    into.write_all(&len.to_le_bytes())
}

/// Appends `opt_comment` in the section's byte order, truncated to the longest length that its
/// length field can hold.
pub(super) fn comment_option(body: &mut Vec<u8>, comment: &str, big_endian: bool) {
    let mut len = comment.len().min(usize::from(u16::MAX) - 3);
    while !comment.is_char_boundary(len) {
        len -= 1;
    }
    for half in [1, len as u16] {
        body.extend_from_slice(&match big_endian {
            true => half.to_be_bytes(),
            false => half.to_le_bytes(),
        });
    }
    padded(body, &comment.as_bytes()[..len]);
}

fn padded(body: &mut Vec<u8>, bytes: &[u8]) {
    body.extend_from_slice(bytes);
    body.resize(body.len().next_multiple_of(4), 0);
}
