//! Hooks for waits. Polls are tried without waiting first; all other waits flush first.

use libc::{
    c_int, c_uint, c_void, epoll_event, fd_set, id_t, idtype_t, nfds_t, pid_t, pollfd, rusage,
    siginfo_t, sigset_t, timespec, timeval, useconds_t,
};

use crate::keeper;
use crate::next::interpose;
use tinygram_coalesce::Wait;

interpose! {
    fn poll(fds: *mut pollfd, count: nfds_t, timeout_ms: c_int) -> c_int {
        unsafe {
            peeking(
                timeout_ms == 0,
                move || poll::next(fds, count, 0),
                move || poll::next(fds, count, timeout_ms),
            )
        }
    }

    fn __poll_chk(fds: *mut pollfd, count: nfds_t, timeout_ms: c_int, room: usize) -> c_int {
        unsafe {
            peeking(
                timeout_ms == 0,
                move || __poll_chk::next(fds, count, 0, room),
                move || __poll_chk::next(fds, count, timeout_ms, room),
            )
        }
    }

    fn ppoll(
        fds: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t,
    ) -> c_int {
        unsafe {
            peeking(
                is_zero(timeout),
                move || ppoll::next(fds, count, &raw const ZERO, mask),
                move || ppoll::next(fds, count, timeout, mask),
            )
        }
    }

    fn __ppoll_chk(
        fds: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t, room:
        usize,
    ) -> c_int {
        unsafe {
            peeking(
                is_zero(timeout),
                move || __ppoll_chk::next(fds, count, &raw const ZERO, mask, room),
                move || __ppoll_chk::next(fds, count, timeout, mask, room),
            )
        }
    }

    fn select(
        count: c_int, reads: *mut fd_set, writes: *mut fd_set, errors: *mut fd_set, timeout:
        *mut timeval,
    ) -> c_int {
        unsafe {
            let sets = Sets { count, all: [reads, writes, errors] };
            let never = !timeout.is_null() && (*timeout).tv_sec == 0 && (*timeout).tv_usec == 0;
            sets.peeking(
                never,
                move || {
                    let mut zero = timeval { tv_sec: 0, tv_usec: 0 };
                    select::next(count, reads, writes, errors, &raw mut zero)
                },
                move || select::next(count, reads, writes, errors, timeout),
            )
        }
    }

    fn pselect(
        count: c_int, reads: *mut fd_set, writes: *mut fd_set, errors: *mut fd_set,
        timeout: *const timespec, mask: *const sigset_t,
    ) -> c_int {
        unsafe {
            let sets = Sets { count, all: [reads, writes, errors] };
            sets.peeking(
                is_zero(timeout),
                move || pselect::next(count, reads, writes, errors, &raw const ZERO, mask),
                move || pselect::next(count, reads, writes, errors, timeout, mask),
            )
        }
    }

    fn epoll_wait(epoll: c_int, events: *mut epoll_event, room: c_int, timeout_ms: c_int) -> c_int {
        unsafe {
            peeking(timeout_ms == 0, move || epoll_wait::next(epoll, events, room, 0), move || {
                epoll_wait::next(epoll, events, room, timeout_ms)
            })
        }
    }

    fn epoll_pwait(
        epoll: c_int, events: *mut epoll_event, room: c_int, timeout_ms: c_int, mask: *const
        sigset_t,
    ) -> c_int {
        unsafe {
            peeking(
                timeout_ms == 0,
                move || epoll_pwait::next(epoll, events, room, 0, mask),
                move || {
                    epoll_pwait::next(epoll, events, room, timeout_ms, mask)
                },
            )
        }
    }

    fn epoll_pwait2(
        epoll: c_int, events: *mut epoll_event, room: c_int, timeout: *const timespec, mask:
        *const sigset_t,
    ) -> c_int {
        unsafe {
            peeking(
                is_zero(timeout),
                move || epoll_pwait2::next(epoll, events, room, &raw const ZERO, mask),
                move || {
                    epoll_pwait2::next(epoll, events, room, timeout, mask)
                },
            )
        }
    }
}

/// Defines hooks that flush and then make the call.
macro_rules! sleeps {
    ($( fn $name:ident $(@ $version:literal)? ( $($arg:ident : $type:ty),* $(,)? ) $(-> $result:ty)?; )*) => {
        interpose! { $(
            fn $name $(@ $version)? ($($arg: $type),*) $(-> $result)? {
                keeper::before_sleep();
                unsafe { $name::next($($arg),*) }
            }
        )* }
    };
}

