//! The watchdog: a thread that flushes what was held for too long while its program ran on.
//!
//! It is necessary because the kernel's own bound on held bytes is the retransmission timeout, 200
//! ms and more. Its thread is ended around a fork or a sandbox, so that the program sees no threads
//! but its own there.
//!
//! It sleeps until its [`Alarm`] fires. A thread that holds something sets the alarm to a deadline
//! after the oldest hold, and pushes it ahead when half a deadline has passed. So it does not fire
//! while the program holds something at least that often and flushes by itself, and no byte is held for longer than a deadline. Where there
//! is no alarm, the watchdog looks once in a deadline as long as anything is held.
//!
//! Nothing is held unless the watchdog runs. A forked child, whose pages of state are wiped, starts
//! its own. No watchdog runs before there is something to hold: a program whose connections answer
//! in one piece keeps its own threads only, and its calls do not pay what a second thread costs.

use std::sync::atomic::{
    AtomicPtr, AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::SeqCst,
};

use libc::c_void;

use crate::alarm::Alarm;
use crate::live::LIVE;
use crate::reach::Reach;
use crate::rounds::{self, Rounds};
use crate::table::InChild;
use crate::{clock, kernel, orders, reach, table};
use tinygram_coalesce::Pace;

/// The watchdog of this process; wiped in a forked child.
#[repr(C)]
struct Watchdog {
    state: AtomicU32,
    /// Set if a write wanted to be held while no watchdog ran.
    wanted: AtomicU32,
    thread: AtomicU64,
    alarm: Alarm,
    /// Until when nothing needs to be done, because the watchdog will look in time: an even number
    /// of nanoseconds on the monotonic clock. An odd number means that the watchdog rests; it is
    /// the time since when, so no two are equal.
    covered_ns: AtomicU64,
    /// Changes whenever a watchdog without an alarm is woken.
    bell: AtomicU32,
    /// The numbers of a [`Pace`].
    window_ns: AtomicU64,
    asked: AtomicU64,
    settled: AtomicU64,
    credit: AtomicU64,
}

const NONE: u32 = 0;
const STARTING: u32 = 1;
const RUNS: u32 = 2;
const STOPPING: u32 = 4;
/// No thread could be made, so this process holds nothing.
const FAILED: u32 = 5;

static WATCHDOG: AtomicPtr<Watchdog> = AtomicPtr::new(std::ptr::null_mut());

/// Maps the watchdog's state. Without it no watchdog ever runs and nothing is held.
pub(crate) fn reserve() {
    if let Some(state) = table::map(size_of::<Watchdog>(), InChild::Wiped) {
        WATCHDOG.store(state.cast(), Relaxed);
    }
}

#[inline(always)]
fn watchdog() -> Option<&'static Watchdog> {
    // SAFETY: null or a mapping that is never unmapped.
    unsafe { WATCHDOG.load(Relaxed).as_ref() }
}

/// Returns whether a write may be held. If there is no watchdog, the next call that may wait will
/// start one: a write may come from a signal handler, where no thread can be made.
#[inline(always)]
pub(crate) fn guards() -> bool {
    let Some(dog) = watchdog() else { return false };
    let state = dog.state.load(Relaxed);
    if state == RUNS {
        return true;
    }
    if state == NONE {
        dog.wanted.store(1, Relaxed);
    }
    false
}

/// Returns whether holding something would first have to start or wake the watchdog.
#[inline(always)]
pub(crate) fn rests() -> bool {
    watchdog().is_some_and(|dog| match dog.state.load(Relaxed) {
        NONE => true,
        RUNS => is_rest(dog.covered_ns.load(Relaxed)),
        _ => false,
    })
}

/// Counts one more write that would be held if the watchdog did not rest, and returns whether it is
/// worth waking.
#[cold]
pub(crate) fn is_worth_waking() -> bool {
    watchdog().is_some_and(|dog| {
        // Threads may lose each other's counts; then a further write is needed.
        let mut pace = Pace {
            began_ns: dog.window_ns.load(Relaxed),
            asked: dog.asked.load(Relaxed),
            settled: dog.settled.load(Relaxed),
            credit: dog.credit.load(Relaxed),
        };
        let worth = pace.is_worth_waking(clock::now_ns(), LIVE.merged.load(Relaxed));
        dog.window_ns.store(pace.began_ns, Relaxed);
        dog.asked.store(pace.asked, Relaxed);
        dog.settled.store(pace.settled, Relaxed);
        dog.credit.store(pace.credit, Relaxed);
        worth
    })
}

