//! Hooks for the process: it forks, executes, ends, or sandboxes itself.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use libc::{c_char, c_int, c_ulong, c_void, pid_t};

use crate::escape::{Passed, Search};
use crate::hooks::descriptors::settle_all;
use crate::keeper;
use crate::next::interpose;
use crate::page::Cause;
use crate::{clock, kernel, orders, page, sockets, table, thread, watchdog};

interpose! {
    /// Ends the watchdog's thread while the process forks. So a program with one thread forks with one, and Python, which
    /// warns of forks with several threads, does not.
    fn fork() -> pid_t {
        before_fork();
        announce();
        unsafe { forked(fork::next()) }
    }

    fn _Fork() -> pid_t {
        before_fork();
        announce();
        unsafe { forked(_Fork::next()) }
    }

    fn daemon(stay: c_int, keep: c_int) -> c_int {
        before_fork();
        announce();
        // Only the child returns, unless the call fails.
        unsafe { forked(daemon::next(stay, keep)) }
    }

    fn forkpty(
        main: *mut c_int, name: *mut c_char, terminal: *const c_void, window: *const c_void,
    ) -> pid_t {
        before_fork();
        announce();
        unsafe { forked(forkpty::next(main, name, terminal, window)) }
    }

    fn system(command: *const c_char) -> c_int {
        before_spawn();
        unsafe { system::next(command) }
    }

    fn popen(command: *const c_char, mode: *const c_char) -> *mut c_void {
        before_spawn();
        unsafe { popen::next(command, mode) }
    }

    fn posix_spawn(
        child: *mut pid_t, path: *const c_char, actions: *const c_void, attributes: *const c_void,
        arguments: *const *mut c_char, environment: *const *mut c_char,
    ) -> c_int {
        before_spawn();
        unsafe {
            let mut passed = Passed::on(path, environment.cast(), Search::No);
            posix_spawn::next(child, path, actions, attributes, arguments, passed.environment().cast())
        }
    }

    fn posix_spawnp(
        child: *mut pid_t, file: *const c_char, actions: *const c_void, attributes: *const c_void,
        arguments: *const *mut c_char, environment: *const *mut c_char,
    ) -> c_int {
        before_spawn();
        unsafe {
            let mut passed = Passed::on(file, environment.cast(), Search::Path);
            posix_spawnp::next(child, file, actions, attributes, arguments, passed.environment().cast())
        }
    }

    fn execve(
        path: *const c_char, arguments: *const *const c_char, environment: *const *const c_char,
    ) -> c_int {
        before_exec();
        unsafe {
            let mut passed = Passed::on(path, environment, Search::No);
            execve::next(path, arguments, passed.environment())
        }
    }

    fn execv(path: *const c_char, arguments: *const *const c_char) -> c_int {
        before_exec();
        unsafe {
            let mut passed = Passed::on(path, environ, Search::No);
            match passed.is_changed() {
                true => execve::next(path, arguments, passed.environment()),
                false => execv::next(path, arguments),
            }
        }
    }

    fn execvp(file: *const c_char, arguments: *const *const c_char) -> c_int {
        before_exec();
        unsafe {
            let mut passed = Passed::on(file, environ, Search::Path);
            match passed.is_changed() {
                true => execvpe::next(file, arguments, passed.environment()),
                false => execvp::next(file, arguments),
            }
        }
    }

    fn execvpe(
        file: *const c_char, arguments: *const *const c_char, environment: *const *const c_char,
    ) -> c_int {
        before_exec();
        unsafe {
            let mut passed = Passed::on(file, environment, Search::Path);
            execvpe::next(file, arguments, passed.environment())
        }
    }

    fn fexecve(
        fd: c_int, arguments: *const *const c_char, environment: *const *const c_char,
    ) -> c_int {
        before_exec();
        unsafe {
            let mut passed = Passed::on_descriptor(fd, c"".as_ptr(), environment);
            fexecve::next(fd, arguments, passed.environment())
        }
    }

    fn execveat(
        dir: c_int, path: *const c_char, arguments: *const *const c_char, environment: *const
        *const c_char,
        flags: c_int,
    ) -> c_int {
        before_exec();
        unsafe {
            let mut passed = Passed::on_descriptor(dir, path, environment);
            execveat::next(dir, path, arguments, passed.environment(), flags)
        }
    }

    fn _exit(status: c_int) -> ! {
        before_end();
        report_end(status);
        unsafe { _exit::next(status) }
    }

    fn _Exit(status: c_int) -> ! {
        before_end();
        report_end(status);
        unsafe { _Exit::next(status) }
    }

    fn quick_exit(status: c_int) -> ! {
        before_end();
        report_end(status);
        unsafe { quick_exit::next(status) }
    }

    fn pthread_exit(result: *mut c_void) -> ! {
        before_thread_end();
        unsafe { pthread_exit::next(result) }
    }

    fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int {
        if option == libc::PR_SET_SECCOMP {
            keeper::become_inert();
        }
        unsafe { prctl::next(option, a, b, c, d) }
    }

    /// Stops the watchdog's thread, as `setns` does: both refuse some namespaces to a process with several threads.
    fn unshare(flags: c_int) -> c_int {
        watchdog::stop();
        unsafe { unshare::next(flags) }
    }

    fn setns(fd: c_int, kind: c_int) -> c_int {
        watchdog::stop();
        unsafe { setns::next(fd, kind) }
    }
}

