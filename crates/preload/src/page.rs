//! The statistics page: a file that every process of a run maps and counts in, and that is read at
//! the end.
//!
//! There is one row per remote address and service. Rows are claimed with one compare-and-swap and
//! counted in with relaxed additions, so a hook never waits and a process may die at any instant.

use std::sync::atomic::{
    AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

use crate::settings::Peer;

/// The reason why held bytes left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Cause {
    /// The writing thread was about to wait.
    Wait,
    /// A read found nothing, or the program did other work for too long.
    Read,
    /// A write that was too long to hold took them along (no extra system call).
    LargeWrite,
    /// A write that completed the answer, according to the socket's habit, took them along (no
    /// extra system call).
    LastWrite,
    /// An answer took so long to write that a write in the middle took them along (no extra system
    /// call).
    LongAnswer,
    /// `sendfile` or `shutdown` took them along.
    Sendfile,
    /// The descriptor was closed, duplicated or passed on.
    Close,
    /// The process forked, executed another program, sandboxed itself or ended.
    Process,
    /// The program set `TCP_NODELAY` or `TCP_CORK` itself.
    Program,
    /// More sockets were dirty than a thread can remember.
    Overflow,
    /// The watchdog: the program ran on for too long.
    Watchdog,
}

impl Cause {
    /// All causes with their names in results, by index.
    pub const ALL: [(Self, &'static str); 11] = [
        (Self::Wait, "wait"),
        (Self::Read, "read"),
        (Self::LargeWrite, "large-write"),
        (Self::LastWrite, "last-write"),
        (Self::LongAnswer, "long-answer"),
        (Self::Sendfile, "sendfile"),
        (Self::Close, "close"),
        (Self::Process, "process"),
        (Self::Program, "program"),
        (Self::Overflow, "overflow"),
        (Self::Watchdog, "watchdog"),
    ];
}

/// The counts of one remote address and service.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Row {
    state: AtomicU32,
    service: AtomicU32,
    address: [AtomicU64; 2],
    /// Connections.
    pub connections: AtomicU64,
    /// Connections whose segments could be read before they were closed.
    pub settled: AtomicU64,
    /// Writes by the program.
    pub writes: AtomicU64,
    /// Writes that were held (under `observe`: would have been).
    pub held: AtomicU64,
    /// Writes that joined bytes already held instead of making a segment of their own.
    pub merged: AtomicU64,
    /// Writes that were to be held but passed, because the watchdog rested and was not worth
    /// waking.
    pub unwatched: AtomicU64,
    /// Writes that were to be held but passed, because holding was measured to be worse, or was
    /// being measured.
    pub measured: AtomicU64,
    /// Data segments sent, without retransmissions (`tcpi_data_segs_out` minus
    /// `tcpi_total_retrans`).
    pub segments: AtomicU64,
    /// Bytes handed to the socket layer by the counted writes.
    pub bytes: AtomicU64,
    /// Flushes by [`Cause`].
    pub flushes: [AtomicU64; Cause::ALL.len()],
    /// Connections that switched to `NODELAY`, because the watchdog had to rescue them too often.
    pub went_over: AtomicU64,
    /// Intervals with a second write, on connections for which the program did not set
    /// `TCP_NODELAY`: without the library that write would have waited until the first was
    /// acknowledged.
    pub in_several: AtomicU64,
    /// Under `observe`: writes that waited for an acknowledgment.
    pub stalls: AtomicU64,
    /// The sum of the waits in [`Row::stalls`], in nanoseconds.
    pub stalled_ns: AtomicU64,
    /// The longest wait in [`Row::stalls`], in nanoseconds.
    pub longest_stall_ns: AtomicU64,
    /// Under `observe`: writes that waited for an acknowledgment while the program waited for its
    /// peer.
    pub awaited: AtomicU64,
    /// The sum of the waits in [`Row::awaited`], in nanoseconds.
    pub awaited_ns: AtomicU64,
    /// Under `observe`: as [`Row::awaited`], but for less time than the receiver's timer takes.
    pub awaited_briefly: AtomicU64,
    /// Under `observe`: writes that waited while their thread slept, and the program did not wait for its peer.
    pub unawaited: AtomicU64,
    /// Under `observe`: how often a thread slept while what it had written was not sent, though nothing was on the way: a
    /// cork held it.
    pub corked: AtomicU64,
    /// The process of the last write in [`Row::awaited`]: its id and the name of its thread.
    pub process: AtomicU32,
    name: [AtomicU64; 2],
    /// The longest time that a byte was held, in nanoseconds.
    pub longest_hold_ns: AtomicU64,
}

