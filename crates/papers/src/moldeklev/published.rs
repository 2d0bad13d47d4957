//! The paper's published numbers: Tables 1 to 3, in Mbit/s, and Table A.1 line by line.
//!
//! In all three tables, rows are send buffers and columns receive buffers. The heads "R \ S" of
//! Tables 1 and 3 are misprints, as the text's examples show ("the entry S=8k R=24k in Table 1").

use std::fmt;

/// The sizes of both buffers, in octets; the last one is SunOS's largest ("52k").
pub const SIZES: [u64; 8] = [
    4 << 10,
    8 << 10,
    16 << 10,
    24 << 10,
    32 << 10,
    40 << 10,
    48 << 10,
    52_428,
];

/// Throughputs by send buffer and receive buffer.
pub type Table = [[f64; 8]; 8];

/// Table 1, and the upper values of Table 2: with Nagle's algorithm.
pub const TABLE_1: Table = [
    [11.58, 11.78, 0.16, 0.16, 0.16, 0.16, 0.16, 0.16],
    [13.31, 15.02, 0.16, 0.16, 0.16, 0.16, 0.16, 0.16],
    [13.47, 16.39, 18.67, 0.34, 0.34, 0.33, 0.49, 0.49],
    [13.68, 16.46, 19.67, 19.07, 19.98, 19.69, 1.85, 6.63],
    [13.67, 16.52, 16.88, 19.93, 21.16, 20.91, 20.11, 20.31],
    [13.07, 16.33, 17.02, 20.02, 21.12, 21.01, 20.58, 20.66],
    [13.74, 16.19, 17.06, 19.95, 21.20, 20.98, 6.06, 5.39],
    [13.59, 16.08, 16.83, 20.02, 21.28, 21.08, 6.86, 6.78],
];

/// Table 2, upper values: Table 1's, printed again.
pub const TABLE_2A: Table = TABLE_1;

/// Table 2, lower values: without Nagle's algorithm.
pub const TABLE_2B: Table = [
    [11.77, 11.78, 0.16, 0.16, 0.16, 0.16, 0.16, 0.16],
    [13.31, 15.13, 15.30, 0.33, 0.33, 0.33, 0.33, 0.33],
    [13.47, 16.23, 18.76, 18.98, 19.31, 19.10, 0.66, 0.66],
    [13.68, 16.13, 19.77, 20.59, 20.29, 20.33, 19.28, 19.26],
    [13.68, 15.88, 16.42, 19.74, 20.98, 20.92, 19.86, 19.84],
    [13.44, 16.27, 16.91, 19.87, 20.94, 20.89, 20.45, 20.70],
    [13.07, 16.10, 16.47, 19.53, 20.92, 20.80, 17.53, 17.17],
    [13.75, 15.65, 16.76, 19.78, 21.21, 20.73, 14.84, 14.39],
];

/// Table 3, upper values: Nagle's algorithm with the change of section 4.2.1.
pub const TABLE_3A: Table = [
    [11.94, 11.88, 0.16, 0.16, 0.16, 0.16, 0.16, 0.16],
    [13.08, 15.24, 0.16, 0.16, 0.16, 0.16, 0.16, 0.16],
    [13.14, 16.35, 18.93, 13.01, 11.16, 0.49, 0.49, 0.49],
    [13.17, 16.35, 19.01, 19.61, 20.24, 20.27, 20.30, 20.32],
    [13.16, 16.21, 17.07, 19.92, 21.21, 20.91, 20.92, 20.69],
    [13.19, 16.30, 16.78, 19.92, 21.19, 20.96, 20.67, 20.57],
    [13.21, 16.57, 17.41, 20.56, 21.53, 20.61, 15.96, 16.48],
    [13.07, 16.76, 17.77, 20.66, 21.37, 20.97, 12.89, 12.12],
];

