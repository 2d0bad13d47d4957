//! Segments between two engines: a header and the range of octets it carries.

use core::fmt;

use crate::offset::{Offset, Span};
use crate::options::Options;

/// A TCP segment (RFC 9293, section 3.1) without its octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// SEG.SEQ.
    pub seq: Offset,
    /// SEG.ACK; means nothing without [`Flags::ACK`].
    pub ack: Offset,
    /// Octets of data, without SYN and FIN.
    pub len: u32,
    /// SEG.WND in octets, any scaling undone.
    pub window: u32,
    /// The control bits.
    pub flags: Flags,
    /// The options.
    pub options: Options,
}

/// The control bits (RFC 9293, section 3.1), as in the header's octet, and the ECN field of the IP
/// header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push: the sender's buffer was emptied.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgment field is significant.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer is significant.
    pub const URG: Self = Self(0x20);
    /// ECN-Echo (RFC 3168, section 6.1).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168, section 6.1).
    pub const CWR: Self = Self(0x80);
    /// The packet may be marked: ECT(0). Set on segments that leave; ignored on segments that
    /// arrive.
    pub const ECT: Self = Self(0x100);
    /// The packet was marked: Congestion Experienced.
    pub const CE: Self = Self(0x200);
    /// No flag.
    pub const NONE: Self = Self(0);
    /// The flags of the header's octet that a connection looks at: all but URG.
    pub const HEEDED: Self = Self(0xdf);
    /// The flags that belong to ECN.
    pub const ECN: Self = Self(0x3c0);

    /// Returns the union of both sets.
    #[must_use]
    pub const fn with(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    /// Returns the set with `more` added if `wanted`.
    #[must_use]
    pub const fn with_if(self, wanted: bool, more: Self) -> Self {
        if wanted { self.with(more) } else { self }
    }

    /// Returns the set without `less`.
    #[must_use]
    pub const fn without(self, less: Self) -> Self {
        Self(self.0 & !less.0)
    }

    /// Returns whether all bits of `wanted` are set.
    #[must_use]
    pub const fn has(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }

    /// Returns whether any bit of `wanted` is set.
    #[must_use]
    pub const fn any(self, wanted: Self) -> bool {
        self.0 & wanted.0 != 0
    }

    /// Returns the flags of `these` that are set.
    #[must_use]
    pub const fn among(self, these: Self) -> Self {
        Self(self.0 & these.0)
    }

    /// Returns the header's octet.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0 as u8
    }

    /// Returns the flags of a header's octet.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits as u16)
    }
}

impl core::ops::BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.with(other)
    }
}

impl Segment {
    /// Returns the range of its data.
    #[must_use]
    pub fn data(&self) -> Span {
        let start = self.seq + u64::from(self.flags.has(Flags::SYN));
        Span::new(start, start + u64::from(self.len))
    }

    /// Returns SEG.LEN: the octets of sequence space, SYN and FIN included.
    #[must_use]
    pub fn sequence_len(&self) -> u64 {
        u64::from(self.len)
            + u64::from(self.flags.has(Flags::SYN))
            + u64::from(self.flags.has(Flags::FIN))
    }

    /// Returns one past the last sequence number that it occupies.
    #[must_use]
    pub fn end(&self) -> Offset {
        self.seq + self.sequence_len()
    }

    /// Returns whether it takes no sequence space and has no RST.
    #[must_use]
    pub fn is_pure_ack(&self) -> bool {
        self.len == 0 && !self.flags.any(Flags::SYN.with(Flags::FIN).with(Flags::RST))
    }
}

impl Segment {
    /// Writes `, options [mss 1460,sackOK,TS val 5 ecr 3,wscale 7]`, or nothing.
    fn fmt_options(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = &self.options;
        let mut separator = ", options [";
        let mut one = |text: fmt::Arguments<'_>| {
            write!(f, "{separator}{text}")?;
            separator = ",";
            Ok(())
        };
        if let Some(mss) = options.mss {
            one(format_args!("mss {mss}"))?;
        }
        if options.sack_permitted {
            one(format_args!("sackOK"))?;
        }
        if let Some(timestamps) = options.timestamps {
            one(format_args!("{timestamps}"))?;
        }
        if !options.sack.is_empty() {
            one(format_args!("{}", options.sack))?;
        }
        if let Some(shift) = options.window_scale {
            one(format_args!("wscale {shift}"))?;
        }
        if options.counters_permitted {
            one(format_args!("countersOK"))?;
        }
        if let Some(counters) = options.counters {
            one(format_args!("{counters}"))?;
        }
        match separator {
            "," => f.write_str("]"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Segment {
    /// Writes tcpdump's notation, with the window in octets:
    /// `Flags [P.], seq 1:101, ack 1, win 65535, options [TS val 5 ecr 3], length 100`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = [
            (Flags::SYN, 'S'),
            (Flags::FIN, 'F'),
            (Flags::RST, 'R'),
            (Flags::PSH, 'P'),
            (Flags::URG, 'U'),
            (Flags::ECE, 'E'),
            (Flags::CWR, 'W'),
            (Flags::ACK, '.'),
        ];
        f.write_str("Flags [")?;
        for (flag, letter) in letters {
            if self.flags.has(flag) {
                write!(f, "{letter}")?;
            }
        }
        f.write_str("]")?;
        if self.sequence_len() > 0 {
            write!(f, ", seq {}", self.seq)?;
            if self.len > 0 {
                write!(f, ":{}", self.seq + u64::from(self.len))?;
            }
        }
        if self.flags.has(Flags::ACK) {
            write!(f, ", ack {}", self.ack)?;
        }
        write!(f, ", win {}", self.window)?;
        self.fmt_options(f)?;
        write!(f, ", length {}", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{SackBlocks, Timestamps};

    #[test]
    fn options_are_printed_as_tcpdump_does() {
        let plain = Segment {
            seq: Offset::SYN,
            ack: Offset::SYN,
            len: 0,
            window: 65_535,
            flags: Flags::SYN,
            options: Options::default(),
        };
        assert_eq!(plain.to_string(), "Flags [S], seq 0, win 65535, length 0");
        let block = Span::new(Offset::new(3), Offset::new(4));
        let all = Segment {
            options: Options {
                mss: Some(1460),
                window_scale: Some(7),
                sack_permitted: true,
                timestamps: Some(Timestamps { value: 5, echo: 3 }),
                sack: SackBlocks::from_iter([block]),
                ..Options::default()
            },
            ..plain
        };
        assert_eq!(
            all.to_string(),
            "Flags [S], seq 0, win 65535, options [mss 1460,sackOK,TS val 5 ecr 3,sack 1 {3:4},wscale 7], length 0"
        );
    }
}
