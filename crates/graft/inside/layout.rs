//! The memory that the injected code and the command share, and the only state that either has.
//!
//! The program can write here, so for the command every value is hostile: it uses none as an
//! address or a length, and a descriptor's number only after asking what it is.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// `tinygraf` and the number of this layout, which changes with it.
pub const MAGIC: u64 = u64::from_le_bytes(*b"tngraft4");
/// Descriptors from this number on are passed through.
pub const SOCKETS: usize = 1 << 16;
/// The most threads (Go's Ms, or C's threads) that hold anything; others pass everything through.
pub const THREADS: usize = 1 << 10;
/// The most sockets that one thread holds bytes on.
pub const HELD_BY_A_THREAD: usize = 6;
/// The tasks (goroutines) whose waits are counted apart; others share a count.
pub const TASKS: usize = 1 << 12;
/// The services whose habits are kept apart.
pub const HABITS: usize = 1 << 8;
/// The most remote addresses and services that are counted apart.
pub const PEERS: usize = 1 << 9;
/// The most filters.
pub const FILTERS: usize = 8;

/// All of it. A page of zeros is valid; [`Shared::magic`] says that it was set up.
#[derive(Debug)]
#[repr(C)]
pub struct Shared {
    /// [`MAGIC`].
    pub magic: AtomicU64,
    /// Nonzero once every call is to pass through for good; the value says why, see [`Inert`].
    pub inert: AtomicU32,
    /// The `tinygram_coalesce::Policy` in force, by its number.
    pub policy: AtomicU32,
    /// `Rules::hold_below`, in octets.
    pub hold_below: AtomicU64,
    /// `Rules::watchdog_ns`.
    pub watchdog_ns: AtomicU64,
    /// `Rules::eager`, as 0 or 1.
    pub eager: AtomicU32,
    /// Whether the watchdog sleeps, see [`ASLEEP`] and [`AWAKE`]; a futex.
    pub watchdog: AtomicU32,
    /// Nanoseconds for 2^32 ticks of the processor's time stamp counter.
    pub ns_per_2_32_ticks: AtomicU64,
    /// When the watchdog last looked, by the time stamp counter in nanoseconds.
    pub looked_ns: AtomicU64,
    /// Go's own monitor.
    pub monitor: Monitor,
    /// The numbers of a `tinygram_coalesce::Pace`.
    pub pace: [AtomicU64; 4],
    /// The process, by the kernel's number.
    pub pid: AtomicU32,
    /// Nonzero if remote addresses are to be counted apart.
    pub apart: AtomicU32,
    /// What was counted.
    pub counts: Counts,
    /// Other programs that the process executed, or its children did.
    pub executed: AtomicU64,
    /// Rings of io_uring that the process made, whose writes pass by.
    pub rings: AtomicU64,
    /// Connections that found no free place among the remote addresses.
    pub unlisted: AtomicU64,
    /// The connections to touch; all, if the first filter is empty.
    pub filters: [Filter; FILTERS],
    /// One bit for each port that the process listens on.
    pub listening: [AtomicU64; 1024],
    /// The remote addresses and services.
    pub peers: [Peer; PEERS],
    /// The habits of services, packed.
    pub habits: [AtomicU32; HABITS],
    /// How often each task has waited.
    pub waits: [AtomicU64; TASKS],
    /// The threads that hold something, or did.
    pub threads: [Thread; THREADS],
    /// The largest descriptor that ever had a mark; none has one beyond it.
    pub highest: AtomicU64,
    /// One bit for each socket with a mark.
    pub marked: [AtomicU64; SOCKETS / 64],
    /// The sockets, by descriptor.
    pub sockets: [Socket; SOCKETS],
}

