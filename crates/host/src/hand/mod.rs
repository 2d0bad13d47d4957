//! The hand: reports the TCP sockets of a network namespace, whoever owns them, and sets their options.
//!
//! A BPF iterator (`bpf/hand.bpf.c`) walks over the kernel's table of sockets. No descriptor is copied, and no
//! process is stopped. It takes CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN, and a kernel of 6.1 or newer with BTF.
//!
//! Before Linux 6.17 a walk may skip a socket or meet it twice, if sockets come and go meanwhile. So sockets are
//! known by their cookies, and [`Hand::set`] walks again for those that it missed.
//!
//! [`Hand::give_way`] attaches a hook at the control groups' root that sees what programs set afterwards. While it is
//! there, a socket that the hand has changed and whose program has set the same option since, to whatever value, is left
//! alone.

mod batch;
mod descriptor;
mod record;
mod setting;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::time::Duration;

use aya::maps::{Array, Map, MapData};
use aya::programs::{Iter, ProgramError};
use aya::{BtfError, Ebpf};

use crate::clock::tick;
use crate::lacking::{Lacking, missing};
use crate::programs::{Programs, attach_to_groups};
use crate::record::each;
use crate::release::release;
use record::{ChangeRecord, MOST_CHANGES, Order, OutcomeRecord, SocketRecord};
pub use setting::{Raw, Setting, SocketOption, Values};

/// The loaded program. Dropping it leaves nothing in the kernel; what was set stays set.
pub struct Hand {
    object: Ebpf,
    orders: Array<MapData, Order>,
    /// [`ChangeRecord`]s in the order of their cookies.
    changes: MapData,
    /// The sockets that have been changed since the hook was attached, and when, if not by a sweep: in nanoseconds of the
    /// kernel's monotonic clock. `None` without the hook.
    watched: Option<HashMap<(u64, SocketOption), u64>>,
}

/// A TCP socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Socket {
    /// The kernel's number for it, which no other socket has until the machine is started anew.
    pub cookie: u64,
    /// The inode to which descriptors lead; 0 if none does.
    pub inode: u64,
    /// The ID of the control group of the process that made it.
    pub cgroup: u64,
    /// The inode of its network namespace.
    pub netns: u32,
    /// This end.
    pub local: SocketAddr,
    /// The other end; port 0 if it listens.
    pub remote: SocketAddr,
    /// The state, by the kernel's number: 1 is ESTABLISHED, 10 is LISTEN.
    pub state: u8,
    /// The values of the options, as the kernel keeps them.
    pub values: Values,
    /// Data segments sent since it was opened.
    pub data_segs_out: u32,
    /// Data segments received since then.
    pub data_segs_in: u32,
    /// Whether its program has set `TCP_CORK`, to whatever value, since the hook was attached.
    is_corked_by_program: bool,
}

impl Socket {
    /// Returns whether it listens.
    #[must_use]
    pub fn listens(&self) -> bool {
        self.state == LISTEN
    }

    /// Returns whether its program may still write to it or read from it: a socket that the program has closed is
    /// in another state.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.state, ESTABLISHED | CLOSE_WAIT)
    }

    /// Returns whether `TCP_NODELAY` is on.
    #[must_use]
    pub fn nodelay(&self) -> bool {
        self.values[SocketOption::Nodelay] != Raw::of(0)
    }
}

/// A change of one socket's option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The socket.
    pub cookie: u64,
    /// The value that it is to have.
    pub to: Raw,
    /// The value that it must have now; with another it is left alone.
    pub only_if: Option<Raw>,
}

/// What became of a [`Change`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeOutcome {
    /// The socket.
    pub cookie: u64,
    /// The value that it had.
    pub before: Raw,
    /// The value that it has.
    pub after: Raw,
    /// What happened.
    pub did: Did,
}

/// What a sweep did to a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    /// The value is set.
    Set,
    /// It had another value than expected, and was left alone.
    Differs,
    /// Its program has set the option since it was changed first, and it was left alone.
    GaveWay,
    /// The kernel refused, with this error number.
    Refused(i32),
    /// No sweep met the socket: it is closed.
    Gone,
}

impl Did {
    /// Reads `enum result` with the error of the kernel.
    pub(crate) fn of(result: u32, error: i32) -> Self {
        match result {
            record::DIFFERS => Self::Differs,
            record::REFUSED => Self::Refused(-error),
            record::GAVE_WAY => Self::GaveWay,
            _ => Self::Set,
        }
    }
}