/// The page. A page of zeros is valid and empty.
#[derive(Debug)]
#[repr(C)]
pub struct Page {
    /// Processes that mapped the page.
    pub processes: AtomicU64,
    /// Connections that found no free row.
    pub unlisted: AtomicU64,
    /// The process for which the run was started: its end is the run's end.
    pub main: AtomicU32,
    /// The result of that process ([`RUNS`], [`NEVER_RAN`], [`EXITED`]); the witness waits for it on a futex.
    pub ended: AtomicU32,
    /// Set once the witness has shown the statistics; the process waits for it on a futex.
    pub shown: AtomicU32,
    /// Processes that are being forked and have not enlisted yet.
    pub unborn: AtomicU32,
    /// The ids of the processes that have the page; 0 for a free place.
    alive: [AtomicU32; ALIVE],
    escaped: [Escaped; ESCAPED],
    rows: [Row; ROWS],
}

/// A program that was executed and that the library cannot be loaded into.
#[derive(Debug)]
#[repr(C)]
struct Escaped {
    state: AtomicU32,
    why: AtomicU32,
    times: AtomicU64,
    name: [AtomicU64; 5],
}

/// The reason why the library was not loaded into a program that a covered one executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Why {
    /// It is statically linked, or written in Go.
    Static,
    /// It was given an environment without the library.
    Environment,
    /// The library is not visible from its root directory.
    Root,
    /// It is built with a sanitizer, which must be loaded before every other library.
    Sanitizer,
    /// It is a 32-bit program, or uses another C library.
    OtherLibc,
}

impl Why {
    /// All reasons.
    pub const ALL: [Self; 5] = [
        Self::Static,
        Self::Environment,
        Self::Root,
        Self::Sanitizer,
        Self::OtherLibc,
    ];

    /// Returns whether the program, or its dynamic linker, would complain of the library.
    pub(crate) fn harms(self) -> bool {
        matches!(self, Self::Root | Self::Sanitizer | Self::OtherLibc)
    }
}

/// The most processes, and the most programs, that a page can name.
const ALIVE: usize = 64;
const ESCAPED: usize = 8;

/// [`Page::ended`]: it still runs.
pub const RUNS: u32 = 0;
/// [`Page::ended`]: it never began.
pub const NEVER_RAN: u32 = 1;
/// [`Page::ended`]: it ended with the exit code in the lowest eight bits.
pub const EXITED: u32 = 0x100;

/// The most addresses that a page can distinguish.
pub const ROWS: usize = 1024;

const FREE: u32 = 0;
const CLAIMED: u32 = 1;
const READY: u32 = 2;

impl Page {
    /// Returns the row for `peer`, a new one if need be; `None` if the page is full.
    #[must_use]
    pub fn row_of(&self, peer: &Peer) -> Option<usize> {
        let key = Row::key(peer);
        for (index, row) in self.rows.iter().enumerate() {
            if row.state.load(Acquire) == FREE
                && row
                    .state
                    .compare_exchange(FREE, CLAIMED, Acquire, Acquire)
                    .is_ok()
            {
                row.service.store(key.0, Relaxed);
                row.address[0].store(key.1[0], Relaxed);
                row.address[1].store(key.1[1], Relaxed);
                row.state.store(READY, Release);
                return Some(index);
            }
            // A row that another thread is claiming at this instant may be for the same peer. The
            // reader adds up two rows for one peer; waiting would be worse.
            if row.state.load(Acquire) == READY && row.holds(key) {
                return Some(index);
            }
        }
        self.unlisted.fetch_add(1, Relaxed);
        None
    }

    /// Adds a process that has the page.
    pub fn enlist(&self, pid: u32) {
        let free = |slot: &&AtomicU32| {
            slot.load(Relaxed) == pid || slot.compare_exchange(0, pid, Relaxed, Relaxed).is_ok()
        };
        let _ = self.alive.iter().find(free);
    }

    /// Removes a process that is about to end.
    pub fn strike_off(&self, pid: u32) {
        for slot in &self.alive {
            let _ = slot.compare_exchange(pid, 0, Relaxed, Relaxed);
        }
    }

    /// Returns the processes that have enlisted and not removed themselves.
    pub fn enlisted(&self) -> impl Iterator<Item = u32> {
        let pids = self.alive.iter().map(|slot| slot.load(Relaxed));
        pids.filter(|pid| *pid != 0)
    }

    /// Records that a covered program executed one that is not covered.
    pub fn escapes(&self, name: &[u8], why: Why) {
        let mut words = [[0_u8; 8]; 5];
        for (byte, slot) in name.iter().zip(words.as_flattened_mut().iter_mut()) {
            *slot = *byte;
        }
        let words = words.map(u64::from_ne_bytes);
        for entry in &self.escaped {
            if entry
                .state
                .compare_exchange(FREE, CLAIMED, Acquire, Acquire)
                .is_ok()
            {
                for (slot, word) in entry.name.iter().zip(words) {
                    slot.store(word, Relaxed);
                }
                entry.why.store(why as u32, Relaxed);
                entry.times.store(1, Relaxed);
                entry.state.store(READY, Release);
                return;
            }
            let is_same = || {
                entry
                    .name
                    .iter()
                    .zip(words)
                    .all(|(slot, word)| slot.load(Relaxed) == word)
            };
            if entry.state.load(Acquire) == READY
                && entry.why.load(Relaxed) == why as u32
                && is_same()
            {
                entry.times.fetch_add(1, Relaxed);
                return;
            }
        }
    }

