//! Translates between 32-bit sequence numbers and the engine's 64-bit offsets.

use tinygram_engine::Offset;

/// One direction's numbering: it begins at the initial sequence number, which the SYN carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    initial: u32,
}

impl Sequence {
    /// Returns the numbering whose SYN carries `initial` (ISS or IRS, RFC 9293, section 3.3.1).
    #[must_use]
    pub const fn new(initial: u32) -> Self {
        Self { initial }
    }

    /// Returns the SYN's number.
    #[must_use]
    pub const fn initial(self) -> u32 {
        self.initial
    }

    /// Returns the number on the wire for `offset`.
    #[must_use]
    #[inline]
    pub const fn number(self, offset: Offset) -> u32 {
        self.initial.wrapping_add(offset.low_bits())
    }

    /// Returns the offset nearest to `near` that has this number. It is at most 2^31 away in either
    /// direction, as sequence numbers are compared (RFC 9293, section 3.4), and may be before the
    /// SYN.
    #[must_use]
    #[inline]
    pub const fn offset(self, number: u32, near: Offset) -> Offset {
        let ahead = number.wrapping_sub(self.number(near)) as i32;
        near.offset_by(ahead as i64)
    }
}

/// The translation between one end's engine and the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbering {
    /// The direction in which the segment travels.
    pub data: Sequence,
    /// The other direction, which the segment's acknowledgment counts.
    pub acks: Sequence,
    /// The window scale that the segment's sender announced and both sides agreed on; 0 if they did
    /// not agree.
    pub window_shift: u8,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_number_leads_back_to_its_offset(initial: u32, near in 0..1_u64 << 62, ahead: i32) {
            let numbering = Sequence::new(initial);
            let offset = Offset::new(near).offset_by(ahead.into());
            let found = numbering.offset(numbering.number(offset), Offset::new(near));
            prop_assert_eq!(found, offset);
        }
    }

    #[test]
    fn before_the_syn_there_is_room_for_every_number() {
        let numbering = Sequence::new(5);
        assert_eq!(numbering.offset(5, Offset::FIRST), Offset::SYN);
        let before = numbering.offset(4, Offset::FIRST);
        assert!(before < Offset::SYN);
        assert_eq!(numbering.number(before), 4);
        assert_eq!(before.to_string(), "-1");
        let later = Offset::new(1 << 32);
        assert_eq!(numbering.offset(4, later), Offset::new((1 << 32) - 1));
    }
}