impl Hand {
    /// Loads the program.
    ///
    /// # Errors
    ///
    /// Returns what the kernel or the privileges lack, in one line.
    pub fn open() -> Result<Self, Lacking> {
        let mut programs = Programs::load(OBJECT)?;
        sweep(&mut programs.object)
            .ok_or_else(|| missing("sweep"))?
            .load("tcp", &programs.btf)
            .map_err(|error| match error {
                ProgramError::Btf(BtfError::UnknownBtfTypeName { .. }) => Lacking::Walk,
                other => match Lacking::of(&other) {
                    // The walk is there, and what the program calls in it is not.
                    Lacking::Other(_) if release() < SETS_SINCE => Lacking::Walk,
                    lacking => lacking,
                },
            })?;
        Ok(Self {
            orders: programs.map("orders")?,
            changes: match programs.object.take_map("changes") {
                Some(Map::Array(changes)) => changes,
                _ => return Err(missing("changes")),
            },
            object: programs.object,
            watched: None,
        })
    }

    /// Gives way to programs from now on: see [`hand`](self). Ends with this value.
    ///
    /// # Errors
    ///
    /// Returns what is missing, in one line; without control groups of version 2 there is no such hook.
    pub fn give_way(&mut self) -> Result<(), Lacking> {
        attach_to_groups(&mut self.object, "notice", "seeing what programs set")?;
        self.watched = Some(HashMap::new());
        Ok(())
    }

    /// Returns whether it sees what programs set.
    #[must_use]
    pub fn gives_way(&self) -> bool {
        self.watched.is_some()
    }

    /// Says that an option of a socket was changed by another hand at this time of the kernel's monotonic clock, so that this
    /// one gives way to what its program has set afterwards, too.
    pub fn was_changed(&mut self, option: SocketOption, cookie: u64, at_ns: u64) {
        if let Some(watched) = &mut self.watched {
            watched.insert((cookie, option), at_ns);
        }
    }

    /// Says that a socket is closed: nobody sets it any more.
    pub fn was_closed(&mut self, cookie: u64) {
        if let Some(watched) = &mut self.watched {
            for option in SocketOption::ALL {
                watched.remove(&(cookie, option));
            }
        }
    }

    /// Returns the sockets of this thread's network namespace that listen or have a connection.
    ///
    /// # Errors
    ///
    /// Returns what the kernel refuses.
    pub fn sockets(&mut self) -> io::Result<Vec<Socket>> {
        self.listed(0)
    }

    /// Returns those of them over which data went, or which were opened, within so long: the kernel's walk takes as long, but
    /// nothing is said of the others.
    ///
    /// # Errors
    ///
    /// Returns what the kernel refuses.
    pub fn sockets_active_within(&mut self, length: Duration) -> io::Result<Vec<Socket>> {
        let ticks = length.as_nanos().div_ceil(tick().as_nanos());
        self.listed(u32::try_from(ticks).unwrap_or(u32::MAX).max(1))
    }

    fn listed(&mut self, within: u32) -> io::Result<Vec<Socket>> {
        let octets = self.walk(Order {
            within,
            ..Order::default()
        })?;
        let mut all: Vec<Socket> = each(&octets).map(socket).collect();
        all.sort_unstable_by_key(|socket| socket.cookie);
        all.dedup_by_key(|socket| socket.cookie);
        Ok(all)
    }

    /// Sets an option of sockets of this thread's network namespace, and returns an outcome for each change, in
    /// order. A cookie may stand in one change only.
    ///
    /// # Errors
    ///
    /// Returns what the kernel refuses. Sockets may have been changed before that.
    pub fn set(
        &mut self,
        option: SocketOption,
        changes: &[Change],
    ) -> io::Result<Vec<ChangeOutcome>> {
        if option.takes_descriptor() {
            return self.set_by_descriptors(option, changes);
        }
        let mut in_order: Vec<&Change> = changes.iter().collect();
        in_order.sort_unstable_by_key(|change| change.cookie);
        let mut outcomes = HashMap::with_capacity(changes.len());
        for at_once in in_order.chunks(MOST_CHANGES) {
            self.set_in_sweeps(option, at_once, &mut outcomes)?;
        }
        let all = changes.iter().map(|change| {
            outcomes.remove(&change.cookie).unwrap_or(ChangeOutcome {
                cookie: change.cookie,
                before: change.to,
                after: change.to,
                did: Did::Gone,
            })
        });
        Ok(all.collect())
    }