/// The thread of Go's runtime that looks after the others (`sysmon`).
#[derive(Debug)]
#[repr(C)]
pub struct Monitor {
    /// Its `g`; 0 until it is known.
    pub task: AtomicU64,
    /// The futex that it waits on, or 0.
    pub word: AtomicU64,
    /// When its sleep is over, by the time stamp counter in nanoseconds; 0 while it waits.
    pub due_ns: AtomicU64,
    /// Until when it will have come by. If nobody knows, the topmost bit and how often that was so.
    pub until_ns: AtomicU64,
    /// How often that was so.
    pub absences: AtomicU64,
    /// How often it must yet come by in time: it came by late, as it does where there is no processor for it.
    pub doubt: AtomicU32,
}

/// What was counted. Threads may lose each other's counts.
#[derive(Debug)]
#[repr(C)]
pub struct Counts {
    /// Writes on TCP sockets.
    pub writes: AtomicU64,
    /// Octets of these writes.
    pub octets: AtomicU64,
    /// Writes that were held.
    pub held: AtomicU64,
    /// Writes that joined held octets.
    pub merged: AtomicU64,
    /// Writes that were to be held but passed, because the watchdog rested and was not worth waking.
    pub unwatched: AtomicU64,
    /// Connections that went over to `TCP_NODELAY` because they were rescued too often.
    pub went_over: AtomicU64,
    /// Flushes by [`Cause`].
    pub flushes: [AtomicU64; CAUSES],
    /// The longest time that an octet was held, in nanoseconds.
    pub longest_hold_ns: AtomicU64,
}

/// A filter: connections to touch.
#[derive(Debug)]
#[repr(C)]
pub struct Filter {
    /// What kind, see [`Filter::PORT`] and [`Filter::NET`]; 0 is no filter.
    pub kind: AtomicU32,
    /// The service's port, or the number of leading bits that count (0 to 128).
    pub number: AtomicU32,
    /// The network's upper and lower 64 bits, IPv4 as IPv4-mapped IPv6.
    pub bits: [AtomicU64; 2],
}

impl Filter {
    /// [`Filter::kind`]: the service's port.
    pub const PORT: u32 = 1;
    /// [`Filter::kind`]: the remote address is in a network.
    pub const NET: u32 = 2;
}

/// What was counted for a remote address and service.
#[derive(Debug)]
#[repr(C)]
pub struct Peer {
    /// 0 if free, 1 while it is written, 2 once the next fields are valid.
    pub state: AtomicU32,
    /// The service's port times two, plus one if the process accepted the connection.
    pub service: AtomicU32,
    /// The address's upper and lower 64 bits, IPv4 as IPv4-mapped IPv6.
    pub address: [AtomicU64; 2],
    /// Connections.
    pub connections: AtomicU64,
    /// Connections whose segments could be read before they were closed.
    pub settled: AtomicU64,
    /// Their data segments, without retransmissions.
    pub segments: AtomicU64,
    /// Second writes of a message on connections without `TCP_NODELAY` of the program's own.
    pub in_several: AtomicU64,
    /// The rest.
    pub counts: Counts,
}

impl Peer {
    /// [`Peer::state`]: it can be read.
    pub const READY: u32 = 2;
}

/// Why held octets left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Cause {
    /// A read of the task that wrote found nothing, or found something after a long hold.
    Read,
    /// Another task took over the thread.
    Switch,
    /// The thread was about to wait for events or for another thread.
    Wait,
    /// A write that was not held took them along.
    Write,
    /// The descriptor was closed, duplicated or set.
    Descriptor,
    /// More sockets were held than a thread can remember.
    Overflow,
    /// The program sandboxed itself or executed another.
    Process,
    /// The watchdog: the program ran on for too long.
    Watchdog,
}

/// The number of [`Cause`]s.
pub const CAUSES: usize = 8;