unsafe extern "C" {
    pub(crate) static environ: *const *const c_char;
}

/// Sends what the parent holds, before a child could keep the same socket open.
pub(crate) fn before_fork() {
    keeper::flush_process(Cause::Process);
    sockets::sign_all();
    watchdog::stop();
}

/// Announces a fork: the page counts the child until it has enlisted, which may be after its
/// parent's end.
fn announce() {
    if let Some(page) = orders::page() {
        page.unborn.fetch_add(1, SeqCst);
    }
}

/// Handles the end of a fork. `child` is its result: 0 in the child.
fn forked(child: pid_t) -> pid_t {
    if let Some(page) = orders::page().filter(|_| child <= 0) {
        if child == 0 {
            // SAFETY: no argument, cannot fail.
            page.enlist(unsafe { libc::getpid() } as u32);
        }
        page.unborn.fetch_sub(1, SeqCst);
    }
    if child == 0 {
        thread::this().begin_anew();
        // The parent may have accepted the connection for the child: its first answer is to be held
        // too.
        if orders::orders().is_some_and(|orders| orders.rules().eager && orders.policy().holds()) {
            watchdog::expect();
        }
    }
    child
}

/// Sends everything before a call that executes: the other threads end with the call, and what they
/// hold would stay held on a socket that lives on.
pub(crate) fn before_exec() {
    keeper::flush_process(Cause::Process);
    sockets::sign_all();
}

/// Does the same as [`before_exec`] for a call that forks and executes at once.
fn before_spawn() {
    keeper::before_sleep();
    sockets::sign_all();
}

/// Prepares for the end of a thread, which may be before that of its process.
pub(crate) fn before_thread_end() {
    keeper::before_sleep();
    if thread::this().is_first() {
        watchdog::before_first_thread_ends();
    }
}

/// Prepares for the end of the process; called last.
pub(crate) fn before_end() {
    keeper::flush_process(Cause::Process);
    settle_all();
}

/// Reports the end of the process with this exit code. If the run was started for this process,
/// whoever started it reads the statistics as soon as it is gone, so the witness must have shown
/// them before.
pub(crate) fn report_end(status: c_int) {
    let Some(page) = orders::page().filter(|_| table::is_open()) else {
        return;
    };
    // SAFETY: no argument, cannot fail.
    let me = unsafe { libc::getpid() } as u32;
    page.strike_off(me);
    if page.main.load(Relaxed) != me || thread::this().is_borrowed() {
        return;
    }
    page.ended
        .store(page::EXITED | (status & 0xff) as u32, SeqCst);
    kernel::futex_shared(&page.ended, libc::FUTEX_WAKE, c_int::MAX as u32, None);
    let begun_ns = clock::now_ns();
    while page.shown.load(SeqCst) == 0
        && clock::now_ns().saturating_sub(begun_ns) < WITNESS_MAY_TAKE_NS
    {
        let timeout = libc::timespec {
            tv_sec: 0,
            tv_nsec: 100_000_000,
        };
        kernel::futex_shared(&page.shown, libc::FUTEX_WAIT, 0, Some(&timeout));
    }
}

/// The time after which the program ends anyway, in case the witness is gone.
const WITNESS_MAY_TAKE_NS: u64 = 5_000_000_000;
