//! Ctrl-C: ends the work at once, except while files are being renamed to their final names.

use std::sync::Mutex;

/// Held while files are written. A poisoned lock does no harm, because it guards no data.
static WRITING: Mutex<()> = Mutex::new(());

/// Lets Ctrl-C, from now on, exit with [`CODE`] as soon as no file is being written. An embedding program
/// has its own handler.
pub(crate) fn watch() {
    if crate::heard::listener().is_some() {
        return;
    }
    // If no handler can be set, Ctrl-C ends the process by default.
    let _ = ctrlc::set_handler(|| {
        let _writing = WRITING.lock();
        crate::exit::complain("tinygram: interrupted; no file was left half-written");
        std::process::exit(CODE);
    });
}

/// Does short work that must not be interrupted.
pub(crate) fn shielded<T>(write: impl FnOnce() -> T) -> T {
    let _writing = WRITING.lock();
    write()
}

/// 128 plus SIGINT's number, as in shells.
const CODE: i32 = 130;