/// Table 3, lower values: Nagle's algorithm with an MSS of 8192.
pub const TABLE_3B: Table = [
    [12.21, 11.72, 0.16, 0.16, 0.16, 0.16, 0.16, 0.16],
    [13.47, 15.01, 0.16, 0.16, 0.16, 0.16, 0.16, 0.16],
    [13.74, 16.72, 18.95, 17.80, 17.83, 0.49, 0.49, 0.49],
    [13.76, 16.50, 19.08, 20.80, 20.55, 20.46, 19.14, 19.06],
    [13.75, 16.46, 20.56, 21.10, 21.14, 21.02, 20.59, 20.62],
    [13.76, 16.02, 20.19, 20.86, 21.22, 21.07, 20.87, 21.02],
    [13.80, 16.86, 21.12, 21.39, 21.29, 21.08, 16.43, 15.23],
    [13.74, 16.83, 21.17, 21.47, 21.24, 21.04, 19.94, 18.97],
];

/// A line of Table A.1: the sender's step, what the receiver acknowledged, and the receiver's
/// steps. All in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number.
    pub number: u8,
    /// The sender's step, if there is one.
    pub sender: Option<SenderStep>,
    /// The octets that an ACK of the receiver acknowledged.
    pub ack: Option<u64>,
    /// The receiver's steps.
    pub receiver: [Option<ReceiverStep>; 2],
}

/// A step of the sender, with the octets in its buffer and the unacknowledged octets after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderStep {
    /// A piece of a write was copied, and output was run.
    Copied {
        /// The octets of the piece.
        octets: u64,
        /// The octets in the send buffer.
        buffered: u64,
        /// The unacknowledged octets.
        unacked: u64,
    },
    /// An ACK arrived.
    Acked {
        /// The octets that it acknowledged.
        octets: u64,
        /// The octets in the send buffer.
        buffered: u64,
        /// The unacknowledged octets.
        unacked: u64,
    },
    /// Output sent data in response to it.
    Sent {
        /// The octets that it sent.
        octets: u64,
        /// The octets in the send buffer.
        buffered: u64,
        /// The unacknowledged octets.
        unacked: u64,
    },
}

/// A step of the receiver, with the octets in its buffer after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverStep {
    /// A segment arrived.
    Arrived {
        /// The octets in the receive buffer.
        unread: u64,
    },
    /// A read took data.
    Read {
        /// The octets that it took.
        octets: u64,
        /// The octets in the receive buffer.
        unread: u64,
    },
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sender = self.sender.map(|step| step.to_string());
        let ack = self.ack.map(|octets| format!("ACK {octets}"));
        let receiver = self.receiver.iter().flatten().map(ReceiverStep::to_string);
        let parts: Vec<_> = sender.into_iter().chain(ack).chain(receiver).collect();
        f.write_str(&parts.join("; "))
    }
}

impl fmt::Display for SenderStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, octets, buffered, unacked) = match *self {
            Self::Copied {
                octets,
                buffered,
                unacked,
            } => ("copy", octets, buffered, unacked),
            Self::Acked {
                octets,
                buffered,
                unacked,
            } => ("acked", octets, buffered, unacked),
            Self::Sent {
                octets,
                buffered,
                unacked,
            } => ("DATA", octets, buffered, unacked),
        };
        write!(f, "{what} {octets}: {buffered} buffered, {unacked} unacked")
    }
}

impl fmt::Display for ReceiverStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arrived { unread } => write!(f, "arrived: {unread} unread"),
            Self::Read { octets, unread } => write!(f, "read {octets}: {unread} unread"),
        }
    }
}