impl Cause {
    /// All causes with their names in results, by index.
    pub const ALL: [(Self, &'static str); CAUSES] = [
        (Self::Read, "read"),
        (Self::Switch, "switch"),
        (Self::Wait, "wait"),
        (Self::Write, "write"),
        (Self::Descriptor, "descriptor"),
        (Self::Overflow, "overflow"),
        (Self::Process, "process"),
        (Self::Watchdog, "watchdog"),
    ];
}

/// Why everything passes through, in [`Shared::inert`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Inert {
    /// The program sandboxes itself (prctl, seccomp): our own calls might end it.
    Sandbox = 1,
    /// The registers were not what a Go program's are.
    Registers = 2,
    /// The command, which has the watchdog, is gone.
    Alone = 3,
    /// It was told to stop.
    Told = 4,
    /// The process executed another program.
    Replaced = 5,
    /// It may not be looked into any more (prctl), so a watchdog without privileges could not flush.
    Hidden = 6,
}

/// [`Shared::watchdog`]: it sleeps until it is woken.
pub const ASLEEP: u32 = 0;
/// [`Shared::watchdog`]: it looks at every mark in time.
pub const AWAKE: u32 = 1;

/// A thread.
#[derive(Debug)]
#[repr(C)]
pub struct Thread {
    /// What tells the thread from others: the address of Go's M, or C's thread pointer; 0 if free.
    pub key: AtomicU64,
    /// The task (goroutine) that last called.
    pub task: AtomicU64,
    /// The kernel's number of the thread.
    pub tid: AtomicU32,
    /// The descriptors that it holds octets on, each plus one; 0 is a free place.
    pub held: [AtomicU32; HELD_BY_A_THREAD],
    /// Where the kernel writes a `struct tcp_info`, or a socket's address: the stack has no room for them.
    pub scratch: [AtomicU64; 30],
}

/// A descriptor.
#[derive(Debug)]
#[repr(C)]
pub struct Socket {
    /// What it is, see [`class`], with the bits beside it.
    pub class: AtomicU32,
    /// The service's place in [`Shared::habits`]; 0 is none.
    pub habit: AtomicU32,
    /// [`HELD`] and [`LEAVING`] below a count of the held writes. Who removes the mark does so by
    /// compare-and-swap, so a write that was held meanwhile keeps it.
    pub mark: AtomicU64,
    /// When the oldest held octet was written, by the time stamp counter in nanoseconds.
    pub since_ns: AtomicU64,
    /// The task that wrote last.
    pub task: AtomicU64,
    /// What [`Shared::waits`] said of the task then.
    pub waits: AtomicU64,
    /// The predictor's memory, packed; 0 is a fresh socket.
    pub memory: AtomicU64,
    /// The kernel's number of the thread that held last.
    pub tid: AtomicU32,
    /// The place of its remote address in [`Shared::peers`], plus one; 0 is none.
    pub peer: AtomicU32,
}

/// [`Socket::mark`]: octets are held, or may be.
pub const HELD: u64 = 1;
/// [`Socket::mark`]: a write that takes them along is under way or done.
pub const LEAVING: u64 = 2;
/// One more held write in [`Socket::mark`].
pub const ONE_WRITE: u64 = 4;

/// What a descriptor is, in the lowest bits of [`Socket::class`].
pub mod class {
    /// Not known yet.
    pub const UNKNOWN: u32 = 0;
    /// TCP: the only kind on which anything is held.
    pub const TCP: u32 = 1;
    /// Something whose read may wait.
    pub const WAITS: u32 = 2;
    /// A file: reading it needs no flush.
    pub const FILE: u32 = 3;
    /// The bits that say which.
    pub const KIND: u32 = 3;
    /// A read does not wait (`O_NONBLOCK`).
    pub const NONBLOCKING: u32 = 1 << 2;
    /// The program coalesces by itself (cork, `MSG_MORE`, TLS in the kernel).
    pub const ALONE: u32 = 1 << 3;
    /// The program set `TCP_NODELAY`, which `getsockopt` must report.
    pub const PROGRAM_NODELAY: u32 = 1 << 4;
    /// The program opened the connection.
    pub const OPENED: u32 = 1 << 5;
    /// `TCP_NODELAY` was set here, and not by the program.
    pub const TAKEN_OVER: u32 = 1 << 6;
}
