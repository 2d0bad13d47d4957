//! The watchdog: a thread that flushes what was held for too long while its program ran on.
//!
//! It is necessary because the kernel's own bound on held bytes is the retransmission timeout, 200
//! ms and more. It sleeps on a futex while nothing is dirty, and its thread is ended around a fork
//! or a sandbox, so that the program sees no threads but its own there.
//!
//! Nothing is held unless the watchdog runs. A forked child, whose pages of state are wiped, starts
//! its own. No watchdog runs before there is something to hold: a program whose connections answer
//! in one piece keeps its own threads only, and its calls do not pay what a second thread costs.

use std::sync::atomic::{
    AtomicPtr, AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::SeqCst,
};

use libc::c_void;

use crate::live::LIVE;
use crate::reach::Reach;
use crate::rounds::Rounds;
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
    /// The numbers of a [`Pace`].
    window_ns: AtomicU64,
    asked: AtomicU64,
    settled: AtomicU64,
    credit: AtomicU64,
}

const NONE: u32 = 0;
const STARTING: u32 = 1;
const AWAKE: u32 = 2;
const ASLEEP: u32 = 3;
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
    if state == AWAKE || state == ASLEEP {
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
    watchdog().is_some_and(|dog| matches!(dog.state.load(Relaxed), NONE | ASLEEP))
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

/// Tells the watchdog that something is dirty. The socket's `since_ns` must have been set by a
/// locked instruction before, so that either a watchdog falling asleep sees it or this thread sees
/// it asleep.
#[inline(always)]
pub(crate) fn alert() {
    if let Some(dog) = watchdog()
        && dog.state.load(Relaxed) == ASLEEP
    {
        dog.wake_if_asleep();
    }
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
    if matches!(dog.state.load(Relaxed), AWAKE | ASLEEP) {
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
                AWAKE
            }
            None => FAILED,
        };
        // It may have failed by itself already.
        let _ = self
            .state
            .compare_exchange(STARTING, state, SeqCst, Relaxed);
    }

    #[cold]
    fn wake_if_asleep(&self) {
        if self
            .state
            .compare_exchange(ASLEEP, AWAKE, SeqCst, Relaxed)
            .is_ok()
        {
            crate::errno::kept(|| kernel::futex(&self.state, libc::FUTEX_WAKE, 1, None));
        }
    }

    fn stop(&self) {
        self.wanted.store(0, Relaxed);
        let before = self.state.fetch_update(SeqCst, SeqCst, |state| {
            matches!(state, AWAKE | ASLEEP).then_some(STOPPING)
        });
        let Ok(_) = before else { return };
        crate::errno::kept(|| {
            kernel::futex(&self.state, libc::FUTEX_WAKE, 1, None);
            // SAFETY: the thread was made joinable, and only the thread that stopped it joins it.
            unsafe { kernel::pthread_join(self.thread.load(Relaxed), std::ptr::null_mut()) };
        });
        self.state.store(NONE, SeqCst);
    }

    /// Runs the thread: pauses until the oldest held byte is due, flushes what is due, and sleeps
    /// until woken after a round in which nothing was held. A round costs one timer interrupt, and
    /// waking the watchdog about two; so at most one round is wasted.
    fn run(&self) {
        let Some(reach) = Reach::begin() else {
            return self.fail();
        };
        let deadline_ns = orders::orders().map_or(0, |orders| orders.rules().watchdog_ns);
        let mut rounds = Rounds::begin(deadline_ns, reach);
        while self.state.load(Acquire) != STOPPING && !reach::is_last_thread() {
            let round = rounds.patrol(clock::now_ns());
            if round.unreachable {
                return self.fail();
            }
            if round.quiet {
                self.sleep(&mut rounds);
            } else {
                pause(round.pause_ns, &self.state);
            }
        }
    }

    /// Stops for good: nothing is held from now on. Whoever waits for the watchdog to stop finds
    /// that it has.
    fn fail(&self) {
        let _ = self.state.fetch_update(SeqCst, SeqCst, |state| {
            (state != STOPPING).then_some(FAILED)
        });
    }

    fn sleep(&self, rounds: &mut Rounds) {
        if self
            .state
            .compare_exchange(AWAKE, ASLEEP, SeqCst, Relaxed)
            .is_err()
        {
            return;
        }
        // Something may have become dirty just before the sleep was announced.
        let round = rounds.patrol(clock::now_ns());
        if !round.quiet {
            let _ = self.state.compare_exchange(ASLEEP, AWAKE, SeqCst, Relaxed);
            return;
        }
        // A process whose first thread has ended ends with its last, which must not be this one.
        let last_thread = reach::must_share().then_some(LAST_THREAD_CHECK_NS);
        let timeout_ns = last_thread.into_iter().chain(round.again_ns).min();
        let timeout = timeout_ns.map(timespec);
        while self.state.load(Acquire) == ASLEEP && !reach::is_last_thread() {
            kernel::futex(&self.state, libc::FUTEX_WAIT, ASLEEP, timeout.as_ref());
            if round.again_ns.is_some() {
                let _ = self.state.compare_exchange(ASLEEP, AWAKE, SeqCst, Relaxed);
            }
        }
    }
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
        let mut thread: libc::pthread_t = 0;
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
            thread
        })
    }
}

/// Waits for this time, or until the watchdog must stop.
fn pause(nanoseconds: u64, state: &AtomicU32) {
    kernel::futex(state, libc::FUTEX_WAIT, AWAKE, Some(&timespec(nanoseconds)));
}

fn timespec(nanoseconds: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as libc::time_t,
        tv_nsec: (nanoseconds % 1_000_000_000) as libc::c_long,
    }
}

/// How long a process may outlive its last other thread, if its first ended early.
const LAST_THREAD_CHECK_NS: u64 = 50_000_000;
/// Enough for a few nested calls and the thread-local storage of a large program.
const STACK_BYTES: usize = 256 * 1024;