/// Table A.1: S=16k, R=32k, writes and reads of 8 KiB. Lines without a step of either side are left
/// out (27, 32, 39 and 44, where the writer sleeps at once), and so are further effects of the
/// sender's copying (its segments are in "unacked"). Three misprints are corrected: line 5's 5180,
/// line 24's 9204, and line 50's 4096.
#[rustfmt::skip] // a line of the paper is a line here
pub const TABLE_A1: &[Line] = &[
    line(1, copied(4096, 4096), None, [arrived(4096), None]),
    line(2, copied(8192, 4096), None, [None, None]),
    line(3, copied(12288, 4096), None, [None, None]),
    line(4, copied(16384, 13300), None, [arrived(13300), None]),
    line(5, None, None, [read(8192, 5108), None]),
    line(6, acked(13300, 3084, 0), Some(13300), [read(5108, 0), None]),
    line(7, sent(3084, 3084, 3084), None, [arrived(3084), None]),
    line(8, copied(7180, 3084), None, [read(3084, 0), None]),
    line(9, copied(11276, 3084), None, [None, None]),
    line(10, copied(15372, 12288), None, [arrived(9204), None]),
    line(11, None, None, [read(8192, 1012), None]),
    line(12, acked(12288, 3084, 0), Some(12288), [read(1012, 0), None]),
    line(13, sent(3084, 3084, 3084), None, [arrived(3084), None]),
    line(14, copied(7180, 3084), None, [read(3084, 0), None]),
    line(15, copied(11276, 3084), None, [None, None]),
    line(16, copied(15372, 12288), None, [arrived(9204), None]),
    line(17, None, None, [read(8192, 1012), None]),
    line(18, acked(12288, 3084, 0), Some(12288), [read(1012, 0), None]),
    line(19, sent(3084, 3084, 3084), None, [arrived(3084), None]),
    line(20, None, None, [read(3084, 0), None]),
    line(21, copied(7180, 3084), Some(3084), [None, None]),
    line(22, copied(11276, 3084), None, [None, None]),
    line(23, copied(15372, 12288), None, [arrived(9204), None]),
    line(24, None, None, [read(8192, 1012), None]),
    line(25, acked(3084, 12288, 9204), None, [read(1012, 0), None]),
    line(26, copied(16384, 9204), None, [None, None]),
    line(28, acked(9204, 7180, 0), Some(9204), [None, None]),
    line(29, sent(7180, 7180, 7180), None, [arrived(7180), None]),
    line(30, copied(11276, 7180), None, [read(7180, 0), None]),
    line(31, copied(15372, 7180), None, [None, None]),
    line(33, acked(7180, 8192, 0), Some(7180), [None, None]),
    line(34, sent(8192, 8192, 8192), None, [arrived(8192), None]),
    line(35, copied(12288, 8192), None, [read(8192, 0), None]),
    line(38, copied(16384, 8192), None, [None, None]),
    line(40, acked(8192, 8192, 0), Some(8192), [None, None]),
    line(41, sent(8192, 8192, 8192), None, [arrived(8192), None]),
    line(42, copied(12288, 8192), None, [read(8192, 0), None]),
    line(43, copied(16384, 8192), None, [None, None]),
    line(45, acked(8192, 8192, 0), Some(8192), [None, None]),
    line(46, sent(8192, 8192, 8192), None, [arrived(8192), None]),
    line(47, copied(12288, 8192), None, [read(8192, 0), None]),
    line(48, copied(16384, 8192), None, [None, None]),
    line(49, acked(8192, 8192, 0), Some(8192), [None, None]),
    line(50, sent(8192, 8192, 8192), None, [arrived(8192), None]),
    line(51, None, None, [read(8192, 0), None]),
    line(52, acked(8192, 0, 0), Some(8192), [None, None]),
];

const fn line(
    number: u8,
    sender: Option<SenderStep>,
    ack: Option<u64>,
    receiver: [Option<ReceiverStep>; 2],
) -> Line {
    Line {
        number,
        sender,
        ack,
        receiver,
    }
}

/// Returns a step that copied a piece; every piece in the table has 4096 octets.
const fn copied(buffered: u64, unacked: u64) -> Option<SenderStep> {
    Some(SenderStep::Copied {
        octets: 4096,
        buffered,
        unacked,
    })
}

const fn acked(octets: u64, buffered: u64, unacked: u64) -> Option<SenderStep> {
    Some(SenderStep::Acked {
        octets,
        buffered,
        unacked,
    })
}

const fn sent(octets: u64, buffered: u64, unacked: u64) -> Option<SenderStep> {
    Some(SenderStep::Sent {
        octets,
        buffered,
        unacked,
    })
}

const fn arrived(unread: u64) -> Option<ReceiverStep> {
    Some(ReceiverStep::Arrived { unread })
}

const fn read(octets: u64, unread: u64) -> Option<ReceiverStep> {
    Some(ReceiverStep::Read { octets, unread })
}