sleeps! {
    fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int;
    fn clock_nanosleep(
        clock: c_int, flags: c_int, time: *const timespec, left: *mut timespec,
    ) -> c_int;
    fn usleep(time: useconds_t) -> c_int;
    fn sleep(seconds: c_uint) -> c_uint;
    fn pause() -> c_int;
    // A thread that yields has nothing to do: it spins.
    fn sched_yield() -> c_int;
    fn thrd_yield();
    fn pthread_yield() -> c_int;
    fn sigsuspend(mask: *const sigset_t) -> c_int;
    fn sigwait(set: *const sigset_t, signal: *mut c_int) -> c_int;
    fn sigwaitinfo(set: *const sigset_t, info: *mut siginfo_t) -> c_int;
    fn sigtimedwait(set: *const sigset_t, info: *mut siginfo_t, timeout: *const timespec) -> c_int;

    fn wait(status: *mut c_int) -> pid_t;
    fn waitpid(child: pid_t, status: *mut c_int, options: c_int) -> pid_t;
    fn wait3(status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t;
    fn wait4(child: pid_t, status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t;
    fn waitid(kind: idtype_t, id: id_t, info: *mut siginfo_t, options: c_int) -> c_int;

    // Mutexes are not hooked: they are locked too often and waited for too rarely. The watchdog
    // bounds such a hold.
    fn pthread_cond_wait @ "GLIBC_2.3.2" (condition: *mut c_void, mutex: *mut c_void) -> c_int;
    fn pthread_cond_timedwait @ "GLIBC_2.3.2" (
        condition: *mut c_void, mutex: *mut c_void, until: *const timespec,
    ) -> c_int;
    fn pthread_cond_clockwait(
        condition: *mut c_void, mutex: *mut c_void, clock: c_int, until: *const timespec,
    ) -> c_int;
    fn cnd_wait(condition: *mut c_void, mutex: *mut c_void) -> c_int;
    fn cnd_timedwait(condition: *mut c_void, mutex: *mut c_void, until: *const timespec) -> c_int;
    fn thrd_sleep(time: *const timespec, left: *mut timespec) -> c_int;
    fn thrd_join(thread: libc::pthread_t, result: *mut c_int) -> c_int;
    fn sem_wait(semaphore: *mut c_void) -> c_int;
    fn sem_timedwait(semaphore: *mut c_void, until: *const timespec) -> c_int;
    fn sem_clockwait(semaphore: *mut c_void, clock: c_int, until: *const timespec) -> c_int;
    fn pthread_barrier_wait(barrier: *mut c_void) -> c_int;
    fn pthread_join(thread: libc::pthread_t, result: *mut *mut c_void) -> c_int;
    fn pthread_timedjoin_np(
        thread: libc::pthread_t, result: *mut *mut c_void, until: *const timespec,
    ) -> c_int;
    fn pthread_clockjoin_np(
        thread: libc::pthread_t, result: *mut *mut c_void, clock: c_int, until: *const timespec,
    ) -> c_int;

    fn msgrcv(
        queue: c_int, message: *mut c_void, len: usize, kind: libc::c_long, flags: c_int,
    ) -> isize;
    fn semop(semaphores: c_int, operations: *mut c_void, count: usize) -> c_int;
    fn semtimedop(
        semaphores: c_int, operations: *mut c_void, count: usize, timeout: *const timespec,
    ) -> c_int;
    fn flock(fd: c_int, operation: c_int) -> c_int;
    fn lockf(fd: c_int, command: c_int, len: libc::off_t) -> c_int;

    // These wait inside the C library for a name server.
    fn getaddrinfo(
        node: *const libc::c_char, service: *const libc::c_char, hints: *const libc::addrinfo,
        found: *mut *mut libc::addrinfo,
    ) -> c_int;
    fn getnameinfo(
        address: *const libc::sockaddr, len: libc::socklen_t, host: *mut libc::c_char, host_len:
        libc::socklen_t,
        service: *mut libc::c_char, service_len: libc::socklen_t, flags: c_int,
    ) -> c_int;
    fn gethostbyname(name: *const libc::c_char) -> *mut c_void;
}

/// Makes a call that may wait for events: without waiting first if the keeper says so.
#[inline(always)]
fn peeking(never_waits: bool, peek: impl Fn() -> c_int, ask: impl Fn() -> c_int) -> c_int {
    let wait = if never_waits {
        Wait::Never
    } else {
        Wait::Peekable
    };
    if !keeper::peeks_before(wait) && !never_waits {
        return ask();
    }
    let ready = peek();
    if ready != 0 {
        return ready;
    }
    keeper::found_no_event();
    if never_waits { ready } else { ask() }
}

/// The three sets of `select`, which the call clears if it finds nothing.
struct Sets {
    count: c_int,
    all: [*mut fd_set; 3],
}

impl Sets {
    /// # Safety
    /// The sets are the program's arguments.
    unsafe fn peeking(
        &self,
        never_waits: bool,
        peek: impl Fn() -> c_int,
        ask: impl Fn() -> c_int,
    ) -> c_int {
        // Programs may pass sets larger than the type, for which there is no room for a copy.
        if !(0..=libc::FD_SETSIZE as c_int).contains(&self.count) {
            if !never_waits {
                keeper::before_sleep();
                return ask();
            }
            let ready = ask();
            if ready == 0 {
                keeper::found_no_event();
            }
            return ready;
        }
        peeking(
            never_waits,
            move || {
                let saved = self.save();
                let ready = peek();
                // A call that waits goes on to wait; one that does not wait leaves the sets empty.
                if ready == 0 && !never_waits {
                    self.restore(&saved);
                }
                ready
            },
            ask,
        )
    }

    fn save(&self) -> [SetBytes; 3] {
        self.all.map(|set| {
            let mut copy = [0; size_of::<fd_set>()];
            if !set.is_null() {
                // SAFETY: a set for `count` descriptors has that many bytes.
                unsafe {
                    std::ptr::copy_nonoverlapping(set.cast(), copy.as_mut_ptr(), self.bytes());
                };
            }
            copy
        })
    }

    fn restore(&self, saved: &[SetBytes; 3]) {
        for (set, copy) in self.all.iter().zip(saved).filter(|(set, _)| !set.is_null()) {
            // SAFETY: as in `save`.
            unsafe { std::ptr::copy_nonoverlapping(copy.as_ptr(), set.cast(), self.bytes()) };
        }
    }

    fn bytes(&self) -> usize {
        (self.count as usize).div_ceil(libc::c_ulong::BITS as usize) * size_of::<libc::c_ulong>()
    }
}

type SetBytes = [u8; size_of::<fd_set>()];

fn is_zero(timeout: *const timespec) -> bool {
    // SAFETY: null or the program's own argument.
    unsafe { timeout.as_ref() }.is_some_and(|time| time.tv_sec == 0 && time.tv_nsec == 0)
}

static ZERO: timespec = timespec {
    tv_sec: 0,
    tv_nsec: 0,
};
