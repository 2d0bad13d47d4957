//! What was seen of a connection: writes, reads and segments at one end or at both.

/// What was seen at one end, in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// The writes of its program.
    pub writes: Vec<Write>,
    /// The reads of its program.
    pub reads: Vec<Read>,
    /// The segments with data that left it.
    pub sent: Vec<Sent>,
}

impl End {
    /// Returns when the first of it was seen.
    pub(crate) fn first_ns(&self) -> Option<u64> {
        let firsts = [
            self.writes.first().map(|write| write.at_ns),
            self.reads.first().map(|read| read.at_ns),
            self.sent.first().map(|segment| segment.at_ns),
        ];
        firsts.into_iter().flatten().min()
    }
}

/// A write. Offsets count octets of a direction from any beginning that both ends share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// When it ended, in nanoseconds.
    pub at_ns: u64,
    /// Its octets.
    pub length: u64,
    /// Where it ends.
    pub end: u64,
    /// How much its program had read of the other direction.
    pub read_until: u64,
    /// Whether it said that more follows (`MSG_MORE`, or a corked socket).
    pub more: bool,
}

/// A read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// When it ended, in nanoseconds.
    pub at_ns: u64,
    /// Its octets.
    pub length: u64,
    /// Where what was read ends.
    pub end: u64,
    /// When the first bare acknowledgment of this end left that had waited after the read before, if nothing else left since.
    pub late_ack_ns: Option<u64>,
}

/// A segment with data, or several that the device cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When it left, in nanoseconds.
    pub at_ns: u64,
    /// Its octets of data.
    pub length: u64,
    /// Where it ends.
    pub end: u64,
}

/// Makes offsets of 64 bits from sequence numbers, which count modulo 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unwrapper {
    last: u32,
    offset: u64,
}

impl Unwrapper {
    /// Returns an unwrapper for numbers around `first`.
    #[must_use]
    pub fn around(first: u32) -> Self {
        Self {
            last: first,
            // Far from zero, so that what came before has an offset, too.
            offset: 1 << 40,
        }
    }

    /// Returns the offset of a sequence number, which is less than 2^31 away from the one before.
    pub fn offset(&mut self, sequence: u32) -> u64 {
        let distance = sequence.wrapping_sub(self.last).cast_signed();
        self.last = sequence;
        self.offset = self.offset.saturating_add_signed(distance.into());
        self.offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_pass_through_zero() {
        let mut unwrapper = Unwrapper::around(u32::MAX - 9);
        let first = unwrapper.offset(u32::MAX - 9);
        assert_eq!(unwrapper.offset(90) - first, 100);
        assert_eq!(first - unwrapper.offset(u32::MAX - 19), 10);
    }
}
