//! The watchdog: flushes, from outside the program, what was held for too long.
//!
//! It never removes a mark; only the thread that holds does, after it has flushed. A mark that stays
//! is flushed again after twice the time, up to 32 times the bound.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{Ordering::Relaxed, Ordering::SeqCst};
use std::time::Instant;

use tinygram_coalesce::Memory;

use crate::contention::Contention;
use crate::layout::{ASLEEP, AWAKE, Cause, HELD, Inert, LEAVING, SOCKETS, Shared, Socket};
use crate::plant::descriptor_of;
use crate::shared::{Mapping, now_ns};
use crate::slice;

/// Watches over one process until it ends.
#[derive(Debug)]
pub struct Watchdog<'a> {
    shared: &'a Mapping,
    process: &'a OwnedFd,
    pid: u32,
    /// After which it flushes.
    bound_ns: u64,
    rescued: HashMap<usize, Rescued>,
    contention: Contention,
    /// Whether the kernel does not let it flush any more.
    is_refused: bool,
}

/// What was done about a mark.
#[derive(Clone, Copy, Debug)]
struct Rescued {
    mark: u64,
    next_ns: u64,
    pause_ns: u64,
}

impl<'a> Watchdog<'a> {
    /// Begins to watch over the process of a pidfd: nothing is held for longer than `bound_ns`, in
    /// nanoseconds, and what it then waits for a processor. So that there is time to wake and to flush, it comes an
    /// eighth before.
    #[must_use]
    pub fn new(shared: &'a Mapping, process: &'a OwnedFd, pid: u32, bound_ns: u64) -> Self {
        Self {
            shared,
            process,
            pid,
            bound_ns: bound_ns - bound_ns / 8,
            rescued: HashMap::new(),
            contention: Contention::default(),
            is_refused: false,
        }
    }

    /// Watches until the process has ended, or the rule was taken out of it.
    pub fn run(mut self) {
        slice::shorten();
        while !has_ended(self.process) && !is_taken_out(self.shared) {
            match self.patrol() {
                _ if self.is_refused => {
                    // As if it were gone: at the next write that would be held, everything passes through for good.
                    self.shared.looked_ns.store(0, Relaxed);
                    pause(self.shared, AWAKE, LOOK_FOR_THE_END_NS);
                }
                Some(pause_ns) => {
                    // Something may be held that it was not woken for.
                    let asleep = &self.shared.watchdog;
                    let _ = asleep.compare_exchange(ASLEEP, AWAKE, SeqCst, SeqCst);
                    let longest_ns = self.bound_ns.saturating_mul(MOST_BOUNDS);
                    let longest_ns = longest_ns.clamp(LEAST_PAUSE_NS, LOOK_FOR_THE_END_NS);
                    pause(
                        self.shared,
                        AWAKE,
                        pause_ns.clamp(LEAST_PAUSE_NS, longest_ns),
                    );
                }
                None => self.sleep(),
            }
        }
    }

    fn sleep(&mut self) {
        let asleep = self
            .shared
            .watchdog
            .compare_exchange(AWAKE, ASLEEP, SeqCst, SeqCst);
        // Something may have been marked just before the sleep was announced.
        if asleep.is_ok() && self.patrol().is_some() {
            let _ = self
                .shared
                .watchdog
                .compare_exchange(ASLEEP, AWAKE, SeqCst, SeqCst);
            return;
        }
        pause(self.shared, ASLEEP, LOOK_FOR_THE_END_NS);
    }

    /// Flushes what is due; returns how long to pause until more may be, or `None` if nothing is
    /// marked.
    #[allow(
        clippy::disallowed_methods,
        reason = "by a clock that the program cannot set"
    )]
    fn patrol(&mut self) -> Option<u64> {
        let began = Instant::now();
        let now_ns = now_ns(self.shared);
        self.shared.looked_ns.store(now_ns, Relaxed);
        let mut pause_ns = None;
        let mut still = HashMap::new();
        // Reading the whole table each time would cost more than the rest.
        let words = self.shared.highest.load(SeqCst) as usize / 64 + 1;
        for (word, bits) in self.shared.marked.iter().enumerate().take(words) {
            let mut bits = bits.load(SeqCst);
            while bits != 0 {
                let fd = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let mark = self.shared.sockets[fd].mark.load(SeqCst);
                if mark & HELD == 0 {
                    continue;
                }
                let due_ns = self.look_at(fd, mark, now_ns, &mut still);
                let left_ns = due_ns.saturating_sub(now_ns);
                pause_ns = Some(pause_ns.map_or(left_ns, |pause: u64| pause.min(left_ns)));
            }
        }
        self.rescued = still;
        // However much is marked, it takes half of a processor at most.
        let took_ns = began.elapsed().as_nanos() as u64;
        pause_ns.map(|pause_ns| pause_ns.max(took_ns))
    }

    /// Flushes one socket if it is due; returns when to look again.
    fn look_at(
        &mut self,
        fd: usize,
        mark: u64,
        now_ns: u64,
        still: &mut HashMap<usize, Rescued>,
    ) -> u64 {
        let shared = self.shared;
        let socket = &shared.sockets[fd];
        // Not from the shared memory, which the program can write.
        let bound_ns = self.bound_ns;
        let before = self.rescued.get(&fd).filter(|known| known.mark == mark);
        let due_ns = match before {
            Some(known) => known.next_ns,
            None => {
                let since_ns = socket.since_ns.load(Relaxed);
                // A time to come is no time at which anything was held.
                let is_sane = since_ns <= now_ns.saturating_add(bound_ns);
                let since_ns = if is_sane { since_ns } else { 0 };
                since_ns.saturating_add(bound_ns)
            }
        };
        if now_ns < due_ns {
            if let Some(known) = before {
                still.insert(fd, *known);
            }
            return due_ns;
        }
        let flushed = flush(self.process, fd);
        // Also if only the option is refused, which a cgroup's program may do on one socket: the program's own flush is the
        // same call, so what is held there would wait for the kernel's timer each time.
        self.is_refused |= matches!(&flushed, Err(why) if why.raw_os_error() == Some(libc::EPERM));
        if flushed.is_ok() && before.is_none() && mark & LEAVING == 0 {
            let contended = self.contention.of(self.pid, socket.tid.load(Relaxed));
            charge(self.shared, socket, contended);
        }
        let pause_ns = match (before, flushed) {
            // Nothing that could be held on: closed meanwhile, or the program has marked it itself.
            (_, Err(_)) => bound_ns * MOST_BOUNDS,
            (None, Ok(())) => bound_ns,
            (Some(known), Ok(())) => (known.pause_ns * 2).min(bound_ns * MOST_BOUNDS),
        };
        let next_ns = now_ns.saturating_add(pause_ns);
        still.insert(
            fd,
            Rescued {
                mark,
                next_ns,
                pause_ns,
            },
        );
        next_ns
    }
}

