/// The reason why a capture could not be read further.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The source is empty.
    #[error("is empty")]
    Empty,
    /// The source ends before any capture's first four bytes do.
    #[error("is not a capture: it has {} and ends (accepted: pcap, pcapng, either of them in gzip or zstd)", bytes(*.octets))]
    TooShort {
        /// How many it has.
        octets: usize,
    },
    /// The first bytes belong to no known capture format.
    #[error("{}", foreign(*magic))]
    NotACapture {
        /// The four bytes found where a magic number should be.
        magic: [u8; 4],
    },
    /// The source is packed in a way that this build does not unpack.
    #[error(
        "is packed by {packed}, which this build does not unpack (accepted: the unpacked file; the feature {packed} of tinygram-wire)"
    )]
    NotInThisBuild {
        /// The name of the format, and of the feature.
        packed: &'static str,
    },
    /// The source ends inside a record.
    #[error("is cut off inside the record at byte {at}")]
    CutOff {
        /// Offset of the unfinished record in the (unpacked) stream, in bytes.
        at: u64,
    },
    /// What is packed ends before its end.
    #[error("is cut off: its {packed} data breaks off after {at} unpacked bytes")]
    PackedCutOff {
        /// The name of the format that it is packed by.
        packed: &'static str,
        /// How many bytes could be unpacked.
        at: u64,
    },
    /// A record contradicts itself.
    #[error("is damaged at byte {at}: {what}")]
    Damaged {
        /// Offset of the record in the (unpacked) stream, in bytes.
        at: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// Reading or unpacking failed.
    #[error("cannot be read: {0}")]
    Io(#[from] std::io::Error),
}

impl CaptureError {
    /// Returns whether the source ends too early, and is right until there.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        matches!(self, Self::CutOff { .. } | Self::PackedCutOff { .. })
    }
}

fn bytes(count: usize) -> String {
    match count {
        1 => "1 byte".into(),
        count => format!("{count} bytes"),
    }
}

/// Returns a text that says what the file is instead of a capture, and what is accepted.
fn foreign(magic: [u8; 4]) -> String {
    match magic {
        // "snoop" and three zeros (RFC 1761).
        SNOOP => {
            "is a Solaris snoop capture, which is not read (accepted: pcap, pcapng, either of \
                  them in gzip or zstd; `editcap -F pcap IN OUT` converts it)"
                .into()
        }
        [a, b, c, d] => format!(
            "is not a capture: begins with {a:02x} {b:02x} {c:02x} {d:02x} \
             (accepted: pcap, pcapng, either of them in gzip or zstd)"
        ),
    }
}

const SNOOP: [u8; 4] = *b"snoo";
