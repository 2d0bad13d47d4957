//! The trials of services: whether holding delays their peers; see [`Trial`].
//!
//! A service's trial is one for all threads, and for forked children too, which share its listener.
//! Nobody waits for another: who finds the trial in use leaves out what it had to say.

use std::cell::UnsafeCell;
use std::sync::atomic::{
    AtomicPtr, AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

use libc::{c_int, ssize_t};

use crate::holding::Holding;
use crate::live::{self, LIVE};
use crate::orders::orders;
use crate::table::{self, Identity, InChild};
use crate::{clock, errno};
use tinygram_coalesce::{Next, Policy, Spent, Trial, Turn, Verdict};

/// The trial of one service. All zeroes is a service that was never tried.
#[repr(C)]
struct Service {
    /// The state of the trial for the fast paths: [`PASSES`], [`RUNS`], [`WENT_OVER`].
    state: AtomicU32,
    /// Answers since the trial last said what to count.
    answers: AtomicU32,
    /// What to count, as in [`Next`]: answers (0 stands for [`Trial::FIRST`]), and the time.
    due_answers: AtomicU32,
    due_ns: AtomicU64,
    /// When the trial was taken into use; 0 if nobody uses it.
    taken_ns: AtomicU64,
    trial: UnsafeCell<Trial>,
}

// SAFETY: the trial is used only by who has taken it, see `Service::with`.
unsafe impl Sync for Service {}

/// Writes pass now.
const PASSES: u32 = 1;
/// A trial is running.
const RUNS: u32 = 2;
/// Writes pass between the trials.
const WENT_OVER: u32 = 4;

static SERVICES: AtomicPtr<Service> = AtomicPtr::new(std::ptr::null_mut());
/// The requests that this process has read from services in a trial.
static REQUESTS: AtomicU64 = AtomicU64::new(0);

/// Prepares the trials. Without it nothing is tried.
pub(crate) fn reserve() {
    let bytes = table::HABITS_KEPT as usize * size_of::<Service>();
    if let Some(services) = table::map(bytes, InChild::Shared) {
        SERVICES.store(services.cast(), Relaxed);
    }
}

#[inline(always)]
fn service(identity: Identity) -> Option<&'static Service> {
    let services = SERVICES.load(Relaxed);
    // SAFETY: a mapping that is never unmapped, with a service for every number.
    (!services.is_null()).then(|| unsafe { &*services.add(identity.habit_number()) })
}

/// Is called for a write that will be held. Returns whether it passes instead, because holding was
/// measured to be worse, or is being measured. `begins` says whether it is the first of its answer.
#[inline(always)]
pub(crate) fn passes(identity: Identity, holding: &Holding, begins: bool) -> bool {
    let Some(service) = service(identity) else {
        return false;
    };
    if begins {
        service.count_answer();
    }
    let state = service.state.load(Relaxed);
    if state & RUNS != 0 {
        note(holding, WEIGHED);
    }
    show(identity, state & WENT_OVER != 0);
    let passes = state & PASSES != 0;
    if passes {
        live::count(&LIVE.passed);
    }
    passes
}

/// Is called for a write that would be held if the watchdog were awake. It says nothing about holding, but a trial that
/// runs must end in time.
#[inline(always)]
pub(crate) fn unwatched(identity: Identity, begins: bool) {
    if begins
        && is_measured(identity)
        && let Some(service) = service(identity)
    {
        service.count_answer();
    }
}

/// Notes something about the answer to the last request, if that is known.
#[inline(always)]
fn note(holding: &Holding, what: u64) {
    let asked = holding.asked.load(Relaxed);
    if asked != 0 {
        holding.asked.store(asked | what, Relaxed);
    }
}

/// Shows in the process's memory whether the service passes between trials.
#[inline(always)]
fn show(identity: Identity, went_over: bool) {
    let bit = 1 << identity.habit_number();
    let shown = LIVE.services_over.load(Relaxed);
    if went_over != (shown & bit != 0) {
        LIVE.services_over.store(shown ^ bit, Relaxed);
    }
}

/// Returns whether reads of the connection are to be reported to [`asked`].
#[inline(always)]
pub(crate) fn is_measured(identity: Identity) -> bool {
    service(identity).is_some_and(|service| service.state.load(Relaxed) & RUNS != 0)
}

/// Is called after a write on a connection was judged: what is read next is a new request.
#[inline(always)]
pub(crate) fn answers(identity: Identity, holding: &Holding) {
    if is_measured(identity) {
        note(holding, ANSWERED);
    }
}

/// Is called after a read of `fd`.
#[inline(always)]
pub(crate) fn asked(fd: c_int, result: ssize_t) {
    if result > 0 && is_measured(table::identity(fd)) {
        enter_request(fd);
    }
}

#[cold]
fn enter_request(fd: c_int) {
    let (Some(orders), Some(holding)) = (orders(), table::holding(fd)) else {
        return;
    };
    let before = holding.asked.load(Relaxed);
    let is_more = before != 0 && before & ANSWERED == 0;
    if is_more || orders.policy() != Policy::FlushOnBlock {
        return;
    }
    let now_ns = clock::now_ns() & !NOTES;
    holding.asked.store(now_ns, Relaxed);
    live::count(&REQUESTS);
    let turn = Turn {
        since_ns: before & !NOTES,
        now_ns,
    };
    let is_weighed = before & WEIGHED != 0;
    if let Some(service) = service(table::identity(fd)).filter(|_| is_weighed) {
        service.with(now_ns, |trial| {
            trial.on_turn(turn, || service.answers.load(Relaxed), spent)
        });
    }
}

