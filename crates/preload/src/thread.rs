//! What each thread remembers: the sockets that it wrote to and has not flushed.
//!
//! This is kept in initial-exec thread-local storage: the general model may call the dynamic
//! linker, and through it `malloc`, from inside a hook. Stable Rust cannot request that model, so
//! there are a few lines of assembly. The storage starts as zeroes and needs no constructor and no
//! destructor.
//!
//! Everything is atomic and relaxed, because the only other party is a signal handler on the same
//! thread. At worst it loses an entry of the list, and the watchdog finds that socket within its
//! deadline.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};

use tinygram_coalesce::Held;

use crate::kernel;

/// One thread's memory.
#[repr(C, align(64))]
pub(crate) struct Thread {
    /// The number of entries of `fds` in use.
    count: AtomicU32,
    /// The kernel's id of the thread; 0 until it is known.
    number: AtomicU32,
    /// The number of flush points passed; together with `number` it names an interval.
    flushes: AtomicU32,
    /// The lender's process id while this thread's memory is lent to a child by `vfork`; 0
    /// otherwise.
    lender: AtomicI32,
    /// When the oldest byte that this thread holds was written.
    oldest_ns: AtomicU64,
    /// The descriptor on which this thread is counted as sending, plus one; 0 if there is none. (A
    /// signal handler that sends in the middle of a send replaces it.)
    sending: AtomicI32,
    /// Whether [`ENDS`] will call for this thread.
    has_will: AtomicU32,
    /// The last write, in case it is refused: see [`LastWrite`].
    last_fd: AtomicI32,
    last_flags: AtomicU32,
    last_len: AtomicU64,
    last_memory: AtomicU64,
    last_interval: AtomicU64,
    fds: [AtomicI32; SOCKETS],
}

/// The number of keys whose values the C library keeps in the thread itself (glibc's
/// `PTHREAD_KEY_2NDLEVEL_SIZE`).
const OWN_KEYS: u32 = 32;
/// The most sockets that one thread may have dirty at once; a fan-out to more flushes in between.
const SOCKETS: usize = 238;

/// A write, as the books record it.
#[derive(Clone, Copy)]
pub(crate) struct Wrote {
    pub(crate) len: usize,
    pub(crate) held: bool,
    /// Whether bytes were held before it.
    pub(crate) joined: bool,
    /// Whether it is the second of its interval.
    pub(crate) second: bool,
    /// Whether it was to be held, but the watchdog rests and is not worth waking (or there is
    /// none).
    pub(crate) unwatched: bool,
    /// Whether it was to be held, but its service is held no more, or not in the present spell of a
    /// trial.
    pub(crate) measured: bool,
}

/// The thread's last write on a TCP socket, and what was known about the socket before.
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
        // Not truly 'static, but no reference outlives the call of a hook on its own thread.
        &*thread
    }
}

/// The key whose destructor the C library calls when a thread ends, however it ends; plus one, and
/// 0 before [`reserve`].
static ENDS: AtomicU32 = AtomicU32::new(0);

/// Makes `at_end` be called on each thread that has sent, when it ends: also when it is cancelled in
/// the middle of a send. Called once, before `main`: the C library keeps the values of the first
/// keys in the thread itself, so setting one later allocates nothing.
pub(crate) fn reserve(at_end: unsafe extern "C" fn(*mut libc::c_void)) {
    let mut key = 0;
    // SAFETY: writes a local. The library is never unloaded, so the function stays.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(at_end)) } == 0 && key < OWN_KEYS {
        ENDS.store(key + 1, Relaxed);
    }
}

impl Thread {
    /// Records that the calling thread is about to be counted as sending on `fd`.
    #[inline(always)]
    pub(crate) fn begin_sending(&self, fd: i32) {
        if self.has_will.load(Relaxed) == 0 {
            self.make_will();
        }
        self.sending.store(fd + 1, Relaxed);
    }

