//! Reads and writes capture files as a stream of frames, whatever the container.
//!
//! [`Reader::new`] looks at the first bytes, not at the name. It unpacks gzip and zstd (features of the same names, on by
//! default), and
//! distinguishes classic pcap (with every magic number) from pcapng. Frames are lent from one
//! buffer. So reading costs no allocation per frame, works on a pipe while it fills, and holds no
//! more than one frame.
//!
//! The formats are parsed here and not by a library, because no library offers all three things
//! that are needed: reading a live pipe (a short first read is no error), block-exact copying for
//! annotation, and a few nanoseconds per frame. The tests compare the result with `pcap-parser`.

mod annotate;
mod compression;
mod error;
mod pcap;
mod pcapng;
mod window;
mod write;
#[cfg(feature = "zstd")]
mod zstd;

use std::io::Read;

pub use annotate::annotate;
pub use error::CaptureError;
pub use write::{PcapWriter, PcapngWriter};

use window::Window;

/// A frame as captured, lent from the reader's buffer until the next one is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Position in the capture, starting at 1, as Wireshark's `frame.number`.
    pub number: u64,
    /// Capture time in nanoseconds since the epoch.
    pub time_ns: i64,
    /// The link type, which says what header the bytes begin with.
    pub link: LinkType,
    /// The captured bytes: at most the snap length.
    pub data: &'a [u8],
    /// Length on the wire in bytes, before snapping.
    pub wire_len: u32,
}

/// Link-layer header type, numbered as in the registry of the pcap formats
/// (<https://www.tcpdump.org/linktypes.html>).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: a four-byte address family in the host's byte order.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// OpenBSD loopback: as [`Self::NULL`] in network byte order.
    pub const LOOP: Self = Self(108);
    /// Raw IP, version in the first nibble.
    pub const RAW: Self = Self(101);
    /// Linux cooked capture (`tcpdump -i any`).
    pub const LINUX_SLL: Self = Self(113);
    /// Raw IPv4.
    pub const IPV4: Self = Self(228);
    /// Raw IPv6.
    pub const IPV6: Self = Self(229);
    /// Linux cooked capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);
}

/// Reads frames from any supported capture.
pub struct Reader {
    window: Window,
    format: Format,
    frames: u64,
}

enum Format {
    Pcap(pcap::Header),
    Pcapng(pcapng::Section),
}

impl Reader {
    /// Recognizes the container by its first bytes and reads its header.
    ///
    /// # Errors
    /// [`CaptureError`] if the source is empty, cannot be read, or is not a capture.
    pub fn new(source: impl Read + 'static) -> Result<Self, CaptureError> {
        let mut window = compression::open(Box::new(source))?;
        if !window.need(4)? {
            return Err(match window.available().len() {
                0 => CaptureError::Empty,
                octets => CaptureError::TooShort { octets },
            });
        }
        let format = if pcapng::recognises(window.available()) {
            Format::Pcapng(pcapng::Section::default())
        } else {
            Format::Pcap(pcap::Header::read(&mut window)?)
        };
        Ok(Self {
            window,
            format,
            frames: 0,
        })
    }

    /// Returns the next frame, or `None` at a clean end.
    ///
    /// # Errors
    /// [`CaptureError`] if the capture is cut off or damaged here. The frames before are valid, and
    /// another call returns the same error.
    #[inline]
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        let record = match &mut self.format {
            Format::Pcap(header) => header.next_record(&mut self.window)?,
            Format::Pcapng(section) => section.next_record(&mut self.window)?,
        };
        let Some(record) = record else {
            return Ok(None);
        };
        self.frames += 1;
        Ok(Some(Frame {
            number: self.frames,
            time_ns: record.time_ns,
            link: record.link,
            data: self.window.lent(record.data),
            wire_len: record.wire_len,
        }))
    }

    /// Returns how many frames were read so far.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.frames
    }
}

/// A frame's place in the window's buffer, and what the container says about the frame.
struct Record {
    time_ns: i64,
    link: LinkType,
    wire_len: u32,
    data: std::ops::Range<usize>,
}

/// The longest frame that is accepted, in bytes. BIG TCP's super-segments stay below half of it. A
/// longer frame is damage, and we must not allocate as much memory as its length field says.
const FRAME_LIMIT: usize = 1 << 20;

#[cfg(test)]
mod tests;
