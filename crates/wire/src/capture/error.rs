use std::fmt;

/// Why a capture could not be read further.
#[derive(Debug)]
pub enum CaptureError {
    /// Nothing to read at all.
    Empty,
    /// The first bytes are of no known capture format.
    NotACapture {
        /// The four bytes found where a magic number should be.
        magic: [u8; 4],
    },
    /// The source ends inside a record.
    CutOff {
        /// Offset of the unfinished record in the (unpacked) stream, in bytes.
        at: u64,
    },
    /// A record contradicts itself.
    Damaged {
        /// Offset of the record in the (unpacked) stream, in bytes.
        at: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// Reading or unpacking failed.
    Io(std::io::Error),
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "is empty"),
            // "snoop" and three zeros (RFC 1761).
            Self::NotACapture { magic: SNOOP } => write!(
                f,
                "is a Solaris snoop capture, which is not read \
                 (accepted: pcap, pcapng, either of them in gzip or zstd; \
                 `editcap -F pcap IN OUT` converts it)"
            ),
            Self::NotACapture { magic } => write!(
                f,
                "is not a capture: begins with {:02x} {:02x} {:02x} {:02x} \
                 (accepted: pcap, pcapng, either of them in gzip or zstd)",
                magic[0], magic[1], magic[2], magic[3]
            ),
            Self::CutOff { at } => write!(f, "is cut off inside the record at byte {at}"),
            Self::Damaged { at, what } => write!(f, "is damaged at byte {at}: {what}"),
            Self::Io(error) => write!(f, "cannot be read: {error}"),
        }
    }
}

const SNOOP: [u8; 4] = *b"snoo";

impl std::error::Error for CaptureError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<std::io::Error> for CaptureError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}
