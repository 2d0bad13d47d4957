//! Waits for a program as if it were not there: its signals reach it, its end is ours.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};

use libc::c_int;
use signal_hook::consts::{
    SIGALRM, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2,
    SIGWINCH,
};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use signal_hook::low_level::siginfo::{Cause, Origin};

/// Waits for `child`, passing on what is sent to us.
pub(crate) fn wait(child: &Child) -> std::io::Result<ExitStatus> {
    let pid = child.id() as libc::pid_t;
    let mut signals = SignalsInfo::<WithOrigin>::new(PASSED_ON.iter().chain(&[SIGCHLD]))?;
    // It may have ended before the handlers stood.
    if let Some(status) = poll(pid)? {
        return Ok(status);
    }
    for origin in &mut signals {
        if origin.signal == SIGCHLD {
            match poll(pid)? {
                Some(status) if status.stopped_signal().is_some() => stop_with_it(pid),
                Some(status) => return Ok(status),
                None => {}
            }
        } else if is_for_us_alone(&origin) {
            // SAFETY: our own child, not yet waited for.
            unsafe { libc::kill(pid, origin.signal) };
        }
    }
    unreachable!("the signals never end while their iterator lives")
}

/// Ends as the program ended: with its exit code, or by its signal.
pub(crate) fn end_like(status: ExitStatus) -> ! {
    if let Some(signal) = status.signal() {
        // SAFETY: resets one signal and sends it to ourselves. The program has left the core dump.
        unsafe {
            let no_core = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core);
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
        // It does not end us (or not us, as the first process of a container): the shell's code.
        std::process::exit(128 + signal);
    }
    std::process::exit(status.code().unwrap_or(1))
}

fn poll(pid: libc::pid_t) -> std::io::Result<Option<ExitStatus>> {
    let mut status: c_int = 0;
    // SAFETY: our own child.
    match unsafe { libc::waitpid(pid, &raw mut status, libc::WNOHANG | libc::WUNTRACED) } {
        0 => Ok(None),
        -1 => Err(std::io::Error::last_os_error()),
        _ => Ok(Some(ExitStatus::from_raw(status))),
    }
}

/// What a terminal sends reaches the program too, which is in the same process group; what another
/// process sends reaches us alone.
fn is_for_us_alone(origin: &Origin) -> bool {
    matches!(origin.cause, Cause::Sent(_))
}

/// The program was stopped (Ctrl-Z): the shell expects its job to stop, which is us.
fn stop_with_it(pid: libc::pid_t) {
    // SAFETY: signals to ourselves and to our own child.
    unsafe {
        libc::raise(libc::SIGSTOP);
        libc::kill(pid, SIGCONT);
    }
}

const PASSED_ON: [c_int; 10] = [
    SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH,
];
