//! The sizes that buffers have.

use crate::thresholds::BUFFER_UNIT;

/// Returns true if so many bytes are as much as a buffer holds: a multiple of the unit in which
/// buffers are made.
#[must_use]
pub const fn is_a_size(bytes: u32) -> bool {
    bytes.is_multiple_of(BUFFER_UNIT)
}

/// Returns true if a message of so many bytes before the rest was torn at a buffer's size: more
/// than a segment, and as much as a buffer holds (Mogul and Minshall 2001, section 3.1).
#[must_use]
pub const fn tears(flight: u32, mss: u32) -> bool {
    flight > mss && is_a_size(flight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_4100_bytes_is_torn_at_4096() {
        assert!(tears(4096, 1460) && !tears(4100, 1460) && !tears(1024, 1460));
    }
}
