//! The sizes of buffers and windows.

use super::origin::Origin;

thresholds! {
    BUFFERS;

    /// Buffer sizes are multiples of this: powers of two or small multiples of them. It is the
    /// smallest buffer in use.
    BUFFER_UNIT: u32 = 512, Bytes, Origin::Paper("Mogul and Minshall 2001, section 3.1: stdio's and servers' buffers");
    /// The smallest buffer that a stack or a program has; less is what somebody writes.
    LEAST_BUFFER: u32 = 2_048, Bytes, Origin::Kernel("Linux, SOCK_MIN_SNDBUF is 2048 and a little");
    /// More than this is not too small for anything that a delayed-ACK timer has to do with.
    LARGEST_SMALL_BUFFER: u32 = 65_536, Bytes, Origin::Paper("Moldeklev and Gunningberg 1995, tables: up to 52 kB");
    /// Flights of one size this often in a row are a buffer's size, not a program's habit.
    SAME_FLIGHTS: u32 = 3, Count, Origin::Assumed("two of a size are seen in answers");
    /// So often no program's next block falls right behind an ACK that nobody delayed.
    CHAINED_FLIGHTS: u8 = 3, Count, Origin::Assumed("a block's clock meets an ACK once in BY_ACCIDENT / 2 times");
    /// A short first segment uses up a congestion window of so many segments at most.
    SHORT_FIRST_WINDOW: u32 = 2, Count, Origin::Paper("Heidemann 1997, section 3.2: one segment or two");
    /// A first flight of more segments is no small initial window's.
    SMALL_FIRST_WINDOW: u32 = 3, Count, Origin::Rfc("3390, section 1: up to four segments, of which an odd number waits");
    /// As many full segments are a whole initial window of today's systems.
    INITIAL_WINDOW: u32 = 10, Count, Origin::Rfc("6928, section 2");
    /// So many segments at most leave upon the first ACK if the congestion window began with one.
    SECOND_ROUND_MOST: u8 = 3, Count, Origin::Rfc("5681, section 3.1: two; a third that the capture saw early");
    /// So many at most leave upon each ACK of the next round.
    THIRD_ROUND_MOST: u8 = 4, Count, Origin::Rfc("5681, section 3.1: two for each ACK, and an ACK for two segments");
}

/// The initial windows in use, in segments (RFC 5681 allows two to four, RFC 6928 ten).
pub const INITIAL_SEGMENTS: [u32; 4] = [2, 3, 4, 10];
