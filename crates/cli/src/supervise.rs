//! Waits for a program transparently: it gets our signals, and we end as it ends.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};

use libc::c_int;
use signal_hook::consts::{
    SIGALRM, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2,
    SIGWINCH,
};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use signal_hook::low_level::siginfo::{Cause, Origin};

use crate::outcome::Failure;

/// Catches the signals that are sent to us.
pub(crate) struct Supervisor(SignalsInfo<WithOrigin>);

/// Starts catching signals. Call it before the program is started: a signal may come as soon as the
/// program is ready, before we wait. A signal that we were told to ignore (`nohup`) is ignored by
/// both.
pub(crate) fn stand_by() -> Result<Supervisor, Failure> {
    let heeded = PASSED_ON.iter().filter(|signal| !is_ignored(**signal));
    let signals = SignalsInfo::new(heeded).map_err(|error| Failure::Io {
        doing: "listening for signals to pass on".into(),
        error,
    })?;
    Ok(Supervisor(signals))
}

/// A program that runs and gets our signals.
pub(crate) struct Supervised {
    name: String,
    signals: SignalsInfo<WithOrigin>,
    child: Child,
}

impl Supervisor {
    /// Starts the program.
    pub(crate) fn start(self, mut command: Command) -> Result<Supervised, Failure> {
        let name = command.get_program().display().to_string();
        match command.spawn() {
            Ok(child) => Ok(Supervised {
                name,
                signals: self.0,
                child,
            }),
            Err(error) => Err(Failure::Io {
                doing: format!("running {name}"),
                error,
            }),
        }
    }
}

impl Supervised {
    /// Waits for its end, and passes on our signals.
    pub(crate) fn wait(self) -> Result<ExitStatus, Failure> {
        let Self {
            name,
            signals,
            child,
        } = self;
        // The program started with the signal settings that we started with.
        let heard = signals.handle().add_signal(SIGCHLD);
        let status = heard.and_then(|()| wait(signals, child.id() as libc::pid_t));
        status.map_err(|error| Failure::Io {
            doing: format!("waiting for {name}"),
            error,
        })
    }
}

fn wait(mut signals: SignalsInfo<WithOrigin>, pid: libc::pid_t) -> std::io::Result<ExitStatus> {
    // It may have ended before the handler was set.
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

fn is_ignored(signal: c_int) -> bool {
    // SAFETY: all zeros is a valid `sigaction`, and it is only written to.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut now) == 0
            && now.sa_sigaction == libc::SIG_IGN
    }
}

/// Ends as the program ended: with its exit code, or by its signal.
pub(crate) fn end_like(status: ExitStatus) -> ! {
    if let Some(signal) = status.signal() {
        // SAFETY: resets one signal and sends it to ourselves. The program has already dumped core
        // if it does.
        unsafe {
            let no_core = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core);
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
        // The signal does not end us (or not us as the first process of a container): use the
        // shell's code.
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

/// Returns whether a signal reached only us. What a terminal sends reaches the program as well,
/// which is in the same process group; what another process sends reaches only us.
fn is_for_us_alone(origin: &Origin) -> bool {
    matches!(origin.cause, Cause::Sent(_))
}

/// Stops with the program (Ctrl-Z): the shell expects its job to stop, and that is us.
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
