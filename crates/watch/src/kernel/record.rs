//! The records of the ring buffer, as `bpf/events.h` defines them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::event::{
    After, Aftermath, Connection, DelayedAck, Event, Hold, LateAck, Reason, Release, Tally, Writer,
};
use crate::seen::{Seen, Sight};
use crate::site::{PythonThread, Stack};
use tinygram_host::clock::clock_ns;

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

// SAFETY: numbers without gaps between them.
unsafe impl aya::Pod for PythonRecord {}

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

// SAFETY: numbers without gaps between them.
unsafe impl aya::Pod for SeenRecord {}

impl SeenRecord {
    /// Returns what the record says: nothing was seen before the first write, and all that was seen at the
    /// end.
    pub(super) fn sight(&self) -> Sight {
        let seen = match self.ended {
            0 => Seen::default(),
            _ => self.so_far().seen,
        };
        Sight {
            seen,
            ..self.so_far()
        }
    }

    pub(super) fn so_far(&self) -> Sight {
        Sight {
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
            Event::Tally(Tally {
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

fn read<T: Copy>(record: &[u8]) -> Option<T> {
    // SAFETY: the record is long enough, and all records are plain numbers.
    (record.len() >= size_of::<T>())
        .then(|| unsafe { record.as_ptr().cast::<T>().read_unaligned() })
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
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// Lists a record's fields with their offsets, and its size. `FIELD as NAME` gives the name that C has for it.
    macro_rules! layout {
        ($record:ty, $($field:ident $(as $name:literal)?),*) => {
            (
                vec![$((
                    [$($name,)? stringify!($field)][0].to_owned(),
                    offset_of!($record, $field),
                )),*],
                size_of::<$record>(),
            )
        };
    }

    /// The source of the BPF programs.
    const HEADER: &str = include_str!("../../bpf/events.h");

    #[test]
    fn records_have_the_fields_of_c_at_the_same_offsets() {
        let ends = layout!(
            Ends,
            cookie,
            local,
            remote,
            netns,
            mss,
            srtt_us,
            min_rtt_us,
            family,
            local_port,
            remote_port,
            opened
        );
        assert_eq!(in_c("ends"), ends);
        let hold = layout!(
            HoldRecord, what, uid, ends, writer, cgroup, start_ns, end_ns, serial, held, behind,
            packets, writes, reason, ended_by, nonagle, slept, comm
        );
        assert_eq!(in_c("hold"), hold);
        let after = layout!(AfterRecord, what, after, cookie, serial);
        assert_eq!(in_c("aftermath"), after);
        let tally = layout!(
            TallyRecord,
            what,
            uid,
            ends,
            writer,
            cgroup,
            start_ns,
            end_ns,
            bytes,
            segments,
            writes,
            turns,
            short_holds,
            close,
            nonagle,
            slower,
            unseen,
            comm
        );
        assert_eq!(in_c("tally"), tally);
    }

    #[test]
    fn records_of_late_acks_and_of_what_was_seen_are_those_of_c() {
        let late_ack = layout!(
            LateAckRecord,
            what,
            uid,
            ends,
            reader,
            cgroup,
            ack_ns,
            read_ns,
            late_us,
            length,
            before,
            answered,
            bound_ms,
            comm
        );
        assert_eq!(in_c("late_ack"), late_ack);
        let python = layout!(
            PythonRecord, state as "thread_state", current, indirect, code, previous, instruction,
            unused
        );
        assert_eq!(in_c("python"), python);
        let seen = layout!(
            SeenRecord,
            what,
            uid,
            ends,
            writer,
            cgroup,
            writes,
            segments,
            segments_before,
            ended,
            comm
        );
        assert_eq!(in_c("seen"), seen);
        let delayed_ack = layout!(DelayedAckRecord, what, unread, ends, at_ns);
        assert_eq!(in_c("delayed_ack"), delayed_ack);
    }

    /// Four registers are one array here, and the octets of the stack follow the record.
    #[test]
    fn the_record_of_a_stack_is_that_of_c() {
        let (fields, size) = in_c("stack");
        let at = |name: &str| fields.iter().find(|(field, _)| field == name).unwrap().1;
        let registers = ["instruction", "stack", "frame", "link"].map(at);
        let first = offset_of!(StackRecord, registers);
        assert_eq!(registers, [first, first + 8, first + 16, first + 24]);
        assert_eq!(at("serial"), offset_of!(StackRecord, serial));
        assert_eq!(at("cookie"), offset_of!(StackRecord, cookie));
        assert_eq!(at("writer"), offset_of!(StackRecord, writer));
        assert_eq!(at("length"), offset_of!(StackRecord, length));
        assert_eq!(at("frames"), offset_of!(StackRecord, frames));
        assert_eq!(at("python"), offset_of!(StackRecord, python));
        assert_eq!(at("octets"), size_of::<StackRecord>());
        assert_eq!(size, size_of::<StackRecord>() + number("STACK_OCTETS"));
        assert_eq!(number("PYTHON_FRAMES"), PYTHON_FRAMES);
    }

    #[test]
    fn reasons_and_ends_have_the_numbers_of_c() {
        let reasons = [
            ("REASON_NAGLE", Some(Reason::Nagle)),
            ("REASON_CORK", Some(Reason::Cork)),
            ("REASON_MORE", Some(Reason::MsgMore)),
            ("REASON_AUTOCORK", Some(Reason::Autocork)),
            ("REASON_CWND", Some(Reason::CongestionWindow)),
            // No rule about short segments.
            ("REASON_WINDOW", None),
            ("REASON_OTHER", None),
        ];
        for (name, meant) in &reasons {
            assert_eq!(reason(number(name) as u8), *meant, "{name}");
        }
        assert_eq!(names("REASON_"), reasons.map(|(name, _)| name));
        let ends = [
            ("ENDED_ACK", Release::Ack),
            ("ENDED_CLOSE", Release::Close),
            ("ENDED_OPTION", Release::Option),
            ("ENDED_WRITE", Release::Write),
            ("ENDED_LOSS_PROBE", Release::LossProbe),
            ("ENDED_TIMER", Release::Timer),
            ("ENDED_NEVER", Release::Never),
        ];
        for (name, meant) in &ends {
            assert_eq!(release(number(name) as u8), Some(*meant), "{name}");
        }
        assert_eq!(names("ENDED_"), ends.map(|(name, _)| name));
        assert_eq!(usize::from(NOWHERE), number("NOWHERE"));
        assert_eq!(usize::from(OPENED_KNOWN), number("OPENED_KNOWN"));
        assert_eq!(usize::from(OPENED_BY_PEER), number("OPENED_BY_PEER"));
    }

    #[test]
    fn events_have_the_numbers_of_c() {
        let of_kind = |name: &str| {
            let mut record = vec![0; 512];
            record[..4].copy_from_slice(&(number(name) as u32).to_ne_bytes());
            record
        };
        let mut hold = of_kind("EVENT_HOLD");
        hold[offset_of!(HoldRecord, reason)] = 1;
        hold[offset_of!(HoldRecord, ended_by)] = 1;
        assert!(matches!(decode(&hold, 0), Some(Event::Hold(_))));
        for (name, kind) in [
            ("AFTER_ANSWER", After::Answer),
            ("AFTER_WRITE", After::Write),
            ("AFTER_PEERS_CLOSE", After::PeersClose),
            ("AFTER_CLOSE", After::Close),
        ] {
            let mut after = of_kind("EVENT_AFTER");
            after[offset_of!(AfterRecord, after)] = number(name) as u8;
            let said = decode(&after, 0);
            assert!(
                matches!(said, Some(Event::After(it)) if it.after == kind),
                "{name}"
            );
        }
        assert_eq!(names("AFTER_").len(), 4);
        let is = |name: &str, is: fn(&Event) -> bool| {
            decode(&of_kind(name), 0).is_some_and(|it| is(&it))
        };
        assert!(is("EVENT_TALLY", |it| matches!(it, Event::Tally(_))));
        assert!(is("EVENT_LATE_ACK", |it| matches!(it, Event::LateAck(_))));
        assert!(is("EVENT_DELAYED_ACK", |it| matches!(
            it,
            Event::DelayedAck(_)
        )));
        assert!(stack(&of_kind("EVENT_STACK")).is_some());
        assert!(seen(&of_kind("EVENT_SEEN")).is_some());
        assert_eq!(names("EVENT_").len(), 7);
    }

    /// Returns the names of the header's constants that begin so, in their order.
    fn names(prefix: &str) -> Vec<&'static str> {
        let lines = HEADER.lines().map(str::trim);
        let constants = lines.filter_map(|line| line.split_once(" = ").map(|(name, _)| name));
        constants.filter(|name| name.starts_with(prefix)).collect()
    }

    /// Returns a constant of the header.
    fn number(name: &str) -> usize {
        let begins = format!("{name} = ");
        let (_, rest) = HEADER
            .split_once(&begins)
            .unwrap_or_else(|| panic!("no {name}"));
        let end = rest.find([',', ' ', '\n']).expect("it ends");
        match rest[..end].strip_prefix("0x") {
            Some(digits) => usize::from_str_radix(digits, 16),
            None => rest[..end].parse(),
        }
        .unwrap_or_else(|_| panic!("{name}: {}", &rest[..end]))
    }

    /// Returns the fields of a structure of the header with their offsets, and its size, by C's rules.
    fn in_c(name: &str) -> (Vec<(String, usize)>, usize) {
        let begins = format!("\nstruct {name} {{\n");
        let (_, rest) = HEADER
            .split_once(&begins)
            .unwrap_or_else(|| panic!("no {name}"));
        let (body, _) = rest.split_once("\n};").expect("it ends");
        let (mut fields, mut end, mut widest) = (Vec::new(), 0_usize, 1);
        for line in body.lines() {
            let (declared, _) = line.split_once(';').expect("a field a line");
            let (of, field) = declared.trim().rsplit_once(' ').expect("a type and a name");
            let (field, count) = match field.strip_suffix(']').and_then(|it| it.split_once('[')) {
                Some((field, count)) => (field, count.parse().unwrap_or_else(|_| number(count))),
                None => (field, 1),
            };
            let (size, align) = match of {
                "u8" | "char" => (1, 1),
                "u16" => (2, 2),
                "u32" => (4, 4),
                "u64" => (8, 8),
                "union address" => (16, 4),
                "struct ends" => (in_c("ends").1, 8),
                "struct python_frame" => (in_c("python_frame").1, 8),
                other => panic!("{other} in {name}"),
            };
            end = end.next_multiple_of(align);
            fields.push((field.to_owned(), end));
            end += size * count;
            widest = widest.max(align);
        }
        (fields, end.next_multiple_of(widest))
    }

    #[test]
    fn a_record_cut_short_or_of_no_known_kind_is_no_event() {
        for length in 0..144 {
            let mut record = vec![0; length];
            if let Some(first) = record.first_mut() {
                *first = 1;
            }
            assert!(decode(&record, 0).is_none());
        }
        assert!(decode(&[9; 200], 0).is_none());
    }
}