    /// Sets the option of these sockets, which are in the order of their cookies.
    fn set_in_sweeps(
        &mut self,
        option: SocketOption,
        changes: &[&Change],
        outcomes: &mut HashMap<u64, ChangeOutcome>,
    ) -> io::Result<()> {
        let watched = self.watched.as_ref();
        let changed_ns =
            |cookie| watched.and_then(|watched| watched.get(&(cookie, option)).copied());
        let records: Vec<ChangeRecord> = changes
            .iter()
            .map(|change| ChangeRecord {
                cookie: change.cookie,
                to: change.to,
                expected: change.only_if.unwrap_or_default(),
                argument: argument(option, &change.to),
                only_if: change.only_if.is_some().into(),
                gives_way: changed_ns(change.cookie).is_some().into(),
                since_ns: changed_ns(change.cookie).unwrap_or(0),
                ..ChangeRecord::default()
            })
            .collect();
        batch::update(&self.changes, &records)?;
        let mut met = 0;
        for _ in 0..MOST_SWEEPS {
            let octets = self.walk(Order {
                option: option.number(),
                changes: u32::try_from(changes.len()).expect("at most MOST_CHANGES"),
                within: 0,
            })?;
            // A socket is changed when it is met first; then its change is done.
            for record in each::<OutcomeRecord>(&octets) {
                let outcome = ChangeOutcome {
                    cookie: record.cookie,
                    before: record.before,
                    after: record.after,
                    did: Did::of(record.result, record.error),
                };
                if let (Some(watched), Did::Set) = (&mut self.watched, outcome.did) {
                    // What its program has set before is forgotten by the sweep.
                    watched.insert((outcome.cookie, option), 0);
                }
                outcomes.insert(outcome.cookie, outcome);
                met += 1;
            }
            if met >= changes.len() || meets_each_once() {
                break;
            }
        }
        Ok(())
    }

    /// Walks over all sockets, and returns what the program wrote.
    fn walk(&mut self, order: Order) -> io::Result<Vec<u8>> {
        self.orders.set(0, order, 0).map_err(io::Error::other)?;
        let program = sweep(&mut self.object).expect("loaded by `open`");
        let link = program.attach().and_then(|link| program.take_link(link));
        let mut file = link
            .map_err(io::Error::other)?
            .into_file()
            .map_err(io::Error::other)?;
        read_all(&mut file)
    }
}

/// Reads a walk to its end.
fn read_all(file: &mut File) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    let mut buffer = vec![0; READ_AT_ONCE];
    loop {
        // The kernel writes whole records.
        match file.read(&mut buffer) {
            Ok(0) => return Ok(octets),
            Ok(read) => octets.extend_from_slice(&buffer[..read]),
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns whether a read goes on after this.
fn is_passing(error: &io::Error) -> bool {
    let kind = error.kind();
    matches!(kind, io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}

fn sweep(programs: &mut Ebpf) -> Option<&mut Iter> {
    programs.program_mut("sweep")?.try_into().ok()
}

/// Returns the number that the option takes: a delayed ACK's bound is kept in ticks and taken in microseconds.
pub(crate) fn argument(option: SocketOption, value: &Raw) -> u32 {
    match option {
        SocketOption::DelackMax => {
            let bound = tick().saturating_mul(value.number());
            u32::try_from(bound.as_micros()).unwrap_or(u32::MAX)
        }
        _ => value.number(),
    }
}

fn socket(record: SocketRecord) -> Socket {
    let values = Values::of(|option| match option {
        SocketOption::Nodelay => Raw::of(u32::from(record.nonagle & NAGLE_OFF)),
        SocketOption::DelackMax => Raw::of(record.delack_max),
        SocketOption::NotsentLowat => Raw::of(record.notsent_lowat),
        SocketOption::Congestion => Raw::name_in(record.congestion),
        SocketOption::Cork => Raw::of((record.nonagle & NAGLE_CORK != 0).into()),
    });
    Socket {
        cookie: record.cookie,
        inode: record.inode,
        cgroup: record.cgroup,
        netns: record.netns,
        local: record.local(),
        remote: record.remote(),
        state: record.state,
        values,
        data_segs_out: record.data_segs_out,
        data_segs_in: record.data_segs_in,
        is_corked_by_program: record.is_corked_by_program != 0,
    }
}

/// Returns whether this kernel's walk meets each socket once: since Linux 6.17.
fn meets_each_once() -> bool {
    release() >= (6, 17)
}

/// The kernel since which a walk may set what is set here; some older ones have it, too, from their distribution.
const SETS_SINCE: (u32, u32) = (6, 1);
/// How often a sweep is repeated for sockets that were missed.
const MOST_SWEEPS: usize = 3;
/// The kernel gathers what a read takes in a buffer of eight pages. When the program writes beyond its end, its last record
/// is dropped and it is run for the same socket again, which would change the socket twice. So the kernel is asked to stop
/// before that: there is room for one more record.
const READ_AT_ONCE: usize = 8 * 4096 - LONGEST_RECORD;
const LONGEST_RECORD: usize = 128;
const _: () = assert!(size_of::<SocketRecord>() <= LONGEST_RECORD);
const _: () = assert!(size_of::<OutcomeRecord>() <= LONGEST_RECORD);
const ESTABLISHED: u8 = 1;
const CLOSE_WAIT: u8 = 8;
const LISTEN: u8 = 10;
const NAGLE_OFF: u8 = 1;
const NAGLE_CORK: u8 = 2;

static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/hand.bpf.o");
