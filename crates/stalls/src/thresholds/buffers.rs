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
}

/// The initial windows in use, in segments (RFC 5681 allows two to four, RFC 6928 ten).
pub const INITIAL_SEGMENTS: [u32; 4] = [2, 3, 4, 10];
