//! Ctrl-C: ends the work at once, except while files are being given their names.

use std::sync::Mutex;

/// Held while files are written; never poisoned for good, because nothing is behind it.
static WRITING: Mutex<()> = Mutex::new(());

/// From now on Ctrl-C exits with [`CODE`] as soon as no file is being written. A program that has embedded
/// this one has a handler of its own.
pub(crate) fn watch() {
    if crate::heard::listener().is_some() {
        return;
    }
    // Where no handler can be set, Ctrl-C ends the process as ever.
    let _ = ctrlc::set_handler(|| {
        let _writing = WRITING.lock();
        eprintln!("tinygram: interrupted; nothing half-written was left");
        std::process::exit(CODE);
    });
}

/// Does what must not be cut short: a moment's work.
pub(crate) fn shielded<T>(write: impl FnOnce() -> T) -> T {
    let _writing = WRITING.lock();
    write()
}

/// 128 and SIGINT's number, as shells have it.
const CODE: i32 = 130;