    /// Returns the programs that are not covered: name (its first 40 bytes), reason and how often.
    pub fn escaped(&self) -> impl Iterator<Item = (Vec<u8>, Why, u64)> {
        let ready = self
            .escaped
            .iter()
            .filter(|entry| entry.state.load(Acquire) == READY);
        ready.map(|entry| {
            let mut name: Vec<u8> = entry
                .name
                .iter()
                .flat_map(|word| word.load(Relaxed).to_ne_bytes())
                .collect();
            name.truncate(
                name.iter()
                    .position(|byte| *byte == 0)
                    .unwrap_or(name.len()),
            );
            let number = entry.why.load(Relaxed);
            let why = Why::ALL
                .into_iter()
                .find(|why| *why as u32 == number)
                .unwrap_or(Why::Environment);
            (name, why, entry.times.load(Relaxed))
        })
    }

    /// Returns the row with that index.
    #[must_use]
    pub fn row(&self, index: usize) -> Option<&Row> {
        self.rows.get(index)
    }

    /// Returns the rows in use, each with its peer.
    pub fn in_use(&self) -> impl Iterator<Item = (Peer, &Row)> {
        self.rows
            .iter()
            .filter(|row| row.state.load(Acquire) == READY)
            .map(|row| (row.peer(), row))
    }
}

impl Row {
    fn key(peer: &Peer) -> (u32, [u64; 2]) {
        let service = u32::from(peer.port) << 1 | u32::from(peer.accepted);
        (service, [(peer.address >> 64) as u64, peer.address as u64])
    }

    /// Records which process made a write in [`Row::awaited`].
    pub(crate) fn name_process(&self) {
        let mut name = [0_u64; 2];
        // SAFETY: the kernel writes at most 16 bytes, the last of them zero.
        unsafe {
            libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr());
            self.process.store(libc::getpid() as u32, Relaxed);
        }
        for (place, half) in self.name.iter().zip(name) {
            place.store(half, Relaxed);
        }
    }

    /// Returns the name of [`Row::process`].
    #[must_use]
    pub fn name(&self) -> String {
        let bytes: Vec<u8> = self
            .name
            .iter()
            .flat_map(|half| half.load(Relaxed).to_ne_bytes())
            .collect();
        let end = bytes
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }

    fn holds(&self, (service, address): (u32, [u64; 2])) -> bool {
        self.service.load(Relaxed) == service
            && self.address[0].load(Relaxed) == address[0]
            && self.address[1].load(Relaxed) == address[1]
    }

    fn peer(&self) -> Peer {
        let service = self.service.load(Relaxed);
        let [high, low] =
            [&self.address[0], &self.address[1]].map(|half| u128::from(half.load(Relaxed)));
        Peer {
            address: high << 64 | low,
            port: (service >> 1) as u16,
            accepted: service & 1 == 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Box<Page> {
        // SAFETY: the page consists of atomic integers, for which zero is valid.
        unsafe { Box::<Page>::new_zeroed().assume_init() }
    }

    #[test]
    fn a_peer_finds_its_row_again_and_the_row_knows_its_peer() {
        let page = page();
        let peer = |port, accepted| Peer {
            address: 7 << 64 | 9,
            port,
            accepted,
        };
        let rows = [peer(80, false), peer(80, true), peer(65535, true)].map(|p| page.row_of(&p));
        assert_eq!(rows, [Some(0), Some(1), Some(2)]);
        assert_eq!(page.row_of(&peer(80, true)), Some(1));
        let peers: Vec<_> = page.in_use().map(|(peer, _)| peer).collect();
        assert_eq!(peers, [peer(80, false), peer(80, true), peer(65535, true)]);
    }

    #[test]
    fn a_full_page_counts_what_it_cannot_list() {
        let page = page();
        for port in 0..ROWS {
            assert!(
                page.row_of(&Peer {
                    address: 0,
                    port: port as u16,
                    accepted: false
                })
                .is_some()
            );
        }
        assert_eq!(
            page.row_of(&Peer {
                address: 1,
                port: 0,
                accepted: false
            }),
            None
        );
        assert_eq!(page.unlisted.load(Relaxed), 1);
    }

    #[test]
    fn causes_are_listed_by_index() {
        for (index, (cause, _)) in Cause::ALL.iter().enumerate() {
            assert_eq!(*cause as usize, index);
        }
    }
}