    #[cold]
    fn make_will(&self) {
        self.has_will.store(1, Relaxed);
        if let Some(key) = ENDS.load(Relaxed).checked_sub(1) {
            // SAFETY: the key exists; the value only needs to differ from null.
            unsafe { libc::pthread_setspecific(key, std::ptr::from_ref(self).cast()) };
        }
    }

    /// Records that the send is over; returns where the thread was counted as sending.
    #[inline(always)]
    pub(crate) fn end_sending(&self) -> Option<i32> {
        self.sending
            .swap(0, Relaxed)
            .checked_sub(1)
            .filter(|&fd| fd >= 0)
    }

    /// Returns whether this thread holds nothing.
    #[inline(always)]
    pub(crate) fn is_clean(&self) -> bool {
        self.count.load(Relaxed) == 0
    }

    /// Returns what the policy asks about; calls `now_ns` only if something is held.
    pub(crate) fn held(&self, now_ns: impl FnOnce() -> u64) -> Held {
        if self.is_clean() {
            return Held::Nothing;
        }
        Held::For {
            age_ns: now_ns().saturating_sub(self.oldest_ns.load(Relaxed)),
        }
    }

    /// Returns the name of the thread's present interval.
    #[inline(always)]
    pub(crate) fn interval(&self) -> u64 {
        u64::from(self.number()) << 32 | u64::from(self.flushes.load(Relaxed))
    }

    /// Records a flush point: the next write begins a new interval.
    #[inline(always)]
    pub(crate) fn end_interval(&self) {
        self.flushes
            .store(self.flushes.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// Records a write that is about to be made.
    #[inline(always)]
    pub(crate) fn note(&self, fd: i32, last: LastWrite) {
        let Wrote {
            len,
            held,
            joined,
            second,
            unwatched,
            measured,
        } = last.wrote;
        let flags = u32::from(held)
            | u32::from(joined) << 1
            | u32::from(second) << 2
            | u32::from(unwatched) << 3
            | u32::from(measured) << 4;
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
                measured: flags & 16 != 0,
            },
            memory: self.last_memory.load(Relaxed),
            interval: self.last_interval.load(Relaxed),
        })
    }

    /// Adds a dirty socket; returns false if there is no room.
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

    /// Forgets `fd`, which was flushed already, if it is the last entry: a thread that holds
    /// nothing must be clean and read no clock. Elsewhere in the list an entry does no harm.
    #[inline(always)]
    pub(crate) fn forget_last(&self, fd: i32) {
        let last = self.count.load(Relaxed).wrapping_sub(1);
        if (self.fds.get(last as usize)).is_some_and(|entry| entry.load(Relaxed) == fd) {
            self.count.store(last, Relaxed);
        }
    }

    /// Forgets all entries, passing each to `flush`.
    pub(crate) fn drain(&self, mut flush: impl FnMut(i32)) {
        // Two plain instructions: what a signal handler adds between them is left to the watchdog.
        let count = self.count.load(Relaxed) as usize;
        self.count.store(0, Relaxed);
        for entry in self.fds.iter().take(count) {
            flush(entry.load(Relaxed));
        }
    }

    /// Starts anew in a forked process, of which this thread is the only one: its id differs from
    /// the parent's.
    pub(crate) fn begin_anew(&self) {
        self.number.store(0, Relaxed);
    }

    /// Records that this thread is about to lend its memory, its stack and this very record to a
    /// child.
    pub(crate) fn lend(&self, lender: libc::pid_t) {
        self.lender.store(lender, Relaxed);
    }

    /// Returns whether the caller is a borrower: a `vfork`ed child runs in its parent's memory, but
    /// with its own descriptors. When the parent runs again, it takes its memory back.
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

    /// Returns whether this is the process's first thread.
    pub(crate) fn is_first(&self) -> bool {
        // SAFETY: no argument, cannot fail.
        self.number() == unsafe { libc::getpid() } as u32
    }

    #[cold]
    fn ask_number(&self) -> u32 {
        let fresh = kernel::thread_id() as u32;
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