/// Makes sure that the watchdog will look at what is held since `now_ns`. The socket's mark must
/// have been set by a locked instruction before, so that either a watchdog that begins to rest sees
/// it or this thread sees that it rests.
#[inline(always)]
pub(crate) fn alert(now_ns: u64) {
    if let Some(dog) = watchdog() {
        let covered_ns = dog.covered_ns.load(Relaxed);
        if is_rest(covered_ns) || now_ns >= covered_ns {
            dog.cover(covered_ns, now_ns);
        }
    }
}

#[inline(always)]
fn is_rest(covered_ns: u64) -> bool {
    covered_ns & 1 == 1
}

/// Makes the next call that may wait start the watchdog, if there is none.
pub(crate) fn expect() {
    if let Some(dog) = watchdog()
        && dog.state.load(Relaxed) == NONE
    {
        dog.wanted.store(1, Relaxed);
    }
}

/// Returns whether a watchdog must be started, see [`start_if_wanted`].
#[inline(always)]
pub(crate) fn is_wanted() -> bool {
    watchdog().is_some_and(|dog| dog.wanted.load(Relaxed) != 0)
}

/// Starts the watchdog if it is wanted. Called where the program may wait.
#[inline(always)]
pub(crate) fn start_if_wanted() {
    if let Some(dog) = watchdog().filter(|_| is_wanted()) {
        dog.start();
    }
}

/// Ends the watchdog and waits until its thread is gone. It is started again when wanted.
pub(crate) fn stop() {
    if let Some(dog) = watchdog() {
        dog.stop();
    }
}

/// Prepares for the end of the first thread, and with it of the access from another descriptor
/// table to the program's: a running watchdog is replaced by one that shares the program's table.
pub(crate) fn before_first_thread_ends() {
    reach::share_from_now_on();
    let Some(dog) = watchdog() else { return };
    if dog.state.load(Relaxed) == RUNS {
        dog.stop();
        dog.start();
    }
}

impl Watchdog {
    #[cold]
    fn start(&self) {
        self.wanted.store(0, Relaxed);
        if self
            .state
            .compare_exchange(NONE, STARTING, SeqCst, Relaxed)
            .is_err()
        {
            return;
        }
        let state = match spawn() {
            Some(thread) => {
                self.thread.store(thread, Relaxed);
                RUNS
            }
            None => FAILED,
        };
        // It may have failed by itself already.
        let _ = self
            .state
            .compare_exchange(STARTING, state, SeqCst, Relaxed);
    }

    /// Sets the alarm to a deadline after the oldest hold, or wakes a watchdog that has none.
    ///
    /// The alarm is set first, and the word is changed only if it is still the one that was read
    /// before: the watchdog changes it whenever it looks. So a thread that stands still anywhere
    /// here can set the alarm too early, but not too late, and it cannot claim a cover that is
    /// gone.
    #[cold]
    fn cover(&self, before: u64, now_ns: u64) {
        if !self.alarm.is_made() {
            let woken = self
                .covered_ns
                .compare_exchange(before, UNTIL_IT_RESTS, SeqCst, Relaxed);
            if woken.is_ok() {
                self.wake();
            }
            return;
        }
        let deadline_ns = deadline_ns();
        let oldest_ns = rounds::oldest(now_ns);
        self.alarm.set(oldest_ns + deadline_ns);
        let until_ns = (now_ns + deadline_ns / 2) & !1;
        let _ = self
            .covered_ns
            .compare_exchange(before, until_ns, SeqCst, Relaxed);
    }

    #[cold]
    fn wake(&self) {
        self.bell.fetch_add(1, SeqCst);
        crate::errno::kept(|| {
            kernel::futex(&self.bell, libc::FUTEX_WAKE, 1, None);
            self.alarm.ring();
        });
    }

