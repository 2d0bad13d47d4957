//! Sends what is held on one socket, and remembers where the watchdog had to do so.

use std::sync::atomic::{Ordering::Relaxed, Ordering::SeqCst};

use libc::c_int;

use crate::live::{self, LIVE};
use crate::orders::{self, Orders};
use crate::page::Cause;
use crate::reach::{Reach, Used};
use crate::table::{self, Holding};
use crate::{kernel, ledger};
use tinygram_coalesce::{Memory, Policy};

/// Sends what is held on `fd`, which the calling thread can access as `reached`.
pub(crate) fn through(fd: c_int, reached: c_int, orders: &Orders, holding: &Holding, cause: Cause) {
    let since_ns = holding.since_ns.swap(0, SeqCst);
    if since_ns == 0 {
        return;
    }
    match orders.policy() {
        // This flushes in one call, whatever option the socket had; a zero-length send does not.
        // (What is held under nodelay was held before the policy was switched.)
        Policy::FlushOnBlock | Policy::Nodelay => {
            kernel::set_option(reached, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)
        }
        Policy::CorkUntilBlock => kernel::set_option(reached, libc::IPPROTO_TCP, libc::TCP_CORK, 0),
        Policy::Observe => true,
    };
    ledger::flushed(orders, fd, since_ns, cause);
}

/// Sends, for the watchdog, what was held too long on `fd`, and remembers that this was necessary.
pub(crate) fn rescue(fd: c_int, holding: &Holding, contended: bool, reach: Reach) -> Used {
    let Some(orders) = orders::orders() else {
        return Used::Gone;
    };
    let mut memory = Memory::unpack(holding.memory.load(Relaxed));
    let goes_over = memory.on_rescue(contended);
    holding.memory.store(memory.pack(), Relaxed);
    // The next write is a new message.
    holding.interval.store(0, Relaxed);
    let identity = table::identity(fd);
    table::teach(identity, |habit| habit.after_rescue(contended));
    live::count(&LIVE.rescued);
    if goes_over {
        live::count(&LIVE.went_over);
        ledger::went_over(orders, identity);
    }
    let since_ns = holding.since_ns.load(Relaxed);
    let used = reach.with(fd, |reached| {
        through(fd, reached, orders, holding, Cause::Watchdog);
    });
    if used == Used::Gone {
        let _ = holding
            .since_ns
            .compare_exchange(since_ns, 0, SeqCst, Relaxed);
    }
    used
}