/// The lowest bits of [`Holding::asked`]: whether the request was answered, and whether a write of the answer was held, or
/// was not because of the trial. What is not so shows nothing about holding.
const ANSWERED: u64 = 1;
const WEIGHED: u64 = 2;
const NOTES: u64 = ANSWERED | WEIGHED;

/// Returns what this process has spent.
fn spent() -> Spent {
    Spent {
        // SAFETY: no argument, cannot fail.
        process: unsafe { libc::getpid() } as u32,
        requests: REQUESTS.load(Relaxed),
        cpu_ns: clock::cpu_ns(),
    }
}

impl Service {
    #[inline(always)]
    fn count_answer(&self) {
        let answers = self.answers.load(Relaxed).wrapping_add(1);
        self.answers.store(answers, Relaxed);
        let due = match self.due_answers.load(Relaxed) {
            0 => Trial::FIRST.answers,
            due => due,
        };
        if answers >= due || answers.is_multiple_of(CLOCK_EVERY) {
            self.look(answers, answers >= due);
        }
    }

    /// Looks whether the trial is due to begin or to end.
    #[cold]
    fn look(&self, answers: u32, is_due: bool) {
        errno::kept(|| {
            let now_ns = clock::now_ns();
            let due_ns = self.due_ns.load(Relaxed);
            if is_due || (due_ns != 0 && now_ns >= due_ns) {
                self.with(now_ns, |trial| Some(trial.on_due(answers, now_ns, spent())));
            }
        });
    }

    /// Uses the trial, unless another thread or process does; then publishes its state, and what to
    /// count if that is returned.
    fn with(&self, now_ns: u64, work: impl FnOnce(&mut Trial) -> Option<Next>) {
        let taken_ns = self.taken_ns.load(Relaxed);
        // A process that was killed while it used the trial never gives it back.
        if taken_ns != 0 && now_ns.saturating_sub(taken_ns) < LONGEST_USE_NS {
            return;
        }
        let taking = (self.taken_ns).compare_exchange(taken_ns, now_ns, Acquire, Relaxed);
        if taking.is_err() {
            return;
        }
        // SAFETY: only who has changed `taken_ns` to its own time is here. (A thread that was stopped within for longer than
        // `LONGEST_USE_NS` may come back beside another; both write integers, and the trial may then decide wrongly.)
        let trial = unsafe { &mut *self.trial.get() };
        if let Some(next) = work(trial) {
            self.publish(trial, next, now_ns);
        }
        let _ = (self.taken_ns).compare_exchange(now_ns, 0, Release, Relaxed);
    }

    fn publish(&self, trial: &Trial, next: Next, now_ns: u64) {
        let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
        self.state.store(
            flag(!trial.holds(), PASSES)
                | flag(trial.is_running(), RUNS)
                | flag(trial.verdict() == Verdict::Passes, WENT_OVER),
            Relaxed,
        );
        self.due_answers.store(next.answers, Relaxed);
        self.due_ns
            .store(now_ns.saturating_add(next.within_ns), Relaxed);
        self.answers.store(0, Relaxed);
    }
}

/// The clock is read once in so many answers.
const CLOCK_EVERY: u32 = 64;
/// Using a trial takes some microseconds. Who has had it for longer has lost its processor or was
/// killed, and is not waited for.
const LONGEST_USE_NS: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn service() -> Box<Service> {
        // SAFETY: integers and an enumeration with a variant of 0, for which zeroes are valid.
        unsafe { Box::<Service>::new_zeroed().assume_init() }
    }

    fn state(service: &Service) -> u32 {
        service.state.load(Relaxed)
    }

    #[test]
    fn a_trial_begins_after_many_answers_and_not_before() {
        let service = service();
        for _ in 1..Trial::FIRST.answers {
            service.count_answer();
        }
        assert_eq!(state(&service), 0);
        service.count_answer();
        assert_eq!(state(&service), RUNS, "its first spell is held");
    }

    #[test]
    fn notes_do_not_change_when_the_request_was_read() {
        let holding = Holding::default();
        note(&holding, WEIGHED);
        assert_eq!(holding.asked.load(Relaxed), 0, "no request, no answer");
        holding.asked.store(4_000, Relaxed);
        note(&holding, WEIGHED);
        note(&holding, ANSWERED);
        let asked = holding.asked.load(Relaxed);
        assert_eq!((asked & !NOTES, asked & NOTES), (4_000, NOTES));
    }

    #[test]
    fn who_was_killed_in_a_trial_does_not_keep_it() {
        let service = service();
        service.taken_ns.store(5_000, Relaxed);
        let mut uses = 0;
        for now_ns in [6_000, 5_000 + LONGEST_USE_NS] {
            service.with(now_ns, |_| {
                uses += 1;
                None
            });
        }
        assert_eq!((uses, service.taken_ns.load(Relaxed)), (1, 0));
    }

    /// Requests without turns: their connections end before a second one.
    #[test]
    fn a_trial_without_turns_ends_and_nothing_has_passed() {
        let service = service();
        let mut trials = 0;
        for _ in 0..2_000_000 {
            let before = state(&service);
            service.count_answer();
            assert_eq!(state(&service) & PASSES, 0);
            trials += u32::from(before == 0 && state(&service) == RUNS);
        }
        assert!((1..=4).contains(&trials), "{trials}");
        assert_eq!(state(&service), 0);
    }
}
