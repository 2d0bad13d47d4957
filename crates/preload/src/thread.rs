//! What each thread remembers: the sockets it wrote and has not flushed.
//!
//! Kept in initial-exec thread-local storage: the general model may call the dynamic linker, and
//! through it `malloc`, from inside a hook. Stable Rust has no way to ask for that model, hence the
//! few lines of assembly. The storage starts as zeroes, needs no constructor and no destructor.
//!
//! Everything is atomic, relaxed: the only other party is a signal handler on the same thread. It
//! may lose an entry of the list at worst, and the watchdog finds that socket within its deadline.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};

use tinygram_coalesce::Held;

/// One thread's memory.
#[repr(C, align(64))]
pub(crate) struct Thread {
    /// How many entries of `fds` are in use.
    count: AtomicU32,
    /// The kernel's id of the thread; 0 until asked for.
    number: AtomicU32,
    /// Flush points passed; with `number` it names an interval.
    flushes: AtomicU32,
    /// The process this thread lent its memory to by `vfork`, as the lender's own id; 0 if none.
    lender: AtomicI32,
    /// When the oldest byte held by this thread was written.
    oldest_ns: AtomicU64,
    /// The last write, should it be refused: see [`LastWrite`].
    last_fd: AtomicI32,
    last_flags: AtomicU32,
    last_len: AtomicU64,
    last_memory: AtomicU64,
    last_interval: AtomicU64,
    fds: [AtomicI32; SOCKETS],
}

/// How many sockets one thread may have dirty at once; a fan-out to more flushes in between.
const SOCKETS: usize = 238;

/// One write, as the books see it.
#[derive(Clone, Copy)]
pub(crate) struct Wrote {
    pub(crate) len: usize,
    pub(crate) held: bool,
    /// Bytes were held before it.
    pub(crate) joined: bool,
    /// It is the second of its interval.
    pub(crate) second: bool,
    /// It was to be held, but the watchdog rests and is not worth waking (or there is none).
    pub(crate) unwatched: bool,
}

/// The thread's last write on a TCP socket, and what was known of that before.
#[derive(Clone, Copy)]
pub(crate) struct LastWrite {
    pub(crate) wrote: Wrote,
    pub(crate) memory: u64,
    pub(crate) interval: u64,
}

std::arch::global_asm!(
    ".pushsection .tbss.tinygram_thread,\"awT\",@nobits",
    ".balign 64",
    ".hidden tinygram_thread",
    ".globl tinygram_thread",
    ".type tinygram_thread, @tls_object",
    ".size tinygram_thread, {size}",
    "tinygram_thread:",
    ".zero {size}",
    ".popsection",
    size = const size_of::<Thread>(),
);

/// Returns the calling thread's memory.
#[inline(always)]
pub(crate) fn this() -> &'static Thread {
    let thread: *const Thread;
    // SAFETY: the two instructions of the initial-exec model; the offset is fixed at load time.
    unsafe {
        std::arch::asm!(
            "mov {0}, qword ptr [rip + tinygram_thread@GOTTPOFF]",
            "add {0}, qword ptr fs:0",
            out(reg) thread,
            options(pure, readonly, nostack),
        );
        // Not 'static in truth, but no reference outlives the call of a hook on its own thread.
        &*thread
    }
}

impl Thread {
    /// Nothing is held by this thread.
    #[inline(always)]
    pub(crate) fn is_clean(&self) -> bool {
        self.count.load(Relaxed) == 0
    }

    /// Returns what the policy asks about; `now_ns` is asked for only if something is held.
    pub(crate) fn held(&self, now_ns: impl FnOnce() -> u64) -> Held {
        if self.is_clean() {
            return Held::Nothing;
        }
        Held::For {
            age_ns: now_ns().saturating_sub(self.oldest_ns.load(Relaxed)),
        }
    }

    /// Names the interval this thread is in.
    #[inline(always)]
    pub(crate) fn interval(&self) -> u64 {
        u64::from(self.number()) << 32 | u64::from(self.flushes.load(Relaxed))
    }