/// Enters a rescue into the socket's memory. If the thread had no processor (`contended`), the rescue
/// says little about its program.
fn charge(shared: &Shared, socket: &Socket, contended: bool) {
    let mut memory = Memory::unpack(socket.memory.load(Relaxed));
    let goes_over = memory.on_rescue(contended);
    socket.memory.store(memory.pack(), Relaxed);
    // The next write is a new message.
    socket.waits.store(u64::MAX, Relaxed);
    let held_ns = now_ns(shared).saturating_sub(socket.since_ns.load(Relaxed));
    let place = socket.peer.load(Relaxed) as usize;
    let peer = shared.peers.get(place.wrapping_sub(1));
    for counts in [Some(&shared.counts), peer.map(|peer| &peer.counts)] {
        let Some(counts) = counts else { continue };
        counts.flushes[Cause::Watchdog as usize].fetch_add(1, Relaxed);
        counts.went_over.fetch_add(u64::from(goes_over), Relaxed);
        counts.longest_hold_ns.fetch_max(held_ns, Relaxed);
    }
}

/// Sends what is held on a descriptor of the process. The number comes from memory that the program
/// can write, so only a TCP socket is touched, and only by `TCP_NODELAY`, which it has anyway.
pub(crate) fn flush(process: &OwnedFd, fd: usize) -> io::Result<()> {
    set_nodelay(process, fd, true)
}

/// Sets `TCP_NODELAY` on a descriptor of the process, or takes it away; on nothing but a TCP socket.
pub(crate) fn set_nodelay(process: &OwnedFd, fd: usize, on: bool) -> io::Result<()> {
    debug_assert!(fd < SOCKETS, "an index of the table");
    let socket = descriptor_of(process, fd as i32)?;
    if !speaks_tcp(&socket)? {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let on = libc::c_int::from(on);
    // SAFETY: reads one integer.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_NODELAY,
            (&raw const on).cast(),
            size_of_val(&on) as u32,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Returns whether a descriptor of the process is a TCP socket.
pub(crate) fn is_tcp(process: &OwnedFd, fd: i32) -> io::Result<bool> {
    speaks_tcp(&descriptor_of(process, fd)?)
}

fn speaks_tcp(socket: &OwnedFd) -> io::Result<bool> {
    Ok(option(socket, libc::SOL_SOCKET, libc::SO_PROTOCOL)? == libc::IPPROTO_TCP)
}

fn option(socket: &OwnedFd, level: i32, name: i32) -> io::Result<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut length = size_of_val(&value) as u32;
    // SAFETY: writes one integer and its length.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw mut value).cast(),
            &raw mut length,
        )
    };
    if result == 0 {
        Ok(value)
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Returns whether the process has ended.
pub(crate) fn has_ended(process: &OwnedFd) -> bool {
    let mut poll = libc::pollfd {
        fd: process.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one entry; returns at once.
    unsafe { libc::poll(&raw mut poll, 1, 0) == 1 }
}

/// Returns whether there is nothing to watch over any more.
fn is_taken_out(shared: &Shared) -> bool {
    let inert = shared.inert.load(Relaxed);
    inert == Inert::Told as u32 || inert == Inert::Replaced as u32
}

/// Sleeps while the watchdog's word is `state`, or for this time.
fn pause(shared: &Shared, state: u32, nanoseconds: u64) {
    let timeout = libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as _,
        tv_nsec: (nanoseconds % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: the word is mapped; the timeout is a local.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            shared.watchdog.as_ptr(),
            libc::FUTEX_WAIT,
            state,
            &raw const timeout,
        );
    }
}

/// A pause shorter than this would cost more than it brings.
const LEAST_PAUSE_NS: u64 = 50_000;
/// How often a sleeping watchdog looks whether the program has ended.
const LOOK_FOR_THE_END_NS: u64 = 500_000_000;
/// A mark that stays is flushed again at most this many bounds later.
const MOST_BOUNDS: u64 = 32;
