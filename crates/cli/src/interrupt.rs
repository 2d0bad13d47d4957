//! Ctrl-C: the work stops at the next safe place, and nothing half-written stays.

use std::sync::atomic::{AtomicBool, Ordering};

/// Somebody pressed Ctrl-C.
static REQUESTED: AtomicBool = AtomicBool::new(false);
/// Every file has its name: from here on the process may end anywhere.
static HARMLESS: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C only sets the flag that [`requested`] reads.
pub(crate) fn watch() {
    let pressed = || {
        REQUESTED.store(true, Ordering::Relaxed);
        if HARMLESS.load(Ordering::Relaxed) {
            std::process::exit(CODE.into());
        }
    };
    // Where no handler can be set, Ctrl-C ends the process as ever; staged files are hidden ones.
    let _ = ctrlc::set_handler(pressed);
}

/// Whether to stop: asked between two pieces of work, each of them short.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// Nothing is left that ending could spoil, and the reader of the output may be slow.
pub(crate) fn harmless() {
    HARMLESS.store(true, Ordering::Relaxed);
}

/// 128 and SIGINT's number, as shells have it.
pub(crate) const CODE: u8 = 130;
