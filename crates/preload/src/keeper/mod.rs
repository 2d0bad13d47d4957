//! Carries out the policy's decisions: marks, flushes, and keeps the books.
//!
//! The bytes themselves are never stored here. A held write is in the kernel's send queue from the
//! start, with `MSG_MORE`; the library stores only the knowledge that it is there. So whatever this
//! library does or fails to do cannot lose, repeat or reorder a byte: at worst a byte leaves later.

mod marks;
mod waits;
mod writes;

pub(crate) use self::marks::{flush, flush_process};
pub(crate) use self::waits::{
    Incoming, before_sleep, cares_not, found, found_no_event, incoming, peeks_before,
};
#[cfg(test)]
pub(crate) use self::writes::begin_sending;
pub(crate) use self::writes::{
    Outgoing, Taken, at_thread_end, held, not_held, outgoing, passed, pushed, sent_alongside,
    taking, took_along,
};
use crate::live::LIVE;
use crate::orders::{self, Orders};
use crate::page::{Cause, Page};
use crate::settings::Settings;
use crate::traces::Traces;
use crate::{measure, observe, table, thread, watchdog};

/// Starts: from now on descriptors are tracked. Called once, before `main`.
pub(crate) fn begin(
    settings: &Settings<'_>,
    page: Option<&'static Page>,
    traces: Option<&'static Traces>,
) {
    let orders = Orders {
        only: settings.only,
        page,
        traces,
    };
    if orders::give(orders) {
        LIVE.begin(&settings.rules);
        observe::begin(settings.rules.policy, page.is_some());
        watchdog::reserve();
        thread::reserve(at_thread_end);
        table::reserve();
        measure::reserve();
    }
}

/// Stops for good: everything is sent, and from now on every call passes through.
///
/// Called for a process that is about to sandbox itself: its filter might kill it for the library's
/// own calls, and a watchdog outside the filter would be a hole in it.
pub(crate) fn become_inert() {
    flush_process(Cause::Process);
    watchdog::stop();
    table::close();
}
