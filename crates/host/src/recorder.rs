//! The recorder: what programs do on some connections, so that it can be played again: each write and each read with
//! its time, and each segment that leaves.
//!
//! The sockets are named by their cookies, and each is recorded for a bounded number of steps. Three tracepoints are
//! used while the recorder is open; every write, read and segment of data on the host costs a look into a table then,
//! about a tenth of a microsecond.

use std::time::Duration;

use aya::Ebpf;
use aya::maps::{HashMap, MapData};

use crate::lacking::Lacking;
use crate::programs::Programs;
use crate::ring::Ring;

/// The attached programs. Dropping it detaches them.
pub struct Recorder {
    steps: Ring,
    recorded: HashMap<MapData, u64, u32>,
    _object: Ebpf,
}

/// What happened at a socket. Sequence numbers are those of the wire: both ends of a connection mean the same octet by
/// the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The socket.
    pub cookie: u64,
    /// When, in nanoseconds of the kernel's monotonic clock.
    pub at_ns: u64,
    /// What.
    pub did: Did,
    /// How many octets were written, read or sent.
    pub length: u32,
    /// Where what the program has written ends; of a segment, where that ends.
    pub written: u32,
    /// SND.NXT: where what was sent ends.
    pub sent: u32,
    /// SND.UNA: where what the peer has acknowledged ends.
    pub acknowledged: u32,
    /// Where what the program has read ends.
    pub copied: u32,
    /// Segments with data that were sent since the socket was opened.
    pub data_segs_out: u32,
    /// Segments that were sent since the socket was opened.
    pub segs_out: u32,
    /// The shortest round-trip time that the kernel has measured lately, in microseconds; 0 or `u32::MAX`: none yet.
    pub min_rtt_us: u32,
    /// The octets of data in a full segment.
    pub mss: u32,
    /// The congestion window, in segments.
    pub cwnd: u32,
    /// Whether `TCP_NODELAY` is on.
    pub nodelay: bool,
    /// The rate at which the socket lets segments leave, in octets per second; `None`: as soon as they may. What a queue of the
    /// device paces (`fq`) leaves the socket at once.
    pub pacing_rate: Option<u64>,
}

/// See [`Step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    /// A write has ended.
    Wrote {
        /// Whether it said `MSG_MORE`, or the socket is corked.
        more: bool,
    },
    /// A read has ended.
    Read,
    /// A segment with data is on its way to the device.
    Sent,
    /// A bare acknowledgment is.
    Acknowledged,
}

impl Recorder {
    /// Loads and attaches the programs.
    ///
    /// # Errors
    ///
    /// Returns what the kernel or the privileges lack, in one line.
    pub fn open() -> Result<Self, Lacking> {
        let mut programs = Programs::load(OBJECT)?;
        programs.attach(&TRACEPOINTS)?;
        Ok(Self {
            steps: Ring::of(&mut programs, "steps", "unrecorded")?,
            recorded: programs.map("recorded")?,
            _object: programs.object,
        })
    }

    /// Records this socket from now on, for at most `steps` steps.
    ///
    /// # Errors
    ///
    /// Returns what the kernel refuses; no more than 4,096 sockets can be recorded.
    pub fn record(&mut self, cookie: u64, steps: u32) -> std::io::Result<()> {
        let inserted = self.recorded.insert(cookie, steps, 0);
        inserted.map_err(std::io::Error::other)
    }

    /// Passes the steps since the last call to `each`. If there are none yet, waits for at most `patience`.
    pub fn poll(&mut self, patience: Duration, mut each: impl FnMut(Step)) {
        self.steps.poll(patience, |record| {
            if let Some(step) = decode(record) {
                each(step);
            }
        });
    }

    /// Returns how many steps found no room since the start.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.steps.lost(0)
    }
}

/// Reads `struct step` of `bpf/recorder.h`.
fn decode(record: &[u8]) -> Option<Step> {
    let long = |at: usize| Some(u64::from_ne_bytes(record.get(at..at + 8)?.try_into().ok()?));
    let number = |at: usize| Some(u32::from_ne_bytes(record.get(at..at + 4)?.try_into().ok()?));
    let [what, more, nonagle] = record.get(56..59)?.try_into().ok()?;
    Some(Step {
        cookie: long(0)?,
        at_ns: long(8)?,
        did: match what {
            1 => Did::Wrote {
                more: more != 0 || nonagle & CORK != 0,
            },
            2 => Did::Read,
            3 => Did::Sent,
            4 => Did::Acknowledged,
            _ => return None,
        },
        length: number(16)?,
        written: number(20)?,
        sent: number(24)?,
        acknowledged: number(28)?,
        copied: number(32)?,
        data_segs_out: number(36)?,
        segs_out: number(40)?,
        min_rtt_us: number(44)?,
        mss: number(48)?,
        cwnd: number(52)?,
        nodelay: nonagle & NAGLE_OFF != 0,
        pacing_rate: Some(long(64)?).filter(|rate| *rate != 0),
    })
}

/// Each program with its tracepoint.
const TRACEPOINTS: [(&str, &str); 3] = [
    ("wrote", "sock_send_length"),
    ("read", "sock_recv_length"),
    ("sent", "net_dev_queue"),
];
const NAGLE_OFF: u8 = 1;
const CORK: u8 = 2;

static OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/recorder.bpf.o");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_cut_short_or_of_no_known_kind_is_no_step() {
        let mut record = [0; 72];
        record[56] = 1;
        assert!(decode(&record).is_some());
        for length in 0..72 {
            assert!(decode(&record[..length]).is_none(), "{length}");
        }
        record[56] = 9;
        assert!(decode(&record).is_none());
    }
}
