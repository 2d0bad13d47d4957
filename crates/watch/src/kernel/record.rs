//! The records of the ring buffer, as `bpf/events.h` defines them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::event::{
    After, Aftermath, Connection, DelayedAck, Event, Hold, LateAck, Reason, Release, SentTally,
    Writer,
};
use crate::seen::{Seen, SeenEnd};
use crate::site::{PythonThread, Stack};
use tinygram_host::clock::clock_ns;
use tinygram_host::record::{Pod, read};

#[repr(C)]
#[derive(Clone, Copy)]
struct Ends {
    cookie: u64,
    local: [u8; 16],
    remote: [u8; 16],
    netns: u32,
    mss: u32,
    srtt_us: u32,
    min_rtt_us: u32,
    family: u16,
    local_port: u16,
    remote_port: u16,
    opened: u16,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct HoldRecord {
    what: u32,
    uid: u32,
    ends: Ends,
    writer: u64,
    cgroup: u64,
    start_ns: u64,
    end_ns: u64,
    serial: u32,
    held: u32,
    behind: u32,
    packets: u32,
    writes: u32,
    reason: u8,
    ended_by: u8,
    nonagle: u8,
    slept: u8,
    comm: [u8; 16],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct AfterRecord {
    what: u32,
    after: u32,
    cookie: u64,
    serial: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct TallyRecord {
    what: u32,
    uid: u32,
    ends: Ends,
    writer: u64,
    cgroup: u64,
    start_ns: u64,
    end_ns: u64,
    bytes: u64,
    segments: u32,
    writes: u32,
    turns: u32,
    short_holds: u32,
    close: u32,
    nonagle: u32,
    slower: u32,
    unseen: u32,
    comm: [u8; 16],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct LateAckRecord {
    what: u32,
    uid: u32,
    ends: Ends,
    reader: u64,
    cgroup: u64,
    ack_ns: u64,
    read_ns: u64,
    late_us: u32,
    length: u32,
    before: u32,
    answered: u16,
    bound_ms: u16,
    comm: [u8; 16],
}

/// The header of a stack; `length` octets of the stack follow.
#[repr(C)]
#[derive(Clone, Copy)]
struct StackRecord {
    what: u32,
    serial: u32,
    cookie: u64,
    writer: u64,
    registers: [u64; 4],
    length: u32,
    frames: u32,
    python: [(u64, u64); PYTHON_FRAMES],
}

/// A thread that runs Python, with what the BPF programs need to find its frames.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct PythonRecord {
    state: u64,
    current: u16,
    indirect: u16,
    code: u16,
    previous: u16,
    instruction: u16,
    unused: [u16; 3],
}

impl From<PythonThread> for PythonRecord {
    fn from(thread: PythonThread) -> Self {
        Self {
            state: thread.state,
            current: thread.current,
            indirect: thread.indirect.unwrap_or(NOWHERE),
            code: thread.code,
            previous: thread.previous,
            instruction: thread.instruction,
            unused: [0; 3],
        }
    }
}

/// What was seen of one end of a connection.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct SeenRecord {
    what: u32,
    uid: u32,
    ends: Ends,
    writer: u64,
    cgroup: u64,
    writes: u32,
    segments: u32,
    segments_before: u32,
    ended: u32,
    comm: [u8; 16],
}

impl SeenRecord {
    /// Returns what the record says: nothing was seen before the first write, and all that was seen at the
    /// end.
    pub(super) fn sight(&self) -> SeenEnd {
        let seen = match self.ended {
            0 => Seen::default(),
            _ => self.so_far().seen,
        };
        SeenEnd {
            seen,
            ..self.so_far()
        }
    }

    pub(super) fn so_far(&self) -> SeenEnd {
        SeenEnd {
            connection: self.ends.connection(),
            writer: writer(self.writer, self.uid, self.cgroup, &self.comm),
            seen: Seen {
                connections: 1,
                writes: Some(self.writes.into()),
                segments: self.segments.saturating_sub(self.segments_before).into(),
                timed: 0,
            },
            at_ns: clock_ns(libc::CLOCK_REALTIME),
        }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
struct DelayedAckRecord {
    what: u32,
    unread: u32,
    ends: Ends,
    at_ns: u64,
}

// SAFETY: each is made of numbers without gaps between them.
unsafe impl Pod for HoldRecord {}
// SAFETY: as above.
unsafe impl Pod for AfterRecord {}
// SAFETY: as above.
unsafe impl Pod for TallyRecord {}
// SAFETY: as above.
unsafe impl Pod for LateAckRecord {}
// SAFETY: as above.
unsafe impl Pod for StackRecord {}
// SAFETY: as above.
unsafe impl Pod for PythonRecord {}
// SAFETY: as above.
unsafe impl Pod for SeenRecord {}
// SAFETY: as above.
unsafe impl Pod for DelayedAckRecord {}

/// Returns what `record` says of a connection; none if it is of another kind.
pub(super) fn seen(record: &[u8]) -> Option<SeenRecord> {
    read(record).filter(|r: &SeenRecord| r.what == 6)
}

/// Returns the stack that `record` holds; none if it is of another kind.
pub(super) fn stack(record: &[u8]) -> Option<OfHold<'_>> {
    let r: StackRecord = read(record).filter(|r: &StackRecord| r.what == 5)?;
    let head = size_of::<StackRecord>();
    Some(OfHold {
        cookie: r.cookie,
        serial: r.serial.into(),
        stack: Stack {
            pid: (r.writer >> 32) as u32,
            thread: r.writer as u32,
            registers: r.registers,
            octets: record.get(head..head + r.length as usize)?,
            python: r.python.get(..r.frames as usize)?.to_vec(),
        },
    })
}

/// The stack of the write that a hold began with.
pub(super) struct OfHold<'a> {
    /// The connection.
    pub(super) cookie: u64,
    /// Which of its holds.
    pub(super) serial: u64,
    pub(super) stack: Stack<'a>,
}

const PYTHON_FRAMES: usize = 12;
const NOWHERE: u16 = u16::MAX;

/// Returns the event in `record`, with the kernel's monotonic times moved by `epoch_ns`; `None` if
/// its kind is unknown.
pub(super) fn decode(record: &[u8], epoch_ns: i64) -> Option<Event> {
    let what = u32::from_ne_bytes(record.get(..4)?.try_into().ok()?);
    let at = |monotonic: u64| monotonic as i64 + epoch_ns;
    Some(match what {
        1 => {
            let r: HoldRecord = read(record)?;
            Event::Hold(Hold {
                connection: r.ends.connection(),
                writer: writer(r.writer, r.uid, r.cgroup, &r.comm),
                serial: r.serial.into(),
                start_ns: at(r.start_ns),
                end_ns: at(r.end_ns),
                held: r.held,
                behind: r.behind,
                packets: r.packets,
                writes: r.writes,
                reason: reason(r.reason)?,
                release: release(r.ended_by)?,
                nodelay: r.nonagle & 1 != 0,
                slept: r.slept != 0,
            })
        }
        2 => {
            let r: AfterRecord = read(record)?;
            Event::After(Aftermath {
                cookie: r.cookie,
                serial: r.serial,
                after: match r.after {
                    1 => After::Answer,
                    2 => After::Write,
                    3 => After::PeersClose,
                    4 => After::Close,
                    _ => return None,
                },
            })
        }
        3 => {
            let r: TallyRecord = read(record)?;
            Event::Tally(SentTally {
                connection: r.ends.connection(),
                writer: writer(r.writer, r.uid, r.cgroup, &r.comm),
                start_ns: at(r.start_ns),
                end_ns: at(r.end_ns),
                bytes: r.bytes,
                segments: r.segments,
                writes: r.writes,
                turns: r.turns,
                close: r.close,
                slower: r.slower,
                unseen: r.unseen,
                short_holds: r.short_holds,
                nodelay: r.nonagle & 1 != 0,
            })
        }
        4 => {
            let r: LateAckRecord = read(record)?;
            Event::LateAck(LateAck {
                connection: r.ends.connection(),
                reader: writer(r.reader, r.uid, r.cgroup, &r.comm),
                ack_ns: at(r.ack_ns),
                read_ns: at(r.read_ns),
                late_ns: i64::from(r.late_us) * 1000,
                length: r.length,
                before: r.before,
                answered: r.answered != 0,
                bound_ns: (r.bound_ms != 0).then_some(i64::from(r.bound_ms) * 1_000_000),
            })
        }
        7 => {
            let r: DelayedAckRecord = read(record)?;
            Event::DelayedAck(DelayedAck {
                connection: r.ends.connection(),
                at_ns: at(r.at_ns),
                unread: r.unread,
            })
        }
        _ => return None,
    })
}

fn reason(number: u8) -> Option<Reason> {
    Some(match number {
        1 => Reason::Nagle,
        2 => Reason::Cork,
        3 => Reason::MsgMore,
        4 => Reason::Autocork,
        5 => Reason::CongestionWindow,
        _ => return None,
    })
}

fn release(number: u8) -> Option<Release> {
    Some(match number {
        1 => Release::Ack,
        2 => Release::Close,
        3 => Release::Option,
        4 => Release::Write,
        5 => Release::LossProbe,
        6 => Release::Timer,
        7 => Release::Never,
        _ => return None,
    })
}

fn writer(pid_tgid: u64, uid: u32, cgroup: u64, comm: &[u8; 16]) -> Writer {
    let end = comm.iter().position(|octet| *octet == 0).unwrap_or(16);
    Writer {
        pid: (pid_tgid >> 32) as u32,
        thread: pid_tgid as u32,
        uid,
        cgroup,
        comm: String::from_utf8_lossy(&comm[..end]).into_owned(),
    }
}

impl Ends {
    fn connection(&self) -> Connection {
        let address = |octets: &[u8; 16]| match i32::from(self.family) {
            libc::AF_INET6 => IpAddr::V6(Ipv6Addr::from(*octets)).to_canonical(),
            _ => IpAddr::V4(Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3])),
        };
        Connection {
            cookie: self.cookie,
            netns: self.netns,
            local: SocketAddr::new(address(&self.local), self.local_port),
            remote: SocketAddr::new(address(&self.remote), self.remote_port),
            mss: self.mss,
            srtt_ns: i64::from(self.srtt_us) * 1000,
            min_rtt_ns: match self.min_rtt_us {
                // Not measured yet.
                0 | u32::MAX => None,
                us => Some(i64::from(us) * 1000),
            },
            accepted: (self.opened & OPENED_KNOWN != 0)
                .then_some(self.opened & OPENED_BY_PEER != 0),
        }
    }
}

const OPENED_KNOWN: u16 = 1;
const OPENED_BY_PEER: u16 = 2;

#[cfg(test)]
mod tests;
