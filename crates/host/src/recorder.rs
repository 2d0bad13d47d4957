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
use crate::record::{Pod, read};
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
        programs.attach_to_calls()?;
        programs.attach(&[("sent", "net_dev_queue")])?;
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

/// `struct step` of `bpf/recorder.h`.
#[repr(C)]
#[derive(Clone, Copy)]
struct StepRecord {
    cookie: u64,
    at_ns: u64,
    length: u32,
    written: u32,
    sent: u32,
    acknowledged: u32,
    copied: u32,
    data_segs_out: u32,
    segs_out: u32,
    min_rtt_us: u32,
    mss: u32,
    cwnd: u32,
    what: u8,
    more: u8,
    nonagle: u8,
    unused: [u8; 5],
    pacing_rate: u64,
}

// SAFETY: it is `repr(C)`, has no padding, and any octets are a valid value of it.
unsafe impl Pod for StepRecord {}

/// Returns the step in `record`; `None` if it is cut short, or of a kind that is not known.
fn decode(record: &[u8]) -> Option<Step> {
    let r: StepRecord = read(record)?;
    Some(Step {
        cookie: r.cookie,
        at_ns: r.at_ns,
        did: match r.what {
            1 => Did::Wrote {
                more: r.more != 0 || r.nonagle & CORK != 0,
            },
            2 => Did::Read,
            3 => Did::Sent,
            4 => Did::Acknowledged,
            _ => return None,
        },
        length: r.length,
        written: r.written,
        sent: r.sent,
        acknowledged: r.acknowledged,
        copied: r.copied,
        data_segs_out: r.data_segs_out,
        segs_out: r.segs_out,
        min_rtt_us: r.min_rtt_us,
        mss: r.mss,
        cwnd: r.cwnd,
        nodelay: r.nonagle & NAGLE_OFF != 0,
        pacing_rate: (r.pacing_rate != 0).then_some(r.pacing_rate),
    })
}

const NAGLE_OFF: u8 = 1;
const CORK: u8 = 2;

static OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/recorder.bpf.o");

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;
    use crate::contract::{Contract, layout};

    fn contract() -> Contract {
        let headers = [
            include_str!("../bpf/kernel.h"),
            include_str!("../bpf/recorder.h"),
        ];
        Contract::new(&headers, OBJECT)
    }

    #[test]
    fn a_step_has_the_fields_of_c_at_the_same_offsets() {
        let step = layout!(
            StepRecord,
            cookie,
            at_ns,
            length,
            written,
            sent,
            acknowledged,
            copied,
            data_segs_out,
            segs_out,
            min_rtt_us,
            mss,
            cwnd,
            what,
            more,
            nonagle,
            unused,
            pacing_rate
        );
        contract().has("step", &step);
    }

    #[test]
    fn kinds_and_flags_have_the_numbers_of_c() {
        let c = contract();
        let kinds = [
            ("WHAT_WROTE", Did::Wrote { more: false }),
            ("WHAT_READ", Did::Read),
            ("WHAT_SENT", Did::Sent),
            ("WHAT_ACKED", Did::Acknowledged),
        ];
        for (name, did) in kinds {
            let mut record = [0; size_of::<StepRecord>()];
            record[offset_of!(StepRecord, what)] = c.number(name) as u8;
            assert_eq!(decode(&record).map(|step| step.did), Some(did), "{name}");
        }
        assert_eq!(c.names("WHAT_"), kinds.map(|(name, _)| name));
        assert_eq!(c.number("NAGLE_OFF"), usize::from(NAGLE_OFF));
        assert_eq!(c.number("NAGLE_CORK"), usize::from(CORK));
    }

    #[test]
    fn a_record_cut_short_or_of_no_known_kind_is_no_step() {
        let mut record = [0; size_of::<StepRecord>()];
        record[offset_of!(StepRecord, what)] = 1;
        assert!(decode(&record).is_some());
        for length in 0..record.len() {
            assert!(decode(&record[..length]).is_none(), "{length}");
        }
        record[offset_of!(StepRecord, what)] = 9;
        assert!(decode(&record).is_none());
    }
}