    /// A flush point was passed: the next write begins another interval.
    #[inline(always)]
    pub(crate) fn end_interval(&self) {
        self.flushes
            .store(self.flushes.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// Notes a write that is about to be made.
    #[inline(always)]
    pub(crate) fn note(&self, fd: i32, last: LastWrite) {
        let Wrote {
            len,
            held,
            joined,
            second,
            unwatched,
        } = last.wrote;
        let flags = u32::from(held)
            | u32::from(joined) << 1
            | u32::from(second) << 2
            | u32::from(unwatched) << 3;
        self.last_fd.store(fd, Relaxed);
        self.last_flags.store(flags, Relaxed);
        self.last_len.store(len as u64, Relaxed);
        self.last_memory.store(last.memory, Relaxed);
        self.last_interval.store(last.interval, Relaxed);
    }

    /// Returns the last write, if it was on `fd`.
    pub(crate) fn last_write(&self, fd: i32) -> Option<LastWrite> {
        let flags = self.last_flags.load(Relaxed);
        (self.last_fd.load(Relaxed) == fd).then(|| LastWrite {
            wrote: Wrote {
                len: self.last_len.load(Relaxed) as usize,
                held: flags & 1 != 0,
                joined: flags & 2 != 0,
                second: flags & 4 != 0,
                unwatched: flags & 8 != 0,
            },
            memory: self.last_memory.load(Relaxed),
            interval: self.last_interval.load(Relaxed),
        })
    }

    /// Remembers a dirty socket; false if there is no room.
    pub(crate) fn remember(&self, fd: i32, now_ns: u64) -> bool {
        let count = self.count.load(Relaxed);
        let Some(entry) = self.fds.get(count as usize) else {
            return false;
        };
        if count == 0 {
            self.oldest_ns.store(now_ns, Relaxed);
        }
        entry.store(fd, Relaxed);
        self.count.store(count + 1, Relaxed);
        true
    }

    /// Forgets `fd`, which has left already, if it was the last remembered: a thread that holds
    /// nothing more shall be clean, and ask no clock. Elsewhere in the list it does no harm.
    #[inline(always)]
    pub(crate) fn forget_last(&self, fd: i32) {
        let last = self.count.load(Relaxed).wrapping_sub(1);
        if (self.fds.get(last as usize)).is_some_and(|entry| entry.load(Relaxed) == fd) {
            self.count.store(last, Relaxed);
        }
    }

    /// Forgets all, naming each to `flush`.
    pub(crate) fn drain(&self, mut flush: impl FnMut(i32)) {
        // Two plain instructions: what a signal handler notes between them is left to the watchdog.
        let count = self.count.load(Relaxed) as usize;
        self.count.store(0, Relaxed);
        for entry in self.fds.iter().take(count) {
            flush(entry.load(Relaxed));
        }
    }

    /// This thread is the only one of a process just forked: it has another id than its parent.
    pub(crate) fn begin_anew(&self) {
        self.number.store(0, Relaxed);
    }

    /// This thread is about to lend its memory, its stack and this very record to a child.
    pub(crate) fn lend(&self, lender: libc::pid_t) {
        self.lender.store(lender, Relaxed);
    }

    /// Returns whether it is a borrower who asks: a `vfork`ed child runs in its parent's memory, but with
    /// descriptors of its own. The parent, running again, takes its memory back.
    #[inline(always)]
    pub(crate) fn is_borrowed(&self) -> bool {
        let lender = self.lender.load(Relaxed);
        lender != 0 && self.is_borrowed_from(lender)
    }

    #[cold]
    fn is_borrowed_from(&self, lender: libc::pid_t) -> bool {
        // SAFETY: no argument, cannot fail.
        if unsafe { libc::getpid() } != lender {
            return true;
        }
        self.lender.store(0, Relaxed);
        false
    }

    /// Returns the kernel's id of the thread.
    #[inline(always)]
    pub(crate) fn number(&self) -> u32 {
        let known = self.number.load(Relaxed);
        if known != 0 { known } else { self.ask_number() }
    }

    /// Returns whether this is the thread the process began with.
    pub(crate) fn is_first(&self) -> bool {
        // SAFETY: no argument, cannot fail.
        self.number() == unsafe { libc::getpid() } as u32
    }

    #[cold]
    fn ask_number(&self) -> u32 {
        // SAFETY: no argument, cannot fail.
        let fresh = unsafe { libc::gettid() } as u32;
        self.number.store(fresh, Relaxed);
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own_list() {
        this().remember(3, 1_000);
        this().remember(4, 2_000);
        std::thread::spawn(|| assert!(this().is_clean()))
            .join()
            .unwrap();
        assert_eq!(this().held(|| 5_000), Held::For { age_ns: 4_000 });
        let mut seen = Vec::new();
        this().drain(|fd| seen.push(fd));
        assert_eq!(seen, [3, 4]);
        assert!(this().is_clean());
        this().forget_last(3);
        assert!(this().is_clean());
    }

    #[test]
    fn the_last_is_forgotten_and_no_other() {
        std::thread::spawn(|| {
            this().remember(3, 1_000);
            this().remember(4, 2_000);
            this().forget_last(3);
            this().forget_last(4);
            let mut seen = Vec::new();
            this().drain(|fd| seen.push(fd));
            assert_eq!(seen, [3]);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_full_list_says_so() {
        std::thread::spawn(|| {
            let room = (0..).take_while(|&fd| this().remember(fd, 0)).count();
            assert_eq!(room, SOCKETS);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn intervals_differ_by_thread_and_by_flush() {
        let first = this().interval();
        assert_eq!(this().interval(), first);
        this().end_interval();
        assert_ne!(this().interval(), first);
        let other = std::thread::spawn(|| this().interval()).join().unwrap();
        assert_ne!(other >> 32, first >> 32);
    }
}