    fn stop(&self) {
        self.wanted.store(0, Relaxed);
        let running = self.state.compare_exchange(RUNS, STOPPING, SeqCst, Relaxed);
        if running.is_err() {
            return;
        }
        self.wake();
        crate::errno::kept(|| {
            // SAFETY: the thread was made joinable, and only the thread that stopped it joins it.
            unsafe {
                kernel::pthread_join(
                    self.thread.load(Relaxed) as libc::pthread_t,
                    std::ptr::null_mut(),
                )
            };
        });
        self.state.store(NONE, SeqCst);
    }

    /// Runs the thread: flushes what is due, and waits until more may be due. It rests after a
    /// round in which nothing was held.
    fn run(&self) {
        let Some(reach) = Reach::begin() else {
            return self.fail();
        };
        let has_alarm = self.alarm.make();
        let mut rounds = Rounds::begin(deadline_ns(), reach);
        while self.state.load(Acquire) != STOPPING && !reach::is_last_thread() {
            // Before the round: what is held after it was looked for must be covered anew.
            let bell = self.bell.load(SeqCst);
            let now_ns = clock::now_ns();
            let rest = now_ns | 1;
            self.covered_ns.store(rest, SeqCst);
            let round = rounds.patrol(now_ns);
            if round.unreachable {
                self.alarm.delete();
                return self.fail();
            }
            if !round.quiet && has_alarm {
                self.cover(rest, now_ns);
            } else if !round.quiet {
                let _ = self
                    .covered_ns
                    .compare_exchange(rest, UNTIL_IT_RESTS, SeqCst, Relaxed);
            }
            // A process whose first thread has ended ends with its last, which must not be this
            // one.
            let last_thread = reach::must_share().then_some(LAST_THREAD_CHECK_NS);
            let next = (!round.quiet && !has_alarm).then_some(round.pause_ns);
            let timeout_ns = last_thread
                .into_iter()
                .chain(round.again_ns)
                .chain(next)
                .min();
            self.wait(bell, has_alarm, timeout_ns);
        }
        self.alarm.delete();
    }

    fn wait(&self, bell: u32, has_alarm: bool, timeout_ns: Option<u64>) {
        if has_alarm {
            // A watchdog that must stop may have been woken before it had its alarm.
            if self.bell.load(SeqCst) == bell {
                Alarm::wait(timeout_ns);
            }
        } else {
            let timeout = timeout_ns.map(clock::timespec);
            kernel::futex(&self.bell, libc::FUTEX_WAIT, bell, timeout.as_ref());
        }
    }

    /// Stops for good: nothing is held from now on. Whoever waits for the watchdog to stop finds
    /// that it has.
    fn fail(&self) {
        let _ = self.state.fetch_update(SeqCst, SeqCst, |state| {
            (state != STOPPING).then_some(FAILED)
        });
    }
}

/// Returns the longest time for which a byte may be held.
fn deadline_ns() -> u64 {
    orders::orders().map_or(0, |orders| orders.rules().watchdog_ns)
}

/// Starts a joinable thread and returns it. Every signal is blocked in it: the program's handlers
/// must not run on it.
fn spawn() -> Option<u64> {
    extern "C" fn main(_: *mut c_void) -> *mut c_void {
        if let Some(dog) = watchdog() {
            dog.run();
        }
        std::ptr::null_mut()
    }
    // SAFETY: plain calls on locals; the thread touches only memory that is never unmapped.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        let mut thread: libc::pthread_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        if libc::pthread_attr_init(&raw mut attributes) != 0 {
            return None;
        }
        libc::pthread_attr_setstacksize(&raw mut attributes, STACK_BYTES);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let failed = libc::pthread_create(
            &raw mut thread,
            &raw const attributes,
            main,
            std::ptr::null_mut(),
        );
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        libc::pthread_attr_destroy(&raw mut attributes);
        (failed == 0).then(|| {
            libc::pthread_setname_np(thread, c"tinygram".as_ptr());
            thread as u64
        })
    }
}

/// In [`Watchdog::covered_ns`]: a watchdog without an alarm looks until it rests.
const UNTIL_IT_RESTS: u64 = u64::MAX - 1;
/// How long a process may outlive its last other thread, if its first ended early.
const LAST_THREAD_CHECK_NS: u64 = 50_000_000;
/// Enough for a few nested calls and the thread-local storage of a large program.
const STACK_BYTES: usize = 256 * 1024;
