//! How work is stopped: Ctrl-C, SIGTERM or SIGHUP ask for it. A verb chooses once what follows. What lasts [listens](listen)
//! and ends in order; what computes ends [at once](at_once), except while files are being renamed to their final names.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use crate::outcome::Failure;

static ASKED: AtomicBool = AtomicBool::new(false);
/// Held while files are written. A poisoned lock does no harm, because it guards no data.
static WRITING: Mutex<()> = Mutex::new(());

/// Lets a signal, from now on, ask to stop, and not end the process. A second one does, unless it belongs to the first:
/// where a parent dies that has several threads, the kernel may send the signal of its death for each of them.
pub(crate) fn listen() -> Result<(), Failure> {
    listen_and_leave(|| {})
}

/// As [`listen`]; a second signal first calls `leave`, for a terminal that is to be put back.
#[expect(
    clippy::disallowed_methods,
    reason = "how long ago it was asked is real time"
)]
pub(crate) fn listen_and_leave(leave: fn()) -> Result<(), Failure> {
    let first = OnceLock::new();
    ctrlc::set_handler(move || {
        let is_again = ASKED.swap(true, Ordering::Relaxed);
        if first.get_or_init(Instant::now).elapsed() > ONE_ASKING && is_again {
            leave();
            std::process::exit(CODE);
        }
    })
    .map_err(|error| Failure::Io {
        doing: "listening for Ctrl-C".into(),
        error: io::Error::other(error),
    })
}

/// Lets a signal, from now on, exit as soon as no file is being written. An embedding program has its own handler.
pub(crate) fn at_once() {
    if crate::heard::listener().is_some() {
        return;
    }
    // If no handler can be set, a signal ends the process by default.
    let _ = ctrlc::set_handler(|| {
        let _writing = WRITING.lock();
        crate::outcome::complain("tinygram: interrupted; no file was left half-written");
        std::process::exit(CODE);
    });
}

/// Does short work that must not be interrupted.
pub(crate) fn shielded<T>(write: impl FnOnce() -> T) -> T {
    let _writing = WRITING.lock();
    write()
}

/// Returns whether a signal has asked to stop.
pub(crate) fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Waits for `length`, and returns earlier if a signal asks to stop.
#[expect(clippy::disallowed_methods, reason = "what is waited for is real time")]
pub(crate) fn wait(length: Duration) {
    let begun = Instant::now();
    while let Some(left) = length
        .checked_sub(begun.elapsed())
        .filter(|left| !left.is_zero())
        && !is_asked()
    {
        std::thread::sleep(left.min(BREATH));
    }
}

/// Waits until a signal asks to stop.
pub(crate) fn wait_for_ever() {
    while !is_asked() {
        std::thread::sleep(BREATH);
    }
}

const BREATH: Duration = Duration::from_millis(50);
/// Signals within this time are one: nobody presses Ctrl-C twice as fast.
const ONE_ASKING: Duration = Duration::from_millis(100);
/// 128 plus SIGINT's number, as in shells.
const CODE: i32 = 130;
